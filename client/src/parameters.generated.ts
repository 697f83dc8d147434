// Generated from the tables in src/request by `npm run generate`.
import type { Filter, Name, Shape, Sort } from './shape.ts';

export interface ListParameters<S extends Shape<S>, E extends keyof S> {
  /** Number of the page, from 0. */
  readonly page?: number;
  /** Records of a page; 20 if not given. */
  readonly size?: number;
  /** `<field>[,asc|desc]`, where `<field>` may be a path over to-one relations. Repeated: by several. */
  readonly sort?: Sort<S, E> | readonly Sort<S, E>[];
  /** Conditions that must all hold. */
  readonly filter?: Filter<S, E>;
  /** Words as people type them: the best match first, unless there is a `sort`. */
  readonly search?: string;
  /** A field: one record for each of its values, the first by `sort`. */
  readonly distinct?: Name<S, E>;
  /** Whether the records are counted: `exact` if not given. */
  readonly count?: 'exact' | 'estimated' | 'none';
  /** `meta.nextCursor` of the page before, with the same sort. Not together with `page`. */
  readonly after?: string;
  /** `meta.versions` has the version of each record. */
  readonly versions?: boolean;
  /** Long values are cut to so many characters; `meta.previews` names them. */
  readonly preview?: number;
  /** `meta.changes` is a cursor of `_changes`, of an export in the header `Changes-Cursor`: it continues where this answer ends. */
  readonly changes?: boolean;
}

export interface NarrowParameters<S extends Shape<S>, E extends keyof S> {
  readonly size?: number;
  readonly sort?: Sort<S, E> | readonly Sort<S, E>[];
  readonly filter?: Filter<S, E>;
  readonly search?: string;
}

export interface AggregateParameters<S extends Shape<S>, E extends keyof S> {
  /** Number of the page, from 0. */
  readonly page?: number;
  /** Conditions that must all hold. */
  readonly filter?: Filter<S, E>;
  /** Words as people type them: the best match first, unless there is a `sort`. */
  readonly search?: string;
  /** Time zone in which days and months begin, such as Europe/Berlin; UTC if not given. */
  readonly tz?: string;
  /** A filter on what `select` names. Repeated: all must hold. */
  readonly having?: readonly string[];
  /** `<name>[,asc|desc]`, by what `select` or `group` names. */
  readonly sort?: string | readonly string[];
  /** Groups of a page; 100 if not given. */
  readonly size?: number;
}

export interface ExportParameters<S extends Shape<S>, E extends keyof S> {
  /** `<field>[,asc|desc]`, where `<field>` may be a path over to-one relations. Repeated: by several. */
  readonly sort?: Sort<S, E> | readonly Sort<S, E>[];
  /** Conditions that must all hold. */
  readonly filter?: Filter<S, E>;
  /** Words as people type them: the best match first, unless there is a `sort`. */
  readonly search?: string;
  /** `meta.changes` is a cursor of `_changes`, of an export in the header `Changes-Cursor`: it continues where this answer ends. */
  readonly changes?: boolean;
  /** Of the file; `csv` if not given. */
  readonly format?: 'csv' | 'ndjson';
  /** Of CSV. `escape`: spreadsheets run no text as a formula. `keep` if not given. */
  readonly formulas?: 'keep' | 'escape';
  /** After each reference a column with the name of its relation: the label of the related record, for people. */
  readonly labels?: boolean;
  /** Columns of the file, in this order; all if not given. */
  readonly fields?: readonly Name<S, E>[];
}

export interface UpsertParameters<N> {
  /** Fields by which a record that is there is found: then it is changed, and none is created. Owners may also name `id`, and give it. */
  readonly onConflict?: N | readonly N[];
  /** With `onConflict`: what becomes of a record that is there; `update` if not given. */
  readonly conflict?: 'update' | 'skip';
}

export interface BulkParameters {
  /** `minimal`: the answer has the ids alone. */
  readonly return?: 'minimal' | 'representation';
  /** Everything is checked and run, and undone. */
  readonly dryRun?: boolean;
}

export interface ImportParameters<N> {
  /** `Header:field,Other:field`: the names of the file. `Header:relation.field` looks a reference up by a unique field of the related entity, `Header:` leaves a column out. */
  readonly map?: Readonly<Record<string, N | `${string}.${string}` | null>>;
  /** What becomes of a record that is there already; `fail` if not given. */
  readonly onConflict?: 'fail' | 'skip' | 'update';
  /** Fields of a unique field or index by which records are found, instead of the id. */
  readonly conflictOn?: N | readonly N[];
  /** Of CSV: `date:dd.MM.yyyy;decimal:1.234,50;boolean:ja/nein`, how the cells write dates, numbers and booleans. */
  readonly formats?: string;
  /** Of an entity that keeps changes: `each`, an event for each row, or `summary`, one event `reset` that tells readers to read the records again, which is quicker. Not with history. `each` if not given. */
  readonly events?: 'each' | 'summary';
  /** Mistakes that are listed before the rest of the file is left unread; 100 if not given. */
  readonly maxErrors?: number;
  /** Everything is checked and run, and undone. */
  readonly dryRun?: boolean;
}
