// Chart of an aggregate: its number, its bars, its line or its table, of a view in the records or on the overview.
import './views.css';
import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { EntityDocument, WorkspaceSchema } from '../api/schema.ts';
import { formatCount } from '../format/amount.ts';
import type { TimeZone } from '../format/datetime.ts';
import type { ListQuery } from '../records/list-query.ts';
import type { EntityRef } from '../records/requests.ts';
import { formatValue } from '../records/value.ts';
import { DataTable } from '../shell/data-table.tsx';
import { ErrorAlert } from '../shell/error-alert.tsx';
import { aggregateQuery } from './aggregate-api.ts';
import {
  type Aggregate,
  describeAggregate,
  describeGrouping,
  type Grouping,
  getValueType,
  isDateType,
  parseAggregate,
  parseGrouping,
  shortenDigits,
} from './aggregates.ts';
import { Chart } from './chart.tsx';
import { MOST_SERIES, makeSeries, type Series, shortenDate } from './chart-data.ts';
import { printValue } from './summary-line.tsx';
import type { Presentation } from './view-state.ts';

export interface ChartPanelProps {
  readonly entityRef: EntityRef;
  readonly schema: WorkspaceSchema;
  readonly entity: EntityDocument;
  readonly query: ListQuery;
  readonly zone: TimeZone;
  readonly presentation: Presentation;
  readonly title: string;
}

/** Number of groups of a chart: the largest, or the latest dates. */
const MOST_GROUPS = 200;
const MOST_BARS = 50;

export interface ChartParts {
  readonly aggregates: readonly Aggregate[];
  readonly groupings: readonly Grouping[];
  /** Texts of the view that the schema does not have. */
  readonly invalid: readonly string[];
}

/** Returns what a chart shows: by default the number of records. */
export function parseChart(
  schema: WorkspaceSchema,
  entity: EntityDocument,
  { summary, group, chart }: Presentation,
): ChartParts {
  const texts = summary.length === 0 ? ['count'] : summary;
  const groups = chart === 'number' ? [] : group.slice(0, 2);
  const aggregates = texts.flatMap((text) => parseAggregate(schema, entity, text) ?? []);
  const groupings = groups.flatMap((text) => parseGrouping(schema, entity, text) ?? []);
  const invalid = [
    ...texts.filter((text) => !aggregates.some((one) => one.text === text)),
    ...groups.filter((text) => !groupings.some((one) => one.text === text)),
  ];
  return { aggregates, groupings, invalid };
}

export function ChartPanel({ entityRef, schema, entity, query, zone, presentation, title }: ChartPanelProps) {
  const { aggregates, groupings, invalid } = parseChart(schema, entity, presentation);
  const [first] = aggregates;
  const [by, split] = groupings;
  // Dates are in their order, other groups by their first value.
  const isByDate = by !== undefined && isDateType(by.column.type);
  const { data, error, isPlaceholderData } = useQuery({
    ...aggregateQuery(
      entityRef,
      { ...query, sort: [] },
      {
        select: aggregates.map(({ text }) => text),
        group: groupings.map(({ text }) => text),
        // The latest dates, or the largest values.
        sort: by === undefined || first === undefined ? [] : [`${isByDate ? by.text : first.text},desc`],
        size: presentation.chart === 'bars' && split === undefined ? MOST_BARS : MOST_GROUPS,
        zone,
      },
    ),
    enabled: aggregates.length > 0,
  });
  const notes = (
    <>
      {invalid.map((text) => (
        <Text key={text} size="sm" c="red" role="alert">
          <bdi>{text}</bdi> does not exist, or does not apply any more.
        </Text>
      ))}
      <ErrorAlert error={error} />
      {data !== undefined && data.total > data.groups.length && (
        <Text size="xs" c="dimmed">
          The {isByDate ? 'latest' : 'largest'} {formatCount(data.groups.length)} of {formatCount(data.total)} groups.
        </Text>
      )}
    </>
  );
  // The former answer has other groups.
  if (data === undefined || isPlaceholderData) return <div aria-busy="true">{notes}</div>;
  const kind = presentation.chart;
  if (by === undefined || kind === 'number') {
    return (
      <>
        {notes}
        <div className="chart-numbers">
          {aggregates.map((one) => (
            <div key={one.text}>
              <Text size="xs" c="dimmed">
                {describeAggregate(one)}
              </Text>
              <span className="chart-number">{printValue(one, data.groups[0], zone)}</span>
            </div>
          ))}
        </div>
      </>
    );
  }
  const types = new Map([
    ...aggregates.map((one) => [one.text, getValueType(one)] as const),
    ...groupings.map(({ text, column, part }) => [text, part === undefined ? column.type : 'date'] as const),
  ]);
  const series = makeSeries(isByDate ? data.groups.toReversed() : data.groups, {
    by: by.text,
    split: split?.text,
    values: aggregates.map(({ text }) => text),
    print: (value, member) => {
      const text = shortenDigits(formatValue(value, types.get(member) ?? 'string', zone));
      const part = groupings.find((one) => one.text === member)?.part;
      return part === undefined ? text : shortenDate(text, part);
    },
  });
  const names = new Map(aggregates.map((one) => [one.text, describeAggregate(one)]));
  const named = series.map((one) => ({
    ...one,
    name: (split === undefined ? names.get(one.name) : one.name) ?? one.name,
  }));
  const words = `${aggregates.map(describeAggregate).join(', ')} by ${groupings.map(describeGrouping).join(' and ')}`;
  return (
    <>
      {notes}
      {split !== undefined && named.length === MOST_SERIES && (
        <Text size="xs" c="dimmed">
          At most {MOST_SERIES} series are shown.
        </Text>
      )}
      {kind === 'table' ? (
        <ChartTable label={`${title}: ${words}`} by={describeGrouping(by)} series={named} />
      ) : (
        <>
          <Chart kind={kind} title={`${title}: ${words}`} series={named} />
          <details>
            <summary>Values</summary>
            <ChartTable label={`Values of ${title}`} by={describeGrouping(by)} series={named} />
          </details>
        </>
      )}
    </>
  );
}

interface ChartTableProps {
  readonly label: string;
  readonly by: string;
  readonly series: readonly Series[];
}

function ChartTable({ label, by, series }: ChartTableProps) {
  const rows = (series[0]?.points ?? []).map(({ label: name }, index) => ({ name, index }));
  return (
    <DataTable
      label={label}
      rows={rows}
      rowKey={({ name }) => name}
      maxWidth={900}
      columns={[
        { title: by, cell: ({ name }) => <bdi>{name}</bdi> },
        ...series.map(({ name, points }) => ({
          title: name,
          isNumeric: true,
          cell: ({ index }: { readonly index: number }) => points[index]?.text ?? '',
        })),
      ]}
    />
  );
}
