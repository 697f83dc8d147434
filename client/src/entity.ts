// Types of the calls of an entity.
import type { MatchOptions, WriteOptions } from './ask.ts';
import type { EntityFeed } from './changes.ts';
import type { EntityHistory } from './history.ts';
import type { Job } from './job.ts';
import type {
  AggregateParameters,
  BulkParameters,
  ExportParameters,
  ImportParameters,
  ListParameters,
  UpsertParameters,
} from './parameters.generated.ts';
import type {
  Answered,
  Create,
  Expand,
  Filter,
  Group,
  Grouped,
  Known,
  Name,
  None,
  Result,
  ResultTag,
  Row,
  Selected,
  Shape,
  Update,
} from './shape.ts';
import type { CallOptions, Content } from './transport.ts';

export interface Meta {
  /** Number of the page from 0, or null with `after`. */
  readonly page: number | null;
  readonly size: number;
  /** Number of all records, or null with `count: 'none'`. */
  readonly totalElements: number | null;
  readonly totalPages: number | null;
  /** `after` of the next page, or null on the last one. */
  readonly nextCursor: string | null;
  /** Version of each record, for `ifMatch` (in quotes) and `$version`; only with `versions`. */
  readonly versions?: readonly string[];
  /** Cursor of what follows this answer, for `changes` and `watch` with the same filter and fields; only with `changes`. */
  readonly changes?: string;
  /** Truncated values and their lengths; only with `preview`. */
  readonly previews?: readonly { readonly index: number; readonly field: string; readonly length: number }[];
}

/** Options of a read of one record. */
export interface RecordQuery<S extends Shape<S>, E extends keyof S, F, X> {
  /** Columns of the record; by default all of them. */
  readonly fields?: F;
  /** Relations to expand: `{ customer: true, items: { fields: ['quantity'], size: 5 } }`. */
  readonly expand?: X & Known<S, E, X>;
}

/** Options of a list. */
export interface ListQuery<S extends Shape<S>, E extends keyof S, F, X>
  extends RecordQuery<S, E, F, X>,
    ListParameters<S, E> {}

export interface AggregateQuery<S extends Shape<S>, E extends keyof S, C, G> extends AggregateParameters<S, E> {
  /** Aggregate functions such as `count`, `sum:total`, `max:customer.name`. */
  readonly select: readonly C[];
  /** Group keys such as `status`, `placedAt:month`, `customer.country`. */
  readonly group?: readonly G[];
}

/** Stored record with its ETag. */
export interface Stored<R, T = string> {
  readonly data: R;
  /** ETag for `ifMatch`. */
  readonly etag: T;
}

/** Result of a write. */
export interface Replayable {
  /** Whether an earlier request with the idempotency key has done the write; also one that this call has retried. */
  readonly replayed: boolean;
}

/** Record as a write has stored it. */
export interface Written<R, T = string> extends Stored<R, T>, Replayable {}

/** Answer to a write of one record. */
type WriteResult<S extends Shape<S>, E extends keyof S> = Written<Result<S, E>, ResultTag<S, E>>;

/** Options of writes of many records. */
export interface BulkOptions extends WriteOptions, BulkParameters {}

/** Options of an upsert: the fields of one unique field or index that identify a record. */
export interface ConflictOptions<N> extends UpsertParameters<N> {
  readonly onConflict: N | readonly N[];
}

interface Ids extends Replayable {
  readonly data: readonly { readonly id: number }[];
}

interface WrittenRows<R> extends Replayable {
  readonly data: R[];
}

type Minimal = { readonly return: 'minimal' };

/** Options of the import of a file. */
export interface ImportOptions<N> extends WriteOptions, ImportParameters<N> {
  readonly format: 'csv' | 'ndjson';
}

export interface Imported {
  readonly inserted: number;
  readonly updated: number;
  readonly skipped: number;
  /** Sentences about headers that were read as fields of similar names. */
  readonly notes: readonly string[] | undefined;
}

/** Options of the import of a file whose rows with mistakes are left out. */
export interface RejectOptions<N> extends CallOptions, Omit<ImportParameters<N>, 'maxErrors'> {
  readonly format: 'csv' | 'ndjson';
}

export interface ImportedWithRejects extends Omit<Imported, 'notes'> {
  readonly rejected: number;
  /** The rejected rows in the format of the file, with `_row` and `_reason`. It must be read or cancelled. */
  readonly rejects: ReadableStream<Uint8Array>;
}

export type ExportQuery<S extends Shape<S>, E extends keyof S> = ExportParameters<S, E>;

/** Calls of one entity. Each throws WdaError for an error response. */
export interface Entity<S extends Shape<S>, E extends keyof S> extends EntityFeed<S, E>, EntityHistory<S, E> {
  readonly name: E;
  /** Workspace as `organization/workspace`. */
  readonly workspace: string;

  /** Lists a page of records. */
  list<const F extends readonly Name<S, E>[] | undefined = undefined, const X extends Expand<S, E> = None>(
    query?: ListQuery<S, E, F, X>,
    options?: CallOptions,
  ): Promise<{ readonly data: Answered<S, E, F, X>[]; readonly meta: Meta }>;

  /** Lists a page of records, always by POST: no value is in a URL or in the logs of proxies. */
  query<const F extends readonly Name<S, E>[] | undefined = undefined, const X extends Expand<S, E> = None>(
    query?: ListQuery<S, E, F, X>,
    options?: CallOptions,
  ): Promise<{ readonly data: Answered<S, E, F, X>[]; readonly meta: Meta }>;

  /** Iterates over all records, page after page by cursor, 500 at a time by default (`size`). */
  all<const F extends readonly Name<S, E>[] | undefined = undefined, const X extends Expand<S, E> = None>(
    query?: Omit<ListQuery<S, E, F, X>, 'page' | 'after' | 'count' | 'versions'>,
    options?: CallOptions,
  ): AsyncGenerator<Answered<S, E, F, X>, void, undefined>;

  /** Reads one record. */
  read<const F extends readonly Name<S, E>[] | undefined = undefined, const X extends Expand<S, E> = None>(
    id: number,
    query?: RecordQuery<S, E, F, X>,
    options?: CallOptions,
  ): Promise<Stored<Answered<S, E, F, X>>>;

  create(record: Create<S, E>, options?: WriteOptions): Promise<WriteResult<S, E>>;

  /** Changes the given fields of a record. */
  update(id: number, changes: Update<S, E>, options?: MatchOptions): Promise<WriteResult<S, E>>;

  /**
   * Reads a record, calls `change` and stores its result unless the record has changed meanwhile: then it retries up to five
   * times, and at last throws PRECONDITION_FAILED.
   */
  modify(
    id: number,
    change: (now: Row<S, E>) => Update<S, E> | Promise<Update<S, E>>,
    options?: CallOptions,
  ): Promise<WriteResult<S, E>>;

  /** Creates a record, or changes the one with the same values of `onConflict`. */
  upsert(
    record: Create<S, E>,
    options: ConflictOptions<Name<S, E>> & WriteOptions,
  ): Promise<WriteResult<S, E> & { readonly created: boolean }>;

  delete(id: number, options?: MatchOptions): Promise<void>;

  /** Creates up to 1,000 records, all of them or none. With `onConflict`, existing ones are changed. */
  createMany(records: readonly Create<S, E>[], options: BulkOptions & Minimal): Promise<Ids>;
  createMany(
    records: readonly Create<S, E>[],
    options: ConflictOptions<Name<S, E>> & BulkOptions,
  ): Promise<WrittenRows<Result<S, E>> & { readonly meta: { readonly inserted: number; readonly updated: number } }>;
  createMany(records: readonly Create<S, E>[], options?: BulkOptions): Promise<WrittenRows<Result<S, E>>>;

  /** Changes up to 1,000 records, all of them or none. `$version`: part of an ETag before its dot. */
  updateMany(records: readonly RecordUpdate<Update<S, E>>[], options: BulkOptions & Minimal): Promise<Ids>;
  updateMany(records: readonly RecordUpdate<Update<S, E>>[], options?: BulkOptions): Promise<WrittenRows<Result<S, E>>>;

  deleteMany(
    ids: readonly number[],
    options?: WriteOptions & { readonly versions?: Readonly<Record<number, string>>; readonly dryRun?: boolean },
  ): Promise<void>;

  /**
   * Changes all records that match, or none (`'all'`: every record); throws TOO_MANY_MATCHES when they are more than `max`. More
   * than 10,000 are changed in batches by a job, for which it waits: `onProgress` gets its state, and an error has the `job`.
   */
  updateWhere(
    filter: Filter<S, E> | 'all',
    set: SetValues<S, E>,
    options: MatchingOptions & { readonly dryRun: true },
  ): Promise<Tried & { readonly data: { readonly matched: number; readonly updated?: number } }>;
  updateWhere(
    filter: Filter<S, E> | 'all',
    set: SetValues<S, E>,
    options: MatchingOptions & { readonly wait: false },
  ): Promise<{ readonly data: { readonly matched: number; readonly updated: number } | Job }>;
  updateWhere(
    filter: Filter<S, E> | 'all',
    set: SetValues<S, E>,
    options: MatchingOptions,
  ): Promise<{ readonly data: { readonly matched: number; readonly updated: number } }>;

  /** Deletes all records that match, or none, as `updateWhere` changes them. */
  deleteWhere(
    filter: Filter<S, E> | 'all',
    options: MatchingOptions & { readonly dryRun: true },
  ): Promise<Tried & { readonly data: { readonly matched: number; readonly deleted?: number } }>;
  deleteWhere(
    filter: Filter<S, E> | 'all',
    options: MatchingOptions & { readonly wait: false },
  ): Promise<{ readonly data: { readonly matched: number; readonly deleted: number } | Job }>;
  deleteWhere(
    filter: Filter<S, E> | 'all',
    options: MatchingOptions,
  ): Promise<{ readonly data: { readonly matched: number; readonly deleted: number } }>;

  /** Computes counts and sums of all records or by groups. */
  aggregate<const C extends Selected<S, E>, const G extends Grouped<S, E> = never>(
    query: AggregateQuery<S, E, C, G>,
    options?: CallOptions,
  ): Promise<{
    readonly data: Group<S, E, C | G>[];
    readonly meta: Pick<Meta, 'page' | 'size' | 'totalElements' | 'totalPages'>;
  }>;

  /** Streams a file of all matching records. */
  export(query?: ExportQuery<S, E>, options?: CallOptions): Promise<ReadableStream<Uint8Array>>;

  /** Imports a file of records, all of it or nothing. A stream cannot be sent twice, so it is not retried. */
  import(file: Content, options: ImportOptions<Name<S, E>>): Promise<Imported>;

  /** Imports the rows of a file without mistakes; the others are in the answer. It is never retried. */
  importWithRejects(file: Content, options: RejectOptions<Name<S, E>>): Promise<ImportedWithRejects>;
}

/** New values of fields, operators, or the value of another field, as `{ $field: 'customer.name' }`. */
export type SetValues<S extends Shape<S>, E extends keyof S> = {
  readonly [K in keyof Update<S, E>]: Update<S, E>[K] | { readonly $field: string };
};

export interface MatchingOptions extends WriteOptions {
  /** The most records that may match. */
  readonly max: number;
  readonly dryRun?: boolean;
  /** False to get the job, if it is one, in place of its result. */
  readonly wait?: boolean;
  /** Called with the state of the job, twice a second. `signal` ends the waiting, not the job. */
  readonly onProgress?: ((job: Job) => void) | undefined;
}

/** Answer to a dry run. `job`: it would be a job, of which the first records were tried. */
interface Tried {
  readonly meta: { readonly dryRun: true; readonly job?: true };
}

/** Changes of the record with this id. */
export type RecordUpdate<U> = U & { readonly id: number; readonly $version?: string };
