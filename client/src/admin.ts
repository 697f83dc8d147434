// Shares types and functions between adapters of admin frameworks: untyped records, ids, conditions, mistakes by field.
import type { LooseQuery } from './body.ts';
import type { Meta } from './entity.ts';
import { type Detail, isWdaError, type WdaError } from './error.ts';
import type { Client } from './index.ts';
import type { makeRequests } from './requests.ts';
import type { Shape } from './shape.ts';

/** Record without the types of a schema. */
export type AnyRecord = Record<string, unknown>;
export type Id = string | number;

/** `meta` of every operation. */
export interface AdminMeta {
  /** Columns, including `id`; by default all of them. */
  readonly fields?: readonly string[];
  /** Relations in the form of the client: `{ customer: true }`. */
  readonly expand?: LooseQuery['expand'];
  /** ETag of the record to write, as it was read. A record with another one is a 412. */
  readonly etag?: string;
}

/** Calls of any entity. */
export type Calls = ReturnType<typeof makeRequests> & { readonly workspace: string };

export interface Page {
  readonly data: AnyRecord[];
  readonly meta: Meta;
}

/** Returns the calls of an entity without the types of the schema, because frameworks have entities as strings. */
export const getCalls = <S extends Shape<S>>(shop: Client<S>, resource: string): Calls =>
  shop.entity(resource as keyof S & string) as unknown as Calls;

/** Parses an id, which is a string in URLs of pages. Invalid ones stay, for the server to reject. */
export const parseId = (id: Id): number => (/^\d{1,15}$/.test(String(id)) ? Number(id) : (id as number));

/** Returns the columns and relations of `meta`. */
export const getSelection = (meta: AdminMeta | undefined): LooseQuery => ({
  ...(meta?.fields === undefined ? {} : { fields: meta.fields }),
  ...(meta?.expand === undefined ? {} : { expand: meta.expand }),
});

/** Reads a written record again if relations or columns are selected, so that a record has one form everywhere. */
export const readWritten = async (calls: Calls, { data }: { readonly data: unknown }, meta: AdminMeta | undefined) =>
  meta?.expand === undefined && meta?.fields === undefined
    ? (data as AnyRecord)
    : ((await calls.read((data as { id: number }).id, getSelection(meta))).data as AnyRecord);

/** Reads the existing records with these ids. */
export async function readMany(
  calls: Calls,
  ids: readonly Id[],
  meta: AdminMeta | undefined,
  signal: AbortSignal | undefined,
): Promise<AnyRecord[]> {
  const records: AnyRecord[] = [];
  for (const part of splitIds(ids)) {
    const filter = { id: { in: part } };
    const query = { ...getSelection(meta), filter, size: part.length, count: 'none' };
    records.push(...((await calls.list(query, { signal })).data as AnyRecord[]));
  }
  return records;
}

const MOST = 1000;

/** Splits ids into chunks that a request takes. */
export const splitIds = (ids: readonly Id[]): number[][] =>
  Array.from({ length: Math.ceil(ids.length / MOST) }, (_, index) =>
    ids.slice(index * MOST, (index + 1) * MOST).map(parseId),
  );

const OPPOSITE: Readonly<Record<string, string>> = { isNull: 'notNull', notNull: 'isNull' };

/** Returns one condition in the form of the client. The value false of `isNull` negates it, as switches of forms do. */
export function toCondition(path: string, operator: string, value: unknown): AnyRecord {
  if (OPPOSITE[operator] !== undefined) return { [path]: { [value === false ? OPPOSITE[operator] : operator]: true } };
  if (operator === 'eq' && (value === null || typeof value !== 'object')) return { [path]: value };
  return { [path]: { [operator]: value } };
}

/** Returns messages of mistakes by field. */
export function groupMistakes(details: readonly Detail[]): Record<string, string> {
  const mistakes: Record<string, string> = {};
  for (const { field, message } of details) {
    if (field !== null) mistakes[field] = mistakes[field] === undefined ? message : `${mistakes[field]}; ${message}`;
  }
  return mistakes;
}

/** Wraps every operation of a provider, to add members that a framework reads to its errors. */
export function decorateErrors<P extends object>(provider: P, getMembers: (error: WdaError) => object): P {
  const run = async (call: (...args: unknown[]) => unknown, args: unknown[]): Promise<unknown> => {
    try {
      return await call(...args);
    } catch (error) {
      throw isWdaError(error) ? Object.assign(error, getMembers(error)) : error;
    }
  };
  return Object.fromEntries(
    Object.entries(provider).map(([name, member]) => [
      name,
      typeof member === 'function' && name !== 'getApiUrl' ? (...args: unknown[]) => run(member, args) : member,
    ]),
  ) as P;
}
