// History of a record: pages of its events, the last one first, and the record as it was after one of them.
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { stringifySearch } from '../address.ts';
import type { Json } from '../api/json.ts';
import { requestExact } from '../api/request.ts';
import { type EntityRef, entityPath } from './requests.ts';
import { getMember, type RecordValue } from './value.ts';

export interface Actor {
  readonly kind: 'operator' | 'key' | 'client' | 'user' | (string & {});
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

/** Query for the record as it was after an event, or before one that removed it. */
export const asItWasQuery = (entityRef: EntityRef, id: string, event: string) =>
  queryOptions({
    queryKey: [...recordKey(entityRef, id), 'history', event],
    queryFn: async ({ signal }): Promise<RecordValue> =>
      (await requestExact<RecordValue>({ path: entityPath(entityRef, `/${id}/_history/${event}`), signal })).data,
  });

/** Describes who made a change: `website (key)`. */
export function describeActor(actor: Actor | null): string {
  if (actor === null) return 'SQL, not this API';
  const { kind, id, name, via } = actor;
  const who = kind === 'operator' ? kind : name === null ? `${kind} ${id}` : `${name} (${kind})`;
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
