// Parses writes of many records in one request: their bodies and parameters -> values. Knows no schema; form only.
import { badRequest, type Detail, shorten } from '../errors.ts';
import { numberText } from '../model/exact-json.ts';
import { parseId } from './call.ts';
import { getVersions } from './conditions.ts';
import { tooManyRecords } from './errors.ts';
import { isRecord, readMembers } from './members.ts';
import { readQuery, type Values } from './read-parameters.ts';
import { parseUpsert, type Upsert } from './upsert.ts';

/** Query string options of every bulk write. */
export interface BulkOptions {
  /** Whether the response has the ids alone. */
  readonly isMinimal: boolean;
  /** Whether everything is executed and then rolled back. */
  readonly isDryRun: boolean;
}

/** Options of creates. */
export interface BulkCreateOptions extends BulkOptions {
  readonly upsert: Upsert | undefined;
}

/** Options of updates. */
export interface BulkUpdateOptions extends BulkOptions {
  /** Whether the response contains the new version of each record. */
  readonly versions: boolean;
}

export const parseBulkOptions = (query: string): BulkOptions => bulkOptions(readQuery('bulkDeleteListed', query));

export function parseBulkCreateOptions(query: string): BulkCreateOptions {
  const values = readQuery('bulkCreate', query);
  return { ...bulkOptions(values), upsert: parseUpsert(values) };
}

export function parseBulkUpdateOptions(query: string): BulkUpdateOptions {
  const values = readQuery('bulkUpdate', query);
  return { ...bulkOptions(values), versions: values.versions === true };
}

const bulkOptions = (values: Values<'bulkDeleteListed', 'query'>): BulkOptions => ({
  isMinimal: values.return === 'minimal',
  isDryRun: values.dryRun === true,
});

/** Returns the records of `{"data": [record, …]}`; throws 400 for another form, 413 for more than `maxRecords`. */
export function parseRecords(body: unknown, maxRecords: number): readonly unknown[] {
  const { data } = readMembers(body, ['data'], 'the body').members;
  if (!Array.isArray(data)) throw badRequest('INVALID_BODY', 'The body must be {"data": [record, …]}');
  if (data.length > maxRecords) throw tooManyRecords(data.length, maxRecords);
  return data;
}

/** A record that a bulk write names, and its required version. */
export interface Target {
  /** Digits; `0`, which no record has, for an id beyond 64 bits. */
  readonly id: string;
  /** Id as the request writes it, without leading zeros. */
  readonly name: string;
  readonly version: string | undefined;
}

/** A record to change, with the members that are fields. */
export interface ItemOfUpdate extends Target {
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Parses an item of a bulk update, or returns the mistakes outside its fields. Throws 400 when it is no object. */
export function parseItem(item: unknown, index: number): ItemOfUpdate | readonly Detail[] {
  if (!isRecord(item)) {
    return [{ index, field: null, code: 'TYPE_MISMATCH', message: 'must be a JSON object' }];
  }
  const { id, $version: version, ...fields } = item;
  const details: Detail[] = [];
  if (id === undefined || id === null) details.push({ index, field: 'id', code: 'REQUIRED', message: 'is required' });
  const digits = numberText(id) ?? (typeof id === 'string' ? id : '');
  if (details.length === 0 && !INTEGER.test(digits)) {
    details.push({ index, field: 'id', code: 'TYPE_MISMATCH', message: 'must be an integer' });
  }
  if (version !== undefined && typeof version !== 'string') {
    details.push({ index, field: '$version', code: 'TYPE_MISMATCH', message: 'must be a string' });
  }
  if (details.length > 0) return details;
  return { ...makeTarget(digits, parseVersion(version as string | undefined)), fields };
}

const INTEGER = /^-?\d{1,100}$/;

/** Normalizes the id as PostgreSQL writes it, so that `1` and `01` are the same. */
function makeTarget(digits: string, version: string | undefined): Target {
  const name = BigInt(digits).toString();
  return { id: parseId(name) === undefined ? '0' : name, name, version };
}

const parseVersion = (version: string | undefined): string | undefined =>
  version === undefined ? undefined : (getVersions([version])[0] as string);

/** Records to delete, each once, with the required versions of some. */
export interface BulkDelete {
  readonly targets: readonly Target[];
}

/** Parses `ids=1,2,3` of DELETE …/_bulk. */
export function parseIds(query: string, maxRecords: number): BulkDelete & BulkOptions {
  const { ids, ...values } = readQuery('bulkDelete', query);
  if (ids === undefined) throw badRequest('INVALID_IDS', 'ids is missing: DELETE …/_bulk?ids=1,2,3');
  return {
    targets: makeTargets(parseNames(ids === '' ? [] : ids.split(','), maxRecords), new Map()),
    ...bulkOptions(values),
  };
}

/** Parses `{"ids": [1, 2, 3], "versions": {"1": "…"}}` of POST …/_bulk/delete. */
export function parseDeleteBody(body: unknown, maxRecords: number): BulkDelete {
  const { ids, versions = {} } = readMembers(body, ['ids', 'versions'], 'the body').members;
  if (!Array.isArray(ids)) throw badRequest('INVALID_IDS', 'ids must be an array of ids');
  if (!isRecord(versions)) throw badRequest('INVALID_IDS', 'versions must be an object: a version by id');
  // Checked before parsing: a body may hold millions.
  if (ids.length > maxRecords) throw tooManyRecords(ids.length, maxRecords);
  const names = parseNames(
    ids.map((id) => numberText(id) ?? (typeof id === 'string' ? id : badId())),
    maxRecords,
  );
  const keys = Object.keys(versions);
  if (keys.length > names.size) throw badRequest('INVALID_IDS', 'versions names more records than ids');
  const byName = new Map<string, string>();
  for (const key of keys) {
    const version = versions[key];
    if (typeof version !== 'string') throw badRequest('INVALID_IDS', `The version of ${shorten(key)} must be a string`);
    const name = INTEGER.test(key) ? BigInt(key).toString() : key;
    if (!names.has(name)) throw badRequest('INVALID_IDS', `versions names ${shorten(key)}, which is not among the ids`);
    if (byName.has(name)) throw badRequest('INVALID_IDS', `versions names ${shorten(name)} twice`);
    byName.set(name, parseVersion(version) as string);
  }
  return { targets: makeTargets(names, byName) };
}

function badId(): never {
  throw badRequest('INVALID_IDS', 'ids must be integers');
}

/** Returns the ids without duplicates; `1` and `01` are the same. */
function parseNames(texts: readonly string[], maxRecords: number): ReadonlySet<string> {
  if (texts.length > maxRecords) throw tooManyRecords(texts.length, maxRecords);
  const wrong = texts.find((text) => !INTEGER.test(text.trim()));
  if (wrong !== undefined)
    throw badRequest('INVALID_IDS', `ids must be integers, and ${shorten(wrong) || 'an empty text'} is none`);
  return new Set(texts.map((text) => BigInt(text.trim()).toString()));
}

function makeTargets(names: ReadonlySet<string>, versions: ReadonlyMap<string, string>): Target[] {
  return [...names].map((name) => makeTarget(name, versions.get(name)));
}
