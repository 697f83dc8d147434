// Use of a workspace against its limits, with small bars by day.
import { Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { listLastDays, type UsageOnDay, usageQuery } from '../../api/usage.ts';
import type { WorkspaceRef } from '../../api/workspace.ts';
import { formatBytes, formatCount } from '../../format/amount.ts';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { ProgressBar } from '../../shell/progress-bar.tsx';
import styles from './usage.module.css';

const SHOWN_DAYS = 14;

export function Usage({ workspace }: { readonly workspace: WorkspaceRef }) {
  const { data, error } = useQuery(usageQuery(workspace));
  if (data === undefined) return <ErrorAlert error={error} />;
  const { records, bytes, requests, limits } = data;
  const days = listLastDays(data.days, SHOWN_DAYS);
  const rate = limits.maxRequestsPerMinute;
  return (
    <Group component="section" aria-label="Usage" gap="lg" mb="md" align="stretch">
      <Measure
        {...{ label: 'Records', used: records, limit: limits.maxRecords, format: formatCount, days }}
        amount={(day) => day.records}
      />
      <Measure
        {...{ label: 'Size', used: bytes, limit: limits.maxBytes, format: formatBytes, days }}
        amount={(day) => day.bytes}
      />
      <Measure
        {...{ label: 'Requests today (UTC)', used: requests, limit: null, format: formatCount, days }}
        amount={(day) => day.requests}
        remark={rate === null ? undefined : `${formatCount(rate)} a minute at most`}
      />
    </Group>
  );
}

interface MeasureProps {
  readonly label: string;
  readonly used: number;
  /** Null: none. */
  readonly limit: number | null;
  readonly format: (amount: number) => string;
  readonly days: readonly UsageOnDay[];
  /** Height of the bar of a day; null before the first measurement. */
  readonly amount: (day: UsageOnDay) => number | null;
  readonly remark?: string | undefined;
}

/** One measure: how much of its limit is used, and its last days as bars. */
function Measure({ label, used, limit, format, days, amount, remark }: MeasureProps) {
  const isFull = limit !== null && used >= limit;
  return (
    <div className={styles.measure}>
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      <Text size="sm">
        {format(used)}
        {limit !== null && ` of ${format(limit)}`}
      </Text>
      {limit !== null && (
        <ProgressBar label={`${label} of the limit`} value={isFull ? 1 : used / limit} width={MEASURE_WIDTH} />
      )}
      {isFull && <Text size="xs">Nothing can be added</Text>}
      {remark !== undefined && (
        <Text size="xs" c="dimmed">
          {remark}
        </Text>
      )}
      <DayBars label={label} days={days.map((day) => ({ date: day.date, amount: amount(day) }))} format={format} />
    </div>
  );
}

const MEASURE_WIDTH = 168;

interface DayBarsProps {
  readonly label: string;
  readonly days: readonly { readonly date: string; readonly amount: number | null }[];
  readonly format: (amount: number) => string;
}

/** Bars from zero to the highest day. As an image its name has what they show; the pointer shows one day. */
function DayBars({ label, days, format }: DayBarsProps) {
  const highest = Math.max(1, ...days.map(({ amount }) => amount ?? 0));
  const measured = days.flatMap(({ date, amount }) => (amount === null ? [] : [`${date}: ${format(amount)}`]));
  return (
    <div className={styles.bars} role="img" aria-label={`${label} by day. ${measured.join(', ')}`}>
      {days.map(({ date, amount }) => (
        <span key={date} title={`${date}: ${amount === null ? 'not measured' : format(amount)}`}>
          <span style={{ height: `${(100 * (amount ?? 0)) / highest}%` }} />
        </span>
      ))}
    </div>
  );
}
