// What the adapters of admin frameworks share: records without the types of a schema, ids, conditions, mistakes by field.
import type { LooseQuery } from './body.ts';
import type { Meta } from './entity.ts';
import { type Detail, isWdaError, type WdaError } from './error.ts';
import type { Client } from './index.ts';
import type { makeRequests } from './requests.ts';
import type { Shape } from './shape.ts';

/** A record as frameworks know it. */
export type AnyRecord = Record<string, unknown>;
export type Id = string | number;

/** What every operation may be given as `meta`. */
export interface AdminMeta {
  /** Columns, with `id` among them; all of them, when it is left out. */
  readonly fields?: readonly string[];
  /** Relations, as the client takes them: `{ customer: true }`. */
  readonly expand?: LooseQuery['expand'];
  /** Of a record that is written: its ETag as it was read. Another one is a 412. */
  readonly etag?: string;
}

/** The calls of any entity. */
export type Calls = ReturnType<typeof makeRequests> & { readonly workspace: string };

export interface Page {
  readonly data: AnyRecord[];
  readonly meta: Meta;
}

/** Frameworks know entities as texts, so the types of the schema end here. */
export const callsOf = <S extends Shape<S>>(shop: Client<S>, resource: string): Calls =>
  shop.entity(resource as keyof S & string) as unknown as Calls;

/** Ids of pages come from addresses, where they are texts. What is no id stays, for the server to refuse. */
export const idOf = (id: Id): number => (/^\d{1,15}$/.test(String(id)) ? Number(id) : (id as number));

/** What `meta` says of the columns and relations of an answer. */
export const selectionOf = (meta: AdminMeta | undefined): LooseQuery => ({
  ...(meta?.fields === undefined ? {} : { fields: meta.fields }),
  ...(meta?.expand === undefined ? {} : { expand: meta.expand }),
});

/** A write answers the columns; what is expanded or selected is read again, so that a record has one form everywhere. */
export const answered = async (calls: Calls, { data }: { readonly data: unknown }, meta: AdminMeta | undefined) =>
  meta?.expand === undefined && meta?.fields === undefined
    ? (data as AnyRecord)
    : ((await calls.read((data as { id: number }).id, selectionOf(meta))).data as AnyRecord);

/** The records with these ids, as far as they exist. */
export async function readMany(
  calls: Calls,
  ids: readonly Id[],
  meta: AdminMeta | undefined,
  signal: AbortSignal | undefined,
): Promise<AnyRecord[]> {
  const found: AnyRecord[] = [];
  for (const part of partsOf(ids)) {
    const filter = { id: { in: part } };
    const query = { ...selectionOf(meta), filter, size: part.length, count: 'none' };
    found.push(...((await calls.list(query, { signal })).data as AnyRecord[]));
  }
  return found;
}

const MOST = 1000;

/** As many at a time as a request takes. */
export const partsOf = (ids: readonly Id[]): number[][] =>
  Array.from({ length: Math.ceil(ids.length / MOST) }, (_, index) =>
    ids.slice(index * MOST, (index + 1) * MOST).map(idOf),
  );

const OPPOSITE: Readonly<Record<string, string>> = { isNull: 'notNull', notNull: 'isNull' };

/** One condition in the form of the client. Switches give false for the opposite of `isNull`. */
export function conditionOf(path: string, operator: string, value: unknown): AnyRecord {
  if (OPPOSITE[operator] !== undefined) return { [path]: { [value === false ? OPPOSITE[operator] : operator]: true } };
  if (operator === 'eq' && (value === null || typeof value !== 'object')) return { [path]: value };
  return { [path]: { [operator]: value } };
}

/** The mistakes with a field, by field. */
export function mistakesOf(details: readonly Detail[]): Record<string, string> {
  const mistakes: Record<string, string> = {};
  for (const { field, message } of details) {
    if (field !== null) mistakes[field] = mistakes[field] === undefined ? message : `${mistakes[field]}; ${message}`;
  }
  return mistakes;
}

/** Every operation, with what is thrown given the members that a framework looks at. */
export function telling<P extends object>(provider: P, membersOf: (error: WdaError) => object): P {
  const told = async (call: (...given: unknown[]) => unknown, given: unknown[]): Promise<unknown> => {
    try {
      return await call(...given);
    } catch (error) {
      throw isWdaError(error) ? Object.assign(error, membersOf(error)) : error;
    }
  };
  return Object.fromEntries(
    Object.entries(provider).map(([name, member]) => [
      name,
      typeof member === 'function' && name !== 'getApiUrl' ? (...given: unknown[]) => told(member, given) : member,
    ]),
  ) as P;
}
