// Rows of a plan's statement: sql/ reads rows into these types, data-api/ and response/ use them by name.

/** One row of a page statement. */
export interface PageRow {
  /** JSON array text, or null if it would be longer than a response may be. */
  readonly data: string | null;
  /** Total as digits, or null unless counted. */
  readonly total: string | null;
  /** Sort keys of the page's last record as JSON text, or null on an empty page. */
  readonly last: string | null;
  /** Whether a record follows the page, or null if the total answers that. */
  readonly more: boolean | null;
  /** Whether all records were counted, for a total that might be stored. */
  readonly isCounted: boolean;
  /** Versions of the records as JSON array text, or null unless requested. */
  readonly versions: string | null;
  /** Cut values as JSON array text, with null or `[[field, length], …]` for each record; null unless requested. */
  readonly cuts: string | null;
  /** Snapshot of the statement (pg_snapshot) and the last position visible in it, or null unless requested. */
  readonly moment: { readonly snapshot: string; readonly position: number } | null;
}

/** The one row of an aggregate. */
export interface AggregateRow {
  /** JSON array text with one object for each group, or null if it would be longer than a response may be. */
  readonly data: string | null;
  /** Number of groups, digits. */
  readonly groups: string;
  /** Number of all records as digits if they were counted for a total that might be stored, else null. */
  readonly recordCount: string | null;
}

export interface RecordRow {
  /** JSON text, or null if it would be, or might be, too long (see selectRecord). */
  readonly data: string | null;
  /** Version of the row. */
  readonly version: string;
}

/** A record that was created or updated. */
export interface WrittenRow {
  readonly id: string;
  readonly data: string;
  readonly version: string;
}

/** A record that was created or existed already. */
export interface UpsertedRow extends WrittenRow {
  readonly isCreated: boolean;
}

export interface DeletedRow {
  readonly id: string;
}

/** Many records that were created or updated. */
export interface WrittenRows {
  /** JSON array text. */
  readonly data: string;
}

/** Many records that were updated. */
export interface ChangedRows extends WrittenRows {
  /** Version of each record as JSON array text, or null unless requested. */
  readonly versions: string | null;
}

/** Many records that were created or existed already. */
export interface UpsertedRows extends WrittenRows {
  readonly inserted: number;
}

export interface DeletedRows {
  readonly count: number;
}

/** Records that a principal with grants has written, or the reasons why nothing was written. */
export interface GrantedRowResult {
  /** JSON array text, or the number of deleted records; null when nothing was written. See also ExistingRecord. */
  readonly data: string | null;
  /** Versions as JSON array text, with null for a record that cannot be read. */
  readonly versions: string | null;
  /** JSON array text of `[item, kind, field]`, or null. */
  readonly problems: string | null;
  /** Bytes of each record of `data`, as JSON array text. */
  readonly sizes: string | null;
}

/**
 * The record that an upsert would change. `id`: null if there is none that the principal can read. `isTaken`: whether
 * a hidden record has the values of the key, where a grant would allow the create. `key`: these values as text.
 */
export type ExistingRecord = readonly [
  item: number,
  id: string | null,
  isTaken: boolean,
  key: readonly (string | null)[],
];

export interface RecordVersionRow {
  readonly id: string;
  readonly version: string;
}

/** A record that matches. `total`: the number of all, if they are more than may be. */
export interface MatchedRow {
  readonly id: string;
  readonly total: number | null;
}

/** A record that is locked until the end of the transaction. */
export interface LockedRow {
  readonly id: string;
  /** JSON text of an object with the fields that were asked for, and `$0`, `$1`, … for copies. */
  readonly data: string;
  /** Time of the transaction, as answers write it. */
  readonly now: string;
}

/** A reference of one of many records without a target. `index`: from 0. */
export interface MissingBulkReference {
  readonly index: number;
  readonly field: string;
}

/** One of many records that others refer to. */
export interface ReferredRow {
  readonly index: number;
}

/** One of many records with a unique conflict: with one of the table, the record `other` of the request, or both. */
export interface UniqueConflictRow {
  readonly index: number;
  readonly other: number | null;
  readonly isThere: boolean;
}

/** A record of the request that gives up unique values. `changed`: a bit for each field, 1 for another value. */
export interface HeldValueRow {
  readonly index: number;
  readonly id: string;
  readonly version: string;
  readonly changed: string;
}

/** A reference of a body to a record that does not exist, or that the principal cannot see. */
export interface MissingReference {
  readonly field: string;
}

/** The number of events among the changes that were looked at. */
export interface FeedCount {
  readonly events: number;
  /** Time of the first event as in answers, or null without any. */
  readonly firstAt: string | null;
  /** Digits of the last position that was looked at, or null if there was no change. */
  readonly pos: string | null;
  /** Whether there may be more changes. */
  readonly isCut: boolean;
}

/** A change as it looks in a view, or with `kind` null what the page has looked at. */
export interface FeedRow {
  /** Position, digits; of the last row the position that was looked at last, or null if there was no change. */
  readonly pos: string | null;
  /** i, u, d, t, b, s, g or x (install/changes). */
  readonly kind: string | null;
  /** Index of the view; of the last row the number of events that there were to show. */
  readonly view: number;
  /** Id of the record; of the last row the position up to which changes may be gone. */
  readonly recordId: string | null;
  /** Time of the transaction as in answers. */
  readonly at: string;
  /** Number of the transaction, and of the change. */
  readonly xid: string;
  readonly seq: string;
  readonly actor: string | null;
  /** Whether the record was in the view before, and is after. */
  readonly before: boolean;
  readonly after: boolean;
  /** JSON text of the record before and after, as far as the view shows it. */
  readonly old: string | null;
  readonly new: string | null;
  /** JSON text of the names of fields that differ. */
  readonly changed: string | null;
  /** JSON text of the fields in `changed` before. */
  readonly previous: string | null;
  /** Mark of the record as the change left it; null without a record, and for changes that were restored. */
  readonly version: string | null;
  /** JSON array of the columns that had another type, so that their values are not known; null: none. */
  readonly unknown: string | null;
  /** JSON array of the columns that the record then had, of one entry of a history alone. */
  readonly columns: string | null;
  /** Whether there may be more changes than the page has looked at; in the last row alone. */
  readonly isCut: boolean;
}
