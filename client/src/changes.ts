// Types of the feed of changes: its options, pages and events.
import type { Answered, Condition, Name, None, Row, Shape } from './shape.ts';
import type { CallOptions } from './transport.ts';

/** Kind of a change of the records that the reader sees. */
export type ChangeType = 'created' | 'updated' | 'removed';

/** Options of the changes of several entities. */
export interface FeedOptions extends CallOptions {
  /** `cursor` of a page: events after it. `now`, the default: a cursor and no events; `oldest`: all that are kept. */
  readonly after?: string | undefined;
  /** Date and time, in place of `after`: from the first change at or after it. */
  readonly since?: string | undefined;
  /** Kinds of events; all if not given. Events about the entity itself always come. */
  readonly types?: readonly ChangeType[];
  /** Whether events have the values before, too. */
  readonly previous?: boolean;
}

/** Options of the changes of one entity. */
export interface EntityFeedOptions<S extends Shape<S>, E extends keyof S, F> extends FeedOptions {
  /** Fields of the records; all if not given. An update that changes none of them makes no event. */
  readonly fields?: F;
  /** Conditions on own fields: a record that comes to hold them is `created`, one that ceases to is `removed`. */
  readonly filter?: OwnFilter<S, E>;
}

/** Options of pages. */
export interface PageOptions {
  /** Events of a page, 1 to 1,000; 100 if not given. */
  readonly size?: number;
  /** Seconds, up to 60, that a page without events waits for one: the iteration goes on for ever. 0, the default: it ends. */
  readonly wait?: number;
}

/** Option of the workspace. */
export interface EntitiesOption<E> {
  /** Entities; all that keep changes if not given. */
  readonly entities?: readonly E[];
}

/** Conditions on own fields that must all hold. */
export type OwnFilter<S extends Shape<S>, E extends keyof S> = {
  readonly [K in keyof Row<S, E>]?: Condition<Row<S, E>[K]>;
} & {
  readonly $and?: readonly OwnFilter<S, E>[];
  readonly $or?: readonly OwnFilter<S, E>[];
};

export interface FeedPage<T> {
  readonly data: readonly T[];
  /** `after` of the next page: store it when the events have been worked off. */
  readonly cursor: string;
  /** Whether there is more to look at now. */
  readonly more: boolean;
}

/** Live events. What is not taken is not read. Iterated again, they begin with the event at which the iteration ended. */
export interface Watch<T> extends AsyncIterable<T> {
  /** Cursor after the events that have been worked off, which the current one is not, for `after` of another process. */
  readonly cursor: string | undefined;
}

/** Who made a change. */
export interface Actor {
  readonly kind: 'operator' | 'person' | 'key' | 'client' | 'user';
  readonly id: string;
  /** Name of the person, key or client; null if it is gone. */
  readonly name?: string | null;
  /** Subject at the OpenID provider, for a person. */
  readonly subject?: string;
  readonly issuer?: string;
  readonly via: 'api' | 'console' | 'mcp';
  readonly requestId?: string;
}

interface EventBase<E> {
  /** The same whenever the event is read. */
  readonly id: string;
  readonly entity: E;
  readonly at: string;
}

interface RecordEvent<E> extends EventBase<E> {
  readonly recordId: number;
  /** Equal for the events of one transaction. */
  readonly transaction: string;
  /** Kind of the change of the record; absent for users whom row rules or grants limit. */
  readonly cause?: 'created' | 'changed' | 'deleted';
  /** Null if no request made the change; absent for users of an identity provider. */
  readonly actor?: Actor | null;
}

interface StoredEvent<E, R> extends RecordEvent<E> {
  /** Record after the change. Missing with `truncated`. */
  readonly record: R;
  /** Version of the record: `"<version>"` is an ETag for `ifMatch`. */
  readonly version?: string;
  /** Whether the record is larger than an answer may be. */
  readonly truncated?: true;
}

export interface CreatedEvent<E, R> extends StoredEvent<E, R> {
  readonly type: 'created';
}

export interface UpdatedEvent<E, R> extends StoredEvent<E, R> {
  readonly type: 'updated';
  /** Fields whose values differ. */
  readonly changed: readonly (keyof R & string)[];
  /** Values of these fields before; with `previous`. */
  readonly previous?: Partial<R>;
}

export interface RemovedEvent<E, R> extends RecordEvent<E> {
  readonly type: 'removed';
  /** Record before; with `previous`. */
  readonly previous?: R;
}

/** The records changed without events of their own: read them again. */
export interface ResetEvent<E> extends EventBase<E> {
  readonly type: 'reset';
  /** `truncated`: by SQL; `imported`: by an import without events of its own; `interrupted`: nothing was kept for a while. */
  readonly reason: 'truncated' | 'imported' | 'interrupted' | 'expired';
  /** Counts of an import, for readers of all records. */
  readonly inserted?: number;
  readonly updated?: number;
  readonly skipped?: number;
}

/** The fields of the entity have changed: events that follow have the new names. */
export interface SchemaEvent<E> extends EventBase<E> {
  readonly type: 'schema';
  /** Former name of the entity, if it was renamed. */
  readonly entityBefore?: string;
  /** New names by the former ones. */
  readonly renamed: Readonly<Record<string, string>>;
  readonly added: readonly string[];
  readonly dropped: readonly string[];
  readonly retyped: readonly string[];
}

/** The entity keeps changes no longer. */
export interface EndedEvent<E> extends EventBase<E> {
  readonly type: 'ended';
  readonly reason: 'off' | 'dropped';
}

/**
 * `watch` has lost its place, and goes on from now: read the records again. `VIEW_CHANGED`: the credential sees other records;
 * `CURSOR_EXPIRED`: changes are no longer all kept.
 */
export interface LostPlace {
  readonly type: 'reset';
  readonly reason: 'VIEW_CHANGED' | 'CURSOR_EXPIRED';
  readonly entity?: undefined;
}

/** Event of an entity, or of one of several. `F`: `fields` of the request. */
export type Change<S extends Shape<S>, E extends keyof S, F = undefined> = {
  [K in E]: EntityChange<K, Answered<S, K, F, None>>;
}[E];

type EntityChange<E, R> =
  | CreatedEvent<E, R>
  | UpdatedEvent<E, R>
  | RemovedEvent<E, R>
  | SchemaEvent<E>
  | ResetEvent<E>
  | EndedEvent<E>;

/** Calls for the changes of one entity. */
export interface EntityFeed<S extends Shape<S>, E extends keyof S> {
  /**
   * Iterates over pages of events from `after` or `since` on, until nothing is left; with `wait` for ever. The first page comes
   * at once, perhaps without events, for its cursor.
   */
  changes<const F extends readonly Name<S, E>[] | undefined = undefined>(
    options?: EntityFeedOptions<S, E, F> & PageOptions,
  ): AsyncGenerator<FeedPage<Change<S, E, F>>, void, undefined>;

  /**
   * Iterates over events as they happen, for ever, by an event stream, or by long polls where none arrives: what passes (429,
   * 5xx, a lost connection, an expired token) is tried again.
   */
  watch<const F extends readonly Name<S, E>[] | undefined = undefined>(
    options?: EntityFeedOptions<S, E, F>,
  ): Watch<Change<S, E, F> | LostPlace>;
}

/** Calls for the changes of several entities in one order. Records have the fields of the default selection of their entity. */
export interface WorkspaceFeed<S extends Shape<S>> {
  changes<const E extends keyof S & string = keyof S & string>(
    options?: FeedOptions & PageOptions & EntitiesOption<E>,
  ): AsyncGenerator<FeedPage<Change<S, E>>, void, undefined>;

  watch<const E extends keyof S & string = keyof S & string>(
    options?: FeedOptions & EntitiesOption<E>,
  ): Watch<Change<S, E> | LostPlace>;
}
