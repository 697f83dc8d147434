// Parts of a list's query that the server rejects: which ones, the query without them, and the corrected query. Pure.
import { type ApiError, isApiError } from '../api/api-error.ts';
import type { WorkspaceSchema } from '../api/schema.ts';
import { type Chip, correctChip, findInvalidChips, parseConditions, parseSuggestion } from './filter.ts';
import type { ListQuery } from './list-query.ts';

type FilterAndSort = Pick<ListQuery, 'chips' | 'sort'>;
type Narrowing = FilterAndSort & Pick<ListQuery, 'search'>;

/** Filters and sort keys that one error is about, or the search, which is empty if it is not. */
export interface InvalidPart extends Narrowing {
  readonly error: ApiError;
}

const UNKNOWN_NAME = /^Unknown (?:field|relation) (\S+?) on entity (\S+?)\.?(?: |$)/;

/**
 * Returns the parts of a query that an error of its list is about, or undefined if it is about something else. Unknown
 * names are looked up along the relations, as a filter and a sort may both have the name of another entity.
 */
export function findInvalidPart(
  error: unknown,
  query: Narrowing,
  schema: WorkspaceSchema,
  entity: string,
): InvalidPart | undefined {
  if (!isApiError(error) || error.status !== 400) return undefined;
  if (query.search !== '' && /^\S+ has no searchable field/.test(error.message))
    return { error, chips: [], sort: [], search: query.search };
  const part = { error, search: '', ...findParts(error.message, query, schema, entity) };
  return part.chips.length + part.sort.length === 0 ? undefined : part;
}

function findParts(
  message: string,
  { chips, sort }: FilterAndSort,
  schema: WorkspaceSchema,
  entity: string,
): FilterAndSort {
  const [, name, owner] = UNKNOWN_NAME.exec(message) ?? [];
  if (name !== undefined) {
    const selectParts = (isInvalid: (path: readonly string[]) => boolean): FilterAndSort => ({
      chips: chips.filter((chip) => listPaths(chip).some(isInvalid)),
      sort: sort.filter((key) => isInvalid(getSortPath(key))),
    });
    const exact = selectParts((path) => hasName(path, name, owner ?? '', schema, entity));
    // The schema of this page may be older than that of the server.
    return exact.chips.length + exact.sort.length > 0 ? exact : selectParts((path) => path.includes(name));
  }
  if (!/^(?:unknown )?filter /i.test(message)) return { chips: [], sort: sort.filter((key) => message.includes(key)) };
  return { chips: findInvalidChips(message, chips), sort: [] };
}

const listPaths = (chip: Chip): readonly (readonly string[])[] =>
  parseConditions(chip).map(({ path }) => path.split('.'));

const getSortPath = (key: string): readonly string[] => (key.split(',')[0] ?? '').split('.');

/** Returns whether a path uses a name as a member of an entity. */
function hasName(
  path: readonly string[],
  name: string,
  owner: string,
  schema: WorkspaceSchema,
  entity: string,
): boolean {
  let current: string | undefined = entity;
  for (const step of path) {
    if (current === owner && step === name) return true;
    current = schema.entities.get(current)?.relations.get(step)?.entity;
    if (current === undefined) return false;
  }
  return false;
}

const isSameChip = (one: Chip, other: Chip): boolean => one.kind === other.kind && one.text === other.text;

export const includesChip = (part: FilterAndSort, chip: Chip): boolean =>
  part.chips.some((one) => isSameChip(one, chip));

/** Returns whether a query still has a filter or a sort key of the part. */
export const hasPart = (query: Narrowing, part: Narrowing): boolean =>
  (part.search !== '' && part.search === query.search) ||
  query.chips.some((chip) => includesChip(part, chip)) ||
  query.sort.some((key) => part.sort.includes(key));

/** Returns a query without the invalid parts. */
export const omitPart = <Q extends Narrowing>(query: Q, part: Narrowing): Q => ({
  ...query,
  search: part.search === '' ? query.search : '',
  chips: query.chips.filter((chip) => !includesChip(part, chip)),
  sort: query.sort.filter((key) => !part.sort.includes(key)),
});

/** Returns the filters and the sort with the server's suggestion, or undefined if there is none. */
export function correctPart({ chips, sort }: FilterAndSort, part: InvalidPart): FilterAndSort | undefined {
  const suggestion = parseSuggestion(part.error.message);
  if (suggestion === undefined) return undefined;
  return {
    chips: chips.map((chip) => (includesChip(part, chip) ? correctChip(chip, suggestion) : chip)),
    sort: sort.map((key) => (part.sort.includes(key) ? correctSortKey(key, suggestion) : key)),
  };
}

function correctSortKey(key: string, { wrong, right }: { readonly wrong: string; readonly right: string }): string {
  const path = getSortPath(key).map((name) => (name === wrong ? right : name));
  return [path.join('.'), ...key.split(',').slice(1)].join(',');
}
