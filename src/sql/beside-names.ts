// Names of what the platform keeps in the database of a workspace beside its tables, and that statements about records,
// triggers and changes of types use. They stand here alone: on a database whose tables are distributed these things have to
// lie with the tables, in the workspace's own PostgreSQL schema, and then the function here takes that schema. The rows of
// install/data make them.
import { type Fragment, keyword } from './fragment.ts';

const NAMES = {
  /** Kept numbers of records, and what tells, folds and counts them. */
  total: keyword('wda.total'),
  total_of: keyword('wda.total_of'),
  is_total_kept: keyword('wda.is_total_kept'),
  fold_totals: keyword('wda.fold_totals'),
  count_records: keyword('wda.count_records'),
  /** Records that a change of type cannot convert. */
  migration_conflict: keyword('wda.migration_conflict'),
  /** Text as a value of a type. */
  as_bigint: keyword('wda.as_bigint'),
  as_date: keyword('wda.as_date'),
  as_datetime: keyword('wda.as_datetime'),
  as_decimal: keyword('wda.as_decimal'),
  as_float: keyword('wda.as_float'),
  as_integer: keyword('wda.as_integer'),
  as_json: keyword('wda.as_json'),
  as_numeric: keyword('wda.as_numeric'),
  as_uuid: keyword('wda.as_uuid'),
  /** Keys of requests with their answers. */
  idempotency_key: keyword('wda.idempotency_key'),
  /** Tokens of imports, and how an import with such a token has ended. */
  import_outcome: keyword('wda.import_outcome'),
  settle_import: keyword('wda.settle_import'),
  /** Limits of answers. */
  bounded_text: keyword('wda.bounded_text'),
  goes_on: keyword('wda.goes_on'),
  /** Creates that meet a record which is there. */
  reached_id: keyword('wda.reached_id'),
  is_whole: keyword('wda.is_whole'),
  /** What indexes of words and of parts of texts need. */
  use_words: keyword('wda.use_words'),
  leave_words: keyword('wda.leave_words'),
  use_extension: keyword('wda.use_extension'),
} as const;

export type BesideName = keyof typeof NAMES;

/** The table or function as statements name it. */
export const beside = (name: BesideName): Fragment => NAMES[name];
