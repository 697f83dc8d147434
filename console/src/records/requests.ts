// Requests for records of lists, pickers and writes.

import { stringifySearch } from '../address.ts';
import { requestExact } from '../api/request.ts';
import { dataPath, type WorkspaceRef } from '../api/workspace.ts';
import type { Chip } from './filter.ts';
import { isFiltered, type ListQuery, printWindowSearch, toFilterSearch, type WindowParameters } from './list-query.ts';
import { type LoadedWindow, parseWindow, type Row } from './rows.ts';
import type { RecordValue } from './value.ts';

/** Entity of a workspace. */
export interface EntityRef extends WorkspaceRef {
  readonly entity: string;
}

export const entityPath = ({ entity, ...place }: EntityRef, rest = ''): string =>
  dataPath(place, `/${encodeURIComponent(entity)}${rest}`);

// Limit of `fields` in a request: a hundred paths, as Node.js accepts 16 KiB of address and headers.
const MOST_FIELDS = 100;
const LONGEST = 8000;

/** Fetches one window of a list. Above the limit of `fields` it requests all of them. */
export async function fetchWindow(
  entityRef: EntityRef,
  query: ListQuery,
  parameters: WindowParameters,
  signal: AbortSignal,
): Promise<LoadedWindow> {
  const narrow = printWindowSearch(query, parameters);
  const isTooMuch = parameters.fields.length > MOST_FIELDS || narrow.length > LONGEST;
  const fields = ['*', ...parameters.fields.filter((name) => name.includes('.'))];
  const search = isTooMuch ? printWindowSearch(query, { ...parameters, fields }) : narrow;
  const { data, meta } = await requestExact<readonly RecordValue[]>({ path: entityPath(entityRef, search), signal });
  return parseWindow(data, meta);
}

/** Fetches the number of records of a filtered list. */
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

/** Record with its version. */
export interface Versioned {
  readonly record: RecordValue;
  readonly version: string;
}

/** Returns the version in an ETag: the part before the point. */
export const parseVersion = (etag: string | undefined): string =>
  (etag ?? '').replace(/^W\//, '').replaceAll('"', '').split('.')[0] ?? '';

/** Fetches a record, or some of its fields, without truncation. */
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

/** Fetches records by their ids, in this order, without truncation; deleted ones are left out. */
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

/** Fetches rows of a list by their ids, a hundred at most; marks those that its filters exclude now. */
export async function fetchRows(
  entityRef: EntityRef,
  query: ListQuery,
  fields: readonly string[],
  ids: readonly string[],
): Promise<readonly Row[]> {
  const signal = new AbortController().signal;
  const byId: Chip = { kind: 'filter', text: `id,in,${ids.join(',')}` };
  const parameters: WindowParameters = { window: 0, after: undefined, fields, count: 'none' };
  const all = await fetchWindow(entityRef, { ...query, chips: [byId], search: '', sort: [] }, parameters, signal);
  if (!isFiltered(query)) return all.rows;
  const narrowed = { ...query, chips: [...query.chips, byId], sort: [], expand: [] };
  const matching = await fetchWindow(entityRef, narrowed, { ...parameters, fields: ['id'] }, signal);
  const matches = new Set(matching.rows.map(({ id }) => id));
  return all.rows.map((row) => (matches.has(row.id) ? row : { ...row, isFilteredOut: true }));
}
