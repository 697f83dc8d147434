// What the statement of a plan gives, row by row: sql/ reads rows into these, records/ and response/ use them by name.

/** One row of a page statement. */
export interface PageRow {
  /** JSON array text; null when it would be longer than an answer may be. */
  readonly data: string | null;
  /** Digits; null unless counted. */
  readonly total: string | null;
  /** Sort keys of the page's last record as JSON text; null on an empty page. */
  readonly last: string | null;
  /** True when there is a record after the page; null when the total tells. */
  readonly more: boolean | null;
  /** True when all records were counted, for a total that might be kept. */
  readonly isCounted: boolean;
  /** JSON array text: the versions of the records; null unless asked for. */
  readonly versions: string | null;
  /** JSON array text: of each record null, or `[[field, length], …]` of the values that were cut; null unless asked for. */
  readonly cuts: string | null;
}

/** The one row of an aggregate. */
export interface AggregateRow {
  /** JSON array text, one object a group; null when it would be longer than an answer may be. */
  readonly data: string | null;
  /** Number of groups, digits. */
  readonly groups: string;
  /** Number of all records, digits, when they were counted for a total that might be kept; else null. */
  readonly recordCount: string | null;
}

export interface RecordRow {
  /** JSON text; null when it would be too long, or might be (see selectRecord). */
  readonly data: string | null;
  /** The row's version. */
  readonly version: string;
}

/** A record that was created or updated. */
export interface WrittenRow {
  readonly id: string;
  readonly data: string;
  readonly version: string;
}

/** A record that was created, or was there already. */
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
  /** JSON array text, a version for each record; null when it was not asked for. */
  readonly versions: string | null;
}

/** Many records that were created, or were there already. */
export interface UpsertedRows extends WrittenRows {
  readonly inserted: number;
}

export interface DeletedRows {
  readonly count: number;
}

export interface RecordVersionRow {
  readonly id: string;
  readonly version: string;
}

/** A reference of one of many records that leads nowhere. `index`: from 0. */
export interface MissingBulkReference {
  readonly index: number;
  readonly field: string;
}

/** One of many records that others refer to. */
export interface ReferredRow {
  readonly index: number;
}

/** One of many records whose values are taken: by a record of the table, by the record `other` of the request, or both. */
export interface UniqueConflictRow {
  readonly index: number;
  readonly other: number | null;
  readonly isThere: boolean;
}

/** A reference of a body to a record that does not exist, or that the principal cannot see. */
export interface MissingReference {
  readonly field: string;
}
