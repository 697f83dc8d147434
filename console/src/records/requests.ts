// The requests for records that lists, pickers and writes make.

import { stringifySearch } from '../address.ts';
import { requestExact } from '../api/request.ts';
import { dataPath, type WorkspaceRef } from '../api/workspace.ts';
import type { Chip } from './filter.ts';
import { isFiltered, type ListQuery, printWindowSearch, toFilterSearch, type WindowParameters } from './list-query.ts';
import { type LoadedWindow, parseWindow, type Row } from './rows.ts';
import type { RecordValue } from './value.ts';

/** An entity of a workspace. */
export interface EntityRef extends WorkspaceRef {
  readonly entity: string;
}

export const entityPath = ({ entity, ...place }: EntityRef, rest = ''): string =>
  dataPath(place, `/${encodeURIComponent(entity)}${rest}`);

// A request names at most a hundred paths, and Node.js takes 16 KiB of its address and headers.
const MOST_FIELDS = 100;
const LONGEST = 8000;

/** One window of a list. Where its fields are too many to be named, all of them are asked for. */
export async function fetchWindow(
  entityRef: EntityRef,
  query: ListQuery,
  wanted: WindowParameters,
  signal: AbortSignal,
): Promise<LoadedWindow> {
  const narrow = printWindowSearch(query, wanted);
  const isTooMuch = wanted.fields.length > MOST_FIELDS || narrow.length > LONGEST;
  const fields = ['*', ...wanted.fields.filter((name) => name.includes('.'))];
  const search = isTooMuch ? printWindowSearch(query, { ...wanted, fields }) : narrow;
  const { data, meta } = await requestExact<readonly RecordValue[]>({ path: entityPath(entityRef, search), signal });
  return parseWindow(data, meta);
}

/** How many records a filtered list has. */
export async function fetchTotal(entityRef: EntityRef, query: ListQuery, signal: AbortSignal): Promise<number> {
  const search = stringifySearch({
    ...toFilterSearch(query),
    sort: undefined,
    size: '1',
    fields: 'id',
    expand: '',
    count: 'exact',
  });
  const { meta } = await requestExact<readonly RecordValue[]>({ path: entityPath(entityRef, search), signal });
  return Number(meta.totalElements);
}

/** A record with its version. */
export interface Versioned {
  readonly record: RecordValue;
  readonly version: string;
}

/** The version in an ETag: what stands before the point. */
export const parseVersion = (etag: string | undefined): string =>
  (etag ?? '').replace(/^W\//, '').replaceAll('"', '').split('.')[0] ?? '';

/** The whole record, or some of its fields, uncut. */
export async function fetchRecord(
  entityRef: EntityRef,
  id: string,
  fields: readonly string[] = ['*'],
  signal?: AbortSignal,
): Promise<Versioned> {
  const search = stringifySearch({ fields: fields.join(','), expand: '' });
  const { data, etag } = await requestExact<RecordValue>({ path: entityPath(entityRef, `/${id}${search}`), signal });
  return { record: data, version: parseVersion(etag) };
}

/** Whole records by their ids, uncut, in the order of the ids; those that are gone are left out. */
export async function fetchRecords(
  entityRef: EntityRef,
  ids: readonly string[],
  fields: readonly string[] = ['*'],
): Promise<readonly Versioned[]> {
  const byId = new Map<string, Versioned>();
  for (let from = 0; from < ids.length; from += 200) {
    const some = ids.slice(from, from + 200);
    const search = stringifySearch({
      filter: `id,in,${some.join(',')}`,
      size: String(some.length),
      fields: ['id', ...fields.filter((name) => name !== 'id')].join(','),
      expand: '',
      count: 'none',
      versions: 'true',
    });
    const { data, meta } = await requestExact<readonly RecordValue[]>({ path: entityPath(entityRef, search) });
    for (const row of parseWindow(data, meta).rows) byId.set(row.id, { record: row.record, version: row.version });
  }
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** Rows of a list by their ids as the list has them now, those that its filters no longer take marked. At most a hundred. */
export async function fetchRows(
  entityRef: EntityRef,
  query: ListQuery,
  fields: readonly string[],
  ids: readonly string[],
): Promise<readonly Row[]> {
  const signal = new AbortController().signal;
  const byId: Chip = { kind: 'filter', text: `id,in,${ids.join(',')}` };
  const wanted: WindowParameters = { window: 0, after: undefined, fields, count: 'none' };
  const all = await fetchWindow(entityRef, { ...query, chips: [byId], search: '', sort: [] }, wanted, signal);
  if (!isFiltered(query)) return all.rows;
  const narrowed = { ...query, chips: [...query.chips, byId], sort: [], expand: [] };
  const matching = await fetchWindow(entityRef, narrowed, { ...wanted, fields: ['id'] }, signal);
  const matches = new Set(matching.rows.map(({ id }) => id));
  return all.rows.map((row) => (matches.has(row.id) ? row : { ...row, isFilteredOut: true }));
}
