// Calendar: the records of the view by a date or datetime field, a month or a week at a time. A card is moved to another day by
// mouse, by its menu, or by Shift and an arrow.
import { Button, Menu, NativeSelect, Text, TextInput, Title } from '@mantine/core';
import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type KeyboardEvent, useRef, useState } from 'react';
import { getAll } from '../address.ts';
import { pluralize } from '../format/amount.ts';
import { formatLocal, parseDateTime, replaceDay, type TimeZone } from '../format/datetime.ts';
import type { RecordColumn } from '../records/fields.ts';
import { listColumns } from '../records/fields.ts';
import type { Chip } from '../records/filter.ts';
import { toSearch } from '../records/list-query.ts';
import { getRecordLabel } from '../records/record-label.ts';
import type { Row } from '../records/rows.ts';
import { FormDialog } from '../shell/dialogs.tsx';
import { ErrorAlert } from '../shell/error-alert.tsx';
import { useAddress } from '../shell/use-address.ts';
import { aggregateQuery } from './aggregate-api.ts';
import { isDateType } from './aggregates.ts';
import { addDays, describeSpan, isDay, listWeeks, moveSpan, type Span, WEEKDAYS } from './calendar-days.ts';
import { Card, MoveNotice, useDropTarget } from './card.tsx';
import type { LayoutProps } from './layout-props.ts';
import { type CardFields, cardsQuery, chooseCardFields, useMoves } from './layout-records.ts';

/** Number of records of a day; the others are counted, with a link to them. */
const MOST_CARDS: Readonly<Record<Span, number>> = { month: 4, week: 12 };
/** Number of records up to which one request loads all of the days. */
const MOST_AT_ONCE = 300;

export function Calendar(props: LayoutProps) {
  const { entity, presentation, onPresentation } = props;
  const columns = listColumns(entity).filter(({ type }) => isDateType(type));
  const [chosen, part] = (presentation.group[0] ?? '').split(':');
  const name = chosen === '' ? columns[0]?.name : chosen;
  const column = columns.find((one) => one.name === name);
  const span: Span = part === 'week' ? 'week' : 'month';
  const setGroup = (field: string, next: Span): void =>
    onPresentation({ group: [next === 'week' ? `${field}:week` : field] });
  return (
    <>
      {columns.length === 0 && (
        <Text size="sm">A calendar needs a field of type date or datetime, and {entity.name} has none.</Text>
      )}
      {columns.length > 0 && (
        <div className="records-line">
          <NativeSelect
            aria-label="Days by"
            data={[
              ...(column === undefined ? [{ value: '', label: 'Choose a field' }] : []),
              ...columns.map((one) => one.name),
            ]}
            value={column?.name ?? ''}
            onChange={(event) => setGroup(event.currentTarget.value, span)}
          />
          {column !== undefined && (
            <NativeSelect
              aria-label="Span"
              data={[
                { value: 'month', label: 'Month' },
                { value: 'week', label: 'Week' },
              ]}
              value={span}
              onChange={(event) => setGroup(column.name, event.currentTarget.value === 'week' ? 'week' : 'month')}
            />
          )}
          {column === undefined && (
            <Text size="sm" role="status">
              {entity.name} has no date {chosen} any more.
            </Text>
          )}
        </div>
      )}
      {column !== undefined && <Days key={column.name} {...props} column={column} span={span} />}
    </>
  );
}

const toDay = (value: unknown, zone: TimeZone): string =>
  typeof value === 'string' ? (value.length === 10 ? value : formatLocal(value, zone)).slice(0, 10) : '';

/** Returns the limit of a day as the API takes it: a date, or the beginning of the day in the zone of the page. */
const toLimit = (day: string, { type }: RecordColumn, zone: TimeZone): string =>
  type === 'date' ? day : (parseDateTime(`${day} 00:00:00`, zone) ?? `${day}T00:00:00Z`);

function Days(props: LayoutProps & { readonly column: RecordColumn; readonly span: Span }) {
  const { entityRef, entity, query, zone, columns, mayWrite, column, span } = props;
  const { name: field } = column;
  const { search, write } = useAddress();
  const today = formatLocal(new Date().toISOString(), zone).slice(0, 10);
  const typed = getAll(search, 'day')[0] ?? '';
  const day = isDay(typed) ? typed : today;
  const weeks = listWeeks(day, span);
  const days = weeks.flat();
  const fields = chooseCardFields(entity, columns, field);
  const moves = useMoves(entityRef, field);
  const dragged = useRef<Row>(undefined);
  const [focusId, setFocusId] = useState<string>();
  const [rowToMove, setRowToMove] = useState<Row>();

  const limits = (from: string, to: string): readonly Chip[] => [
    { kind: 'filter', text: `${field},gte,${toLimit(from, column, zone)}` },
    { kind: 'filter', text: `${field},lt,${toLimit(to, column, zone)}` },
  ];
  const whole = limits(days[0] ?? day, addDays(days.at(-1) ?? day, 1));
  const group = `${field}:day`;
  const counts = useQuery(
    aggregateQuery(
      entityRef,
      { ...query, chips: [...query.chips, ...whole], sort: [] },
      {
        select: ['count'],
        group: [group],
        size: 100,
        zone,
      },
    ),
  );
  const countByDay = new Map(
    counts.data?.groups.map((one) => [String(one[group]).slice(0, 10), Number(String(one.count))]),
  );
  const total = [...countByDay.values()].reduce((sum, count) => sum + count, 0);
  const names = [field, ...fields.names];
  const request = { entityRef, query, sort: [field, ...query.sort], fields: names };
  const isWhole = total <= MOST_AT_ONCE;
  const all = useQuery({
    ...cardsQuery({ ...request, chips: whole, size: MOST_AT_ONCE }),
    enabled: counts.data !== undefined && isWhole,
  });
  const busy = isWhole ? [] : days.filter((one) => countByDay.has(one));
  const single = useQueries({
    queries: busy.map((one) => cardsQuery({ ...request, chips: limits(one, addDays(one, 1)), size: MOST_CARDS[span] })),
  });
  const loaded = isWhole ? (all.data?.rows ?? []) : single.flatMap(({ data }) => data?.rows ?? []);
  const rows = [
    ...[...moves.moving.values()].map(({ row }) => row).filter(({ id }) => !loaded.some((one) => one.id === id)),
    ...loaded.map(moves.applyMove),
  ];
  const byDay = Map.groupBy(rows, (row) => toDay(row.record[field], zone));

  function move(row: Row, target: string): void {
    const before = row.record[field] ?? null;
    if (typeof before !== 'string' || toDay(before, zone) === target) return;
    const value =
      column.type === 'date'
        ? target
        : (parseDateTime(replaceDay(formatLocal(before, zone), target, 'datetime'), zone) ?? before);
    void moves.move({ row, before, value, place: target, title: getRecordLabel(row.record, fields.label) });
  }
  const error = counts.error ?? all.error ?? single.find((one) => one.error !== null)?.error;
  return (
    <>
      <div className="records-line">
        <Button variant="default" size="compact-xs" onClick={() => write({ day: moveSpan(day, span, -1) })}>
          Previous {span}
        </Button>
        <Button variant="default" size="compact-xs" onClick={() => write({ day: undefined })}>
          Today
        </Button>
        <Button variant="default" size="compact-xs" onClick={() => write({ day: moveSpan(day, span, 1) })}>
          Next {span}
        </Button>
        <Title order={2} size="sm" aria-live="polite">
          {describeSpan(day, span)}
        </Title>
        {column.type === 'datetime' && (
          <Text size="xs" c="dimmed">
            Days in {zone === 'UTC' ? 'UTC' : 'the zone of the browser'}
          </Text>
        )}
      </div>
      <ErrorAlert error={error} />
      <MoveNotice
        moves={moves}
        onUndo={() => {
          const { last } = moves;
          if (last !== undefined) move(last.row, toDay(last.before, zone));
        }}
      />
      <div className="calendar" aria-busy={counts.isPending}>
        {days.map((one, index) => (
          <Day
            key={one}
            {...props}
            day={one}
            weekday={WEEKDAYS[index % 7] ?? ''}
            isOutside={span === 'month' && one.slice(0, 7) !== day.slice(0, 7)}
            isToday={one === today}
            rows={byDay.get(one) ?? []}
            count={countByDay.get(one) ?? 0}
            more={limits(one, addDays(one, 1))}
            fields={fields}
            focusId={focusId}
            onDrag={(row) => {
              dragged.current = row;
            }}
            onDrop={() => {
              if (dragged.current !== undefined) move(dragged.current, one);
              dragged.current = undefined;
            }}
            onMoveKey={(row, event) => {
              const by = event.shiftKey ? STEPS[event.key] : undefined;
              if (by === undefined) return;
              event.preventDefault();
              setFocusId(row.id);
              const target = addDays(one, by);
              if (!days.includes(target)) write({ day: target });
              move(row, target);
            }}
            onAsk={setRowToMove}
          />
        ))}
      </div>
      {rowToMove !== undefined && mayWrite && (
        <FormDialog
          title={`Move ${getRecordLabel(rowToMove.record, fields.label)}`}
          action="Move"
          onClose={() => setRowToMove(undefined)}
          onSubmit={(data) => {
            const target = String(data.get('day')).trim();
            if (!isDay(target)) throw new Error('The day is a date such as 2026-01-31');
            setRowToMove(undefined);
            move(rowToMove, target);
          }}
        >
          <TextInput
            label="Day"
            name="day"
            placeholder="YYYY-MM-DD"
            defaultValue={toDay(rowToMove.record[field], zone)}
            autoComplete="off"
            data-autofocus
            required
          />
        </FormDialog>
      )}
    </>
  );
}

/** Days that the arrows move a card by. */
const STEPS: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 };

interface DayProps extends LayoutProps {
  readonly day: string;
  readonly weekday: string;
  readonly span: Span;
  readonly isOutside: boolean;
  readonly isToday: boolean;
  readonly rows: readonly Row[];
  readonly count: number;
  /** Filters of the records of the day. */
  readonly more: readonly Chip[];
  readonly fields: CardFields;
  readonly focusId: string | undefined;
  readonly onDrag: (row: Row) => void;
  readonly onDrop: () => void;
  readonly onMoveKey: (row: Row, event: KeyboardEvent) => void;
  readonly onAsk: (row: Row) => void;
}

function Day(props: DayProps) {
  const { entityRef, query, zone, mayWrite, day, weekday, span, rows, count, more, fields, focusId } = props;
  const dropTarget = useDropTarget(mayWrite, props.onDrop);
  const visible = rows.slice(0, MOST_CARDS[span]);
  const hiddenCount = Math.max(count, rows.length) - visible.length;
  return (
    <section
      className="day"
      aria-label={`${weekday} ${day}, ${pluralize(count, 'record')}`}
      data-outside={props.isOutside || undefined}
      data-empty={rows.length === 0 || undefined}
      {...dropTarget}
    >
      <span className="day-head" {...(props.isToday && { 'aria-current': 'date' as const })}>
        {weekday} {day.slice(8)}
      </span>
      <ul className="cards">
        {visible.map((row) => (
          <Card
            key={row.id}
            entityRef={entityRef}
            row={row}
            fields={span === 'week' ? fields : { ...fields, columns: [] }}
            zone={zone}
            takesFocus={focusId === row.id}
            onDrag={() => props.onDrag(row)}
            onMoveKey={(event) => props.onMoveKey(row, event)}
            menu={mayWrite ? <Menu.Item onClick={() => props.onAsk(row)}>Move to another day</Menu.Item> : undefined}
          />
        ))}
      </ul>
      {hiddenCount > 0 && (
        <Link
          className="day-more"
          to="."
          search={toSearch({ ...query, chips: [...query.chips, ...more] }) as never}
          aria-label={`${hiddenCount} more records of ${day}`}
        >
          +{hiddenCount} more
        </Link>
      )}
    </section>
  );
}
