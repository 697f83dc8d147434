// The calls of an entity as the schema types them.
import type { MatchOptions, WriteOptions } from './ask.ts';
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
  Group,
  Grouped,
  Known,
  Name,
  None,
  Row,
  Selected,
  Shape,
  Update,
} from './shape.ts';
import type { CallOptions, Content } from './transport.ts';

export interface Meta {
  /** From 0; null with `after`. */
  readonly page: number | null;
  readonly size: number;
  /** Null with `count: 'none'`. */
  readonly totalElements: number | null;
  readonly totalPages: number | null;
  /** `after` of the next page; null on the last one. */
  readonly nextCursor: string | null;
  /** With `versions`: the version of each record, for `ifMatch` (in quotes) and `$version`. */
  readonly versions?: readonly string[];
  /** With `preview`: which values were cut, and how long they are. */
  readonly previews?: readonly { readonly index: number; readonly field: string; readonly length: number }[];
}

/** What one record is read with. */
export interface RecordQuery<S extends Shape<S>, E extends keyof S, F, X> {
  /** The columns that are wanted; all of them, when it is left out. */
  readonly fields?: F;
  /** The relations that are wanted: `{ customer: true, items: { fields: ['quantity'], size: 5 } }`. */
  readonly expand?: X & Known<S, E, X>;
}

/** What a list is read with. */
export interface ListQuery<S extends Shape<S>, E extends keyof S, F, X>
  extends RecordQuery<S, E, F, X>,
    ListParameters<S, E> {}

export interface AggregateQuery<S extends Shape<S>, E extends keyof S, C, G> extends AggregateParameters<S, E> {
  /** `count`, `sum:total`, `max:customer.name` */
  readonly select: readonly C[];
  /** `status`, `placedAt:month`, `customer.country` */
  readonly group?: readonly G[];
}

/** A record as it is stored. */
export interface Stored<R> {
  readonly data: R;
  /** For `ifMatch`. */
  readonly etag: string;
}

/** What writes of many records take. */
export interface BulkOptions extends WriteOptions, BulkParameters {}

/** What a record that may exist is found by: the fields of one unique field or index. */
export interface ConflictOptions<N> extends UpsertParameters<N> {
  readonly onConflict: N | readonly N[];
}

interface Ids {
  readonly data: readonly { readonly id: number }[];
}

type Minimal = { readonly return: 'minimal' };

/** What of a file is imported: all of it, or nothing. */
export interface ImportOptions<N> extends WriteOptions, ImportParameters<N> {
  readonly format: 'csv' | 'ndjson';
}

export interface Imported {
  readonly inserted: number;
  readonly updated: number;
  readonly skipped: number;
}

export type ExportQuery<S extends Shape<S>, E extends keyof S> = ExportParameters<S, E>;

/** The calls of one entity. Each throws WdaError when it is refused. */
export interface Entity<S extends Shape<S>, E extends keyof S> {
  readonly name: E;
  /** `organization/workspace` */
  readonly workspace: string;

  /** A page of records. */
  list<const F extends readonly Name<S, E>[] | undefined = undefined, const X extends Expand<S, E> = None>(
    query?: ListQuery<S, E, F, X>,
    options?: CallOptions,
  ): Promise<{ readonly data: Answered<S, E, F, X>[]; readonly meta: Meta }>;

  /** The same, always as a POST: no value stands in a URL, or in the logs of proxies. */
  query<const F extends readonly Name<S, E>[] | undefined = undefined, const X extends Expand<S, E> = None>(
    query?: ListQuery<S, E, F, X>,
    options?: CallOptions,
  ): Promise<{ readonly data: Answered<S, E, F, X>[]; readonly meta: Meta }>;

  /** Every record, page after page by cursor, 500 at a time unless `size` says otherwise. */
  all<const F extends readonly Name<S, E>[] | undefined = undefined, const X extends Expand<S, E> = None>(
    query?: Omit<ListQuery<S, E, F, X>, 'page' | 'after' | 'count' | 'versions'>,
    options?: CallOptions,
  ): AsyncGenerator<Answered<S, E, F, X>, void, undefined>;

  /** One record. */
  read<const F extends readonly Name<S, E>[] | undefined = undefined, const X extends Expand<S, E> = None>(
    id: number,
    query?: RecordQuery<S, E, F, X>,
    options?: CallOptions,
  ): Promise<Stored<Answered<S, E, F, X>>>;

  create(record: Create<S, E>, options?: WriteOptions): Promise<Stored<Row<S, E>>>;

  /** Changes what it names. */
  update(id: number, changes: Update<S, E>, options?: MatchOptions): Promise<Stored<Row<S, E>>>;

  /**
   * Reads, asks for the changes, and stores them if nobody has changed the record meanwhile; else it reads again, five times.
   * Afterwards it throws PRECONDITION_FAILED.
   */
  modify(
    id: number,
    change: (now: Row<S, E>) => Update<S, E> | Promise<Update<S, E>>,
    options?: CallOptions,
  ): Promise<Stored<Row<S, E>>>;

  /** Creates a record, or changes the one that has the values of `onConflict`. */
  upsert(
    record: Create<S, E>,
    options: ConflictOptions<Name<S, E>> & WriteOptions,
  ): Promise<Stored<Row<S, E>> & { readonly created: boolean }>;

  delete(id: number, options?: MatchOptions): Promise<void>;

  /** Up to 1,000 records, all of them or none. With `onConflict`, those that exist are changed. */
  createMany(records: readonly Create<S, E>[], options: BulkOptions & Minimal): Promise<Ids>;
  createMany(
    records: readonly Create<S, E>[],
    options: ConflictOptions<Name<S, E>> & BulkOptions,
  ): Promise<{ readonly data: Row<S, E>[]; readonly meta: { readonly inserted: number; readonly updated: number } }>;
  createMany(records: readonly Create<S, E>[], options?: BulkOptions): Promise<{ readonly data: Row<S, E>[] }>;

  /** Up to 1,000 records, all of them or none. `$version`: the part of an ETag before its point. */
  updateMany(records: readonly Change<Update<S, E>>[], options: BulkOptions & Minimal): Promise<Ids>;
  updateMany(records: readonly Change<Update<S, E>>[], options?: BulkOptions): Promise<{ readonly data: Row<S, E>[] }>;

  deleteMany(
    ids: readonly number[],
    options?: WriteOptions & { readonly versions?: Readonly<Record<number, string>>; readonly dryRun?: boolean },
  ): Promise<void>;

  /** Counts and sums, of all records or by groups. */
  aggregate<const C extends Selected<S, E>, const G extends Grouped<S, E> = never>(
    query: AggregateQuery<S, E, C, G>,
    options?: CallOptions,
  ): Promise<{
    readonly data: Group<S, E, C | G>[];
    readonly meta: Pick<Meta, 'page' | 'size' | 'totalElements' | 'totalPages'>;
  }>;

  /** A file of all records that match, as it comes. */
  export(query?: ExportQuery<S, E>, options?: CallOptions): Promise<ReadableStream<Uint8Array>>;

  /** A file of records, all of it or nothing. A stream cannot be sent twice, so it is not repeated by itself. */
  import(file: Content, options: ImportOptions<Name<S, E>>): Promise<Imported>;
}

export type Change<U> = U & { readonly id: number; readonly $version?: string };
