// Types of the history of a record: its events, the record as it was, and its restore.
import type { MatchOptions } from './ask.ts';
import type { CreatedEvent, RemovedEvent, UpdatedEvent } from './changes.ts';
import type { Written } from './entity.ts';
import type { Answered, Name, None, Result, ResultTag, Row, Shape } from './shape.ts';
import type { CallOptions } from './transport.ts';

/** Options of a page of the history of a record. */
export interface HistoryOptions<F> extends CallOptions {
  /** Events of a page, 1 to 200; 20 if not given. */
  readonly size?: number;
  /** `meta.nextCursor` of the page before. */
  readonly after?: string | undefined;
  /** Fields of the records; all if not given. An update that changes none of them is left out. */
  readonly fields?: F;
}

/** Event whose values were removed. */
export type RedactedEvent<E> = Omit<RemovedEvent<E, never>, 'type' | 'previous'> & {
  readonly type: 'created' | 'updated' | 'removed';
  readonly redacted: true;
};

/** Member of an event whose values are there. */
interface Known<R> {
  readonly redacted?: undefined;
  /** Fields that are null because they had another type. */
  readonly unknown?: readonly (keyof R & string)[];
}

type KnownEvent<E, R> =
  | (CreatedEvent<E, R> & Known<R>)
  | (UpdatedEvent<E, R> & Known<R>)
  | (RemovedEvent<E, R> & Known<R>);

/** Event of the history of a record. `F`: `fields` of the request. */
export type HistoryEvent<S extends Shape<S>, E extends keyof S, F = undefined> =
  | KnownEvent<E, Answered<S, E, F, None>>
  | RedactedEvent<E>;

export interface HistoryMeta {
  readonly size: number;
  /** `after` of the next page, or null on the last one. */
  readonly nextCursor: string | null;
  /** From this moment on every change of the record is there. */
  readonly completeSince: string;
}

/** Record as it was. */
export interface HistoryEntry<R> {
  readonly data: R;
  /** `unknown`: fields that are null because they had another type. */
  readonly meta?: { readonly unknown: readonly (keyof R & string)[] };
}

/** Calls for the history of records of one entity. */
export interface EntityHistory<S extends Shape<S>, E extends keyof S> {
  /** Reads what happened to a record, the last change first, also after it was deleted. */
  history<const F extends readonly Name<S, E>[] | undefined = undefined>(
    id: number,
    options?: HistoryOptions<F>,
  ): Promise<{ readonly data: HistoryEvent<S, E, F>[]; readonly meta: HistoryMeta }>;

  /** Reads the record as it was after an event, or before one that removed it. */
  historyEntry(id: number, event: string, options?: CallOptions): Promise<HistoryEntry<Row<S, E>>>;

  /** Writes the record as it was after an event, or before one that removed it. A deleted record is created again. */
  restore(
    id: number,
    event: string,
    options?: MatchOptions,
  ): Promise<Written<Result<S, E>, ResultTag<S, E>> & { readonly created: boolean }>;
}
