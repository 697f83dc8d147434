// Board: a column for each value of an enum field, with the records of the view as cards. A card is moved to another column by
// mouse, by its menu, or by Shift and an arrow.
import { Button, Menu, NativeSelect, Text } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { pluralize } from '../format/amount.ts';
import type { Chip } from '../records/filter.ts';
import { getRecordLabel } from '../records/record-label.ts';
import type { Row } from '../records/rows.ts';
import { listEnumValues } from '../records/value.ts';
import { ErrorAlert } from '../shell/error-alert.tsx';
import { announce } from '../shell/live-region.tsx';
import { aggregateQuery } from './aggregate-api.ts';
import { describeAggregate, listEnumFields, parseAggregate } from './aggregates.ts';
import { Card, MoveNotice, useDropTarget } from './card.tsx';
import type { LayoutProps } from './layout-props.ts';
import { type CardFields, cardPagesQuery, chooseCardFields, type Moves, useMoves } from './layout-records.ts';
import { printValue } from './summary-line.tsx';

const PAGE_SIZE = 25;
const NO_VALUE = 'No value';

/** Value of a column; null for records without a value. */
type Place = string | null;

const toWords = (place: Place): string => place ?? NO_VALUE;

export function Board(props: LayoutProps) {
  const { entity, presentation, onPresentation } = props;
  const fields = listEnumFields(entity);
  const chosen = presentation.group[0];
  const field = chosen ?? fields[0];
  const isValid = field !== undefined && fields.includes(field);
  return (
    <>
      <div className="records-line">
        {fields.length > 0 && (
          <NativeSelect
            aria-label="Columns by"
            data={[...(isValid ? [] : [{ value: '', label: 'Choose a field' }]), ...fields]}
            value={isValid ? field : ''}
            onChange={(event) => onPresentation({ group: [event.currentTarget.value] })}
          />
        )}
        {chosen !== undefined && !isValid && (
          <Text size="sm" role="status">
            {entity.name} has no field {chosen} of type enum any more.
          </Text>
        )}
        {fields.length === 0 && <Text size="sm">A board needs a field of type enum, and {entity.name} has none.</Text>}
      </div>
      {isValid && <Columns key={field} {...props} field={field} />}
    </>
  );
}

function Columns(props: LayoutProps & { readonly field: string }) {
  const { entityRef, schema, entity, query, zone, columns, presentation, field } = props;
  const document = entity.fields.get(field);
  const places: readonly Place[] = [...listEnumValues(document), ...(document?.required === true ? [] : [null])];
  const aggregates = presentation.summary.flatMap((text) => parseAggregate(schema, entity, text) ?? []);
  const select = ['count', ...aggregates.map(({ text }) => text).filter((text) => text !== 'count')];
  const { data, error } = useQuery(aggregateQuery(entityRef, query, { select, group: [field], size: 1000, zone }));
  const moves = useMoves(entityRef, field);
  const dragged = useRef<Row>(undefined);
  const [focusId, setFocusId] = useState<string>();
  const fields = chooseCardFields(entity, columns, field);
  const getColumn = (row: Row): Place => {
    const value = Object.hasOwn(row.record, field) ? row.record[field] : null;
    return typeof value === 'string' ? value : null;
  };
  function move(row: Row, place: Place): void {
    const before = getColumn(row);
    if (before === place) return;
    void moves.move({
      row,
      before,
      value: place,
      place: toWords(place),
      title: getRecordLabel(row.record, fields.label),
    });
  }
  return (
    <>
      <ErrorAlert error={error} />
      <MoveNotice
        moves={moves}
        onUndo={() => {
          if (moves.last !== undefined) move(moves.last.row, moves.last.before as Place);
        }}
      />
      <div className="board">
        {places.map((place, index) => {
          const group = data?.groups.find((one) => (one[field] ?? null) === place);
          const count = group === undefined ? (data === undefined ? undefined : 0) : Number(String(group.count));
          return (
            <ColumnView
              key={place ?? '\u0000'}
              {...props}
              place={place}
              count={count}
              summary={
                group === undefined
                  ? []
                  : aggregates
                      .filter(({ text }) => text !== 'count')
                      .map((one) => `${describeAggregate(one)}: ${printValue(one, group, zone)}`)
              }
              fields={fields}
              moves={moves}
              focusId={focusId}
              onDrag={(row) => {
                dragged.current = row;
              }}
              onDrop={() => {
                if (dragged.current !== undefined) move(dragged.current, place);
                dragged.current = undefined;
              }}
              places={places}
              onMove={move}
              onMoveBy={(row, by) => {
                const next = places[index + by];
                if (next === undefined) return announce('There is no column on this side');
                setFocusId(row.id);
                move(row, next);
              }}
            />
          );
        })}
      </div>
    </>
  );
}

interface ColumnProps extends LayoutProps {
  readonly field: string;
  readonly place: Place;
  /** Number of records; undefined while it loads. */
  readonly count: number | undefined;
  readonly summary: readonly string[];
  readonly fields: CardFields;
  readonly moves: Moves;
  readonly focusId: string | undefined;
  readonly places: readonly Place[];
  readonly onDrag: (row: Row) => void;
  readonly onDrop: () => void;
  readonly onMove: (row: Row, place: Place) => void;
  readonly onMoveBy: (row: Row, by: -1 | 1) => void;
}

function ColumnView(props: ColumnProps) {
  const { entityRef, query, zone, mayWrite, field, place, places, count, summary, fields, moves, focusId } = props;
  const dropTarget = useDropTarget(mayWrite, props.onDrop);
  const chip: Chip = { kind: 'filter', text: place === null ? `${field},isNull` : `${field},eq,${place}` };
  const pages = useInfiniteQuery(
    cardPagesQuery({
      entityRef,
      query,
      chips: [chip],
      sort: query.sort,
      fields: [field, ...fields.names],
      size: PAGE_SIZE,
    }),
  );
  const loaded = pages.data?.pages.flatMap(({ rows }) => rows) ?? [];
  const arriving = [...moves.moving.values()].filter(
    ({ row, value }) => value === place && !loaded.some(({ id }) => id === row.id),
  );
  const rows = [
    ...arriving.map(({ row }) => row),
    ...loaded
      .filter(({ id }) => {
        const moving = moves.moving.get(id);
        return moving === undefined || moving.value === place;
      })
      .map(moves.applyMove),
  ];
  const words = toWords(place);
  return (
    <section
      className="board-column"
      aria-label={count === undefined ? words : `${words}, ${pluralize(count, 'record')}`}
      {...dropTarget}
    >
      <h2 className="board-column-head">
        <bdi>{words}</bdi> <span className="board-column-count">{count}</span>
      </h2>
      {summary.map((line) => (
        <Text key={line} size="xs" c="dimmed">
          {line}
        </Text>
      ))}
      <ErrorAlert error={pages.error} onRetry={() => void pages.refetch()} />
      <ul className="cards" aria-busy={pages.isPending}>
        {rows.map((row) => (
          <Card
            key={row.id}
            entityRef={entityRef}
            row={row}
            fields={fields}
            zone={zone}
            takesFocus={focusId === row.id}
            onDrag={() => props.onDrag(row)}
            onMoveKey={(event) => {
              if (!event.shiftKey || (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight')) return;
              event.preventDefault();
              props.onMoveBy(row, event.key === 'ArrowLeft' ? -1 : 1);
            }}
            menu={
              mayWrite
                ? places
                    .filter((one) => one !== place)
                    .map((one) => (
                      <Menu.Item key={one ?? '\u0000'} onClick={() => props.onMove(row, one)}>
                        Move to <bdi>{toWords(one)}</bdi>
                      </Menu.Item>
                    ))
                : undefined
            }
          />
        ))}
      </ul>
      {pages.hasNextPage && (
        <Button
          variant="subtle"
          size="compact-xs"
          loading={pages.isFetchingNextPage}
          onClick={() => void pages.fetchNextPage()}
        >
          Show more
        </Button>
      )}
    </section>
  );
}
