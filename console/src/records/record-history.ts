// History of a record: pages of its events, the last one first, and the record as it was after one of them.
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { stringifySearch } from '../address.ts';
import type { Json } from '../api/json.ts';
import { requestExact } from '../api/request.ts';
import type { RecordColumn } from './fields.ts';
import type { Values } from './history.ts';
import { type EntityRef, entityPath, parseVersion, type Versioned } from './requests.ts';
import { getMember, isSameValue, type RecordValue } from './value.ts';

export interface Actor {
  readonly kind: 'operator' | 'person' | 'key' | 'client' | 'user' | (string & {});
  readonly id: string;
  readonly name: string | null;
  readonly via?: string;
  readonly requestId?: string;
}

/** Event of a record. */
export interface RecordEvent {
  readonly id: string;
  readonly type: 'created' | 'updated' | 'removed';
  /** ISO 8601. */
  readonly at: string;
  readonly changed?: readonly string[];
  readonly record?: RecordValue;
  readonly previous?: RecordValue;
  /** Null for a change that no request made; absent for users of the identity provider. */
  readonly actor?: Actor | null;
  /** Whether an owner has removed its values. */
  readonly redacted?: boolean;
  /** Whether its values are too large for an answer. */
  readonly truncated?: boolean;
  /** Fields whose type has changed since. */
  readonly unknown?: readonly string[];
}

interface HistoryPage {
  readonly events: readonly RecordEvent[];
  readonly next: string | undefined;
  /** Moment from which on every change is in the history; null if that is unknown. */
  readonly completeSince: string | null;
}

const recordKey = ({ org, ws, entity }: EntityRef, id: string) => ['record', org, ws, entity, id] as const;

export const historyQuery = (entityRef: EntityRef, id: string) =>
  infiniteQueryOptions({
    queryKey: [...recordKey(entityRef, id), 'history'],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ signal, pageParam }): Promise<HistoryPage> => {
      const path = entityPath(entityRef, `/${id}/_history${stringifySearch({ after: pageParam })}`);
      const { data, meta } = await requestExact<readonly RecordEvent[]>({ path, signal });
      return {
        events: data,
        next: (meta.nextCursor as string | null) ?? undefined,
        completeSince: meta.completeSince as string | null,
      };
    },
    getNextPageParam: ({ next }) => next,
  });

/** Record as it was. */
export interface AsItWas {
  readonly record: RecordValue;
  /** Fields that had another type, so that their values are not known. */
  readonly unknown: readonly string[];
}

/** Query for the record as it was after an event, or before one that removed it. */
export const asItWasQuery = (entityRef: EntityRef, id: string, event: string) =>
  queryOptions({
    queryKey: [...recordKey(entityRef, id), 'history', event],
    queryFn: async ({ signal }): Promise<AsItWas> => {
      const path = entityPath(entityRef, `/${id}/_history/${event}`);
      const { data, meta } = await requestExact<RecordValue>({ path, signal });
      return { record: data, unknown: (meta.unknown as readonly string[] | undefined) ?? [] };
    },
  });

/** Writes the record as it was after an event, if it still has this version; a deleted one is created again. */
export async function restoreRecord(
  entityRef: EntityRef,
  { id, event, version }: { readonly id: string; readonly event: string; readonly version: string | undefined },
  key: string,
): Promise<Versioned> {
  const { data, etag } = await requestExact<RecordValue>({
    method: 'POST',
    path: entityPath(entityRef, `/${id}/_restore`),
    body: { event },
    waits: false,
    headers: { 'Idempotency-Key': key, ...(version === undefined ? {} : { 'If-Match': `"${version}"` }) },
  });
  return { record: data, version: parseVersion(etag) };
}

/** Describes who made a change: `website (key)`. */
export function describeActor(actor: Actor | null): string {
  if (actor === null) return 'SQL, not this API';
  const { kind, id, name, via } = actor;
  const who =
    kind === 'operator'
      ? kind
      : kind === 'person'
        ? (name ?? `person ${id}`)
        : name === null
          ? `${kind} ${id}`
          : `${name} (${kind})`;
  return via === 'console' ? `${who} in the console` : via === 'mcp' ? `${who}, an agent` : who;
}

export interface FieldChange {
  readonly name: string;
  readonly before: Json | undefined;
  readonly after: Json | undefined;
}

/** Lists the fields that an event changed with their values; those of a record that came or went are the whole record. */
export function listChanges({ type, changed, record, previous }: RecordEvent): readonly FieldChange[] {
  const names = type === 'updated' ? (changed ?? []) : Object.keys((type === 'created' ? record : previous) ?? {});
  return names.map((name) => ({
    name,
    before: previous === undefined ? undefined : getMember(previous, name),
    after: record === undefined ? undefined : getMember(record, name),
  }));
}

/** Returns the values that a restore would change, of the columns that a request may write. */
export function listRestored(
  columns: readonly RecordColumn[],
  { record, unknown }: AsItWas,
  current: RecordValue | undefined,
): Values {
  return new Map(
    columns.flatMap(({ name, isReadOnly }): [string, Json][] => {
      const value = getMember(record, name);
      const isSame = current !== undefined && isSameValue(value, getMember(current, name));
      return isReadOnly || value === undefined || isSame || unknown.includes(name) ? [] : [[name, value]];
    }),
  );
}
