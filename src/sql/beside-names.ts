// Names of what the platform keeps beside the tables of a workspace, and that statements about records, triggers and changes
// of types use. They lie in the workspace's own PostgreSQL schema, which is whole by that: it can be dumped, moved and
// distributed. The files of install/workspace make them. `$` is in no name of a schema document.
import { type Fragment, keyword, tableRef } from './fragment.ts';

/** Tables and functions, without the `$` that their names begin with. */
export type BesideName =
  /** Kept numbers of records, and what tells, folds and counts them. */
  | 'total'
  | 'total_of'
  | 'is_total_kept'
  | 'fold_totals'
  | 'count_records'
  /** Records that a change of type cannot convert. */
  | 'migration_conflict'
  /** Text as a value of a type. */
  | 'as_bigint'
  | 'as_date'
  | 'as_datetime'
  | 'as_decimal'
  | 'as_float'
  | 'as_integer'
  | 'as_json'
  | 'as_numeric'
  | 'as_uuid'
  /** Values that differ from record to record, for records that are there. */
  | 'uuid_for'
  /** Keys of requests with their answers. */
  | 'idempotency_key'
  /** Tokens of imports, and how an import with such a token has ended. */
  | 'import_outcome'
  | 'settle_import'
  /** Limits of answers. */
  | 'bounded_text'
  | 'goes_on'
  /** Creates that meet a record which is there. */
  | 'reached_id'
  | 'is_whole'
  /** Which files of install/workspace have run in the schema. */
  | 'installed';

/** The table or function as statements name it; `schema`: that of the workspace. */
export const beside = (schema: string, name: BesideName): Fragment => tableRef({ schema, name: `$${name}` });

const INSTALLATION = {
  /** What indexes of words and of parts of texts need: a database has each extension once. */
  use_words: keyword('wda.use_words'),
  leave_words: keyword('wda.leave_words'),
  use_extension: keyword('wda.use_extension'),
  /** What servers of the version before keep, and what takes it over. */
  idempotency_key: keyword('wda.idempotency_key'),
  hand_over_keys: keyword('wda.hand_over_keys'),
  count_records: keyword('wda.count_records'),
} as const;

/** What the installation has for all workspaces. No statement about records and no trigger names it. */
export const installed = (name: keyof typeof INSTALLATION): Fragment => INSTALLATION[name];
