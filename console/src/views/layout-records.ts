// Records of boards and calendars: their cards, and the write that moves one.
import { infiniteQueryOptions, keepPreviousData, queryOptions, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { stringifySearch } from '../address.ts';
import { isApiError } from '../api/api-error.ts';
import type { Json } from '../api/json.ts';
import { requestExact } from '../api/request.ts';
import type { EntityDocument } from '../api/schema.ts';
import type { RecordColumn } from '../records/fields.ts';
import type { Chip } from '../records/filter.ts';
import { type ListQuery, toFilterSearch } from '../records/list-query.ts';
import { getLabel, listLabelPaths } from '../records/record-label.ts';
import { type EntityRef, entityPath } from '../records/requests.ts';
import { parseWindow, type Row } from '../records/rows.ts';
import type { RecordValue } from '../records/value.ts';
import { createIdempotencyKey, updateRecord } from '../records/write-requests.ts';
import { announce } from '../shell/live-region.tsx';
import { layoutKey } from './aggregate-api.ts';

/** Length in characters above which values of cards are cut. */
const PREVIEW_LENGTH = 120;
const MOST_FIELDS = 4;

/** A layout's list: the query of the view with one more filter. */
export interface CardsRequest {
  readonly entityRef: EntityRef;
  readonly query: ListQuery;
  readonly chips: readonly Chip[];
  readonly sort: readonly string[];
  readonly fields: readonly string[];
  readonly size: number;
}

export interface CardsPage {
  readonly rows: readonly Row[];
  readonly next: string | null;
}

async function fetchCards(request: CardsRequest, after: string | undefined, signal: AbortSignal): Promise<CardsPage> {
  const { entityRef, query, chips, sort, fields, size } = request;
  const search = printSearch({ query, chips, sort, fields, size }, after);
  const { data, meta } = await requestExact<readonly RecordValue[]>({ path: entityPath(entityRef, search), signal });
  const { rows, next } = parseWindow(data, meta);
  return { rows, next };
}

const printSearch = (
  { query, chips, sort, fields, size }: Omit<CardsRequest, 'entityRef'>,
  after?: string | undefined,
): string =>
  stringifySearch({
    ...toFilterSearch({ ...query, chips: [...query.chips, ...chips], sort }),
    fields: [...new Set(['id', ...fields])].join(','),
    expand: [...new Set(fields.flatMap((name) => name.split('.').slice(0, -1)))].join(','),
    size: String(size),
    after,
    count: 'none',
    versions: 'true',
    preview: String(PREVIEW_LENGTH),
  });

/** Cards of one column of a board, page by page. */
export const cardPagesQuery = (request: CardsRequest) =>
  infiniteQueryOptions({
    queryKey: [...layoutKey(request.entityRef), 'pages', printSearch(request)],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => fetchCards(request, pageParam, signal),
    getNextPageParam: ({ next }) => next ?? undefined,
    placeholderData: keepPreviousData,
  });

export const cardsQuery = (request: CardsRequest) =>
  queryOptions({
    queryKey: [...layoutKey(request.entityRef), 'cards', printSearch(request)],
    queryFn: ({ signal }) => fetchCards(request, undefined, signal),
    placeholderData: keepPreviousData,
  });

/** Content of a card: the field that names the record, and the first columns of the view besides. */
export interface CardFields {
  readonly label: string | undefined;
  readonly columns: readonly RecordColumn[];
  /** Fields of the request for these, with the labels of related records by their paths. */
  readonly names: readonly string[];
}

/** Chooses the fields of cards. `columns`: those of the view; `group`: the field that the place of a card shows. */
export function chooseCardFields(entity: EntityDocument, columns: readonly RecordColumn[], group: string): CardFields {
  const label = getLabel(entity);
  const labelPaths = listLabelPaths(label);
  const isShown = ({ name, type }: RecordColumn): boolean =>
    !labelPaths.includes(name) && name !== group && type !== 'id' && type !== 'json';
  const chosen = columns.filter(isShown).slice(0, MOST_FIELDS);
  const names = chosen.flatMap(({ name, relation, label: related }) =>
    related === undefined || relation === undefined
      ? [name]
      : [name, `${relation.name}.id`, ...listLabelPaths(related, relation.name)],
  );
  return { label, columns: chosen, names: [...labelPaths, ...names] };
}

/** A card that has got another value, while that is written and the layout loads again. */
interface Moving {
  /** Record with the new value; its version is the one before. */
  readonly row: Row;
  readonly value: Json;
}

export interface LastMove {
  readonly row: Row;
  readonly before: Json;
  readonly words: string;
}

export interface Move {
  readonly row: Row;
  readonly before: Json;
  readonly value: Json;
  /** Words of the place: `done`. */
  readonly place: string;
  /** Name of the record. */
  readonly title: string;
}

/** Replaces a record in all pages of a layout's cards; other answers, such as aggregates, stay. */
function replaceRow(answer: unknown, row: Row): unknown {
  const { pages, rows } = (answer ?? {}) as { readonly pages?: readonly unknown[]; readonly rows?: readonly Row[] };
  if (pages !== undefined) return { ...(answer as object), pages: pages.map((page) => replaceRow(page, row)) };
  if (rows === undefined) return answer;
  return { ...(answer as object), rows: rows.map((one) => (one.id === row.id ? row : one)) };
}

/**
 * Returns the cards on the move, and the function that writes the field of one, if it still has the version that was read.
 * A card that is moved again before the layout has loaded is written after the first move, with the version of that.
 */
export function useMoves(entityRef: EntityRef, field: string) {
  const client = useQueryClient();
  const [moving, setMoving] = useState<ReadonlyMap<string, Moving>>(new Map());
  const [error, setError] = useState<unknown>();
  const [last, setLast] = useState<LastMove>();
  const writes = useRef(new Map<string, Promise<Row | undefined>>());
  const queryKey = layoutKey(entityRef);

  async function write({ row, before, value, place, title }: Move, earlier: Promise<Row | undefined> | undefined) {
    const current = earlier === undefined ? row : await earlier;
    // The earlier move has failed, and its error is on the page.
    if (current === undefined) return undefined;
    try {
      const update = { id: row.id, version: current.version, values: new Map([[field, value]]) };
      const { record, version } = await updateRecord(entityRef, update, createIdempotencyKey());
      const words = `${title} is moved to ${place}`;
      const written = { ...row, record: { ...row.record, ...record }, version };
      announce(words);
      setLast({ row: written, before, words });
      // Another change may cancel the load that follows, and the version would be the one before.
      client.setQueriesData({ queryKey }, (answer: unknown) => replaceRow(answer, written));
      return written;
    } catch (thrown) {
      const isStale = isApiError(thrown) && thrown.status === 412;
      setError(
        isStale
          ? new Error(`${title} was changed meanwhile. The current version is shown; yours was not saved.`)
          : thrown,
      );
      return undefined;
    }
  }

  async function move(request: Move): Promise<void> {
    const { row, value } = request;
    setError(undefined);
    setLast(undefined);
    const written = write(request, writes.current.get(row.id));
    writes.current.set(row.id, written);
    setMoving((all) => new Map(all).set(row.id, { row: { ...row, record: { ...row.record, [field]: value } }, value }));
    await written;
    await client.invalidateQueries({ queryKey });
    // A later move of the same card ends by itself.
    if (writes.current.get(row.id) !== written) return;
    writes.current.delete(row.id);
    setMoving((all) => {
      const rest = new Map(all);
      rest.delete(row.id);
      return rest;
    });
  }
  /** Returns a record with the value that it is moved to. */
  const applyMove = (row: Row): Row => moving.get(row.id)?.row ?? row;
  return { moving, move, applyMove, error, last, dismiss: () => setLast(undefined) };
}

export type Moves = ReturnType<typeof useMoves>;
