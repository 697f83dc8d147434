// Names of the platform's internal tables and functions in a workspace, for statements about records, triggers and
// changes of types. They lie in the workspace's own PostgreSQL schema, so that the schema is complete: it can be
// dumped, moved and distributed. The files of install/workspace create them. `$` is in no name of a schema document.
import type { EntityTable } from '../model/entity.ts';
import { type Fragment, keyword, tableRef } from './fragment.ts';

/** Tables and functions, without the `$` that their names begin with, and functions without the end of their names. */
export type InternalName = InternalTable | (typeof FUNCTIONS)[number];

type InternalTable =
  /** Stored numbers of records. */
  | 'total'
  /** Records that a change of type cannot convert. */
  | 'migration_conflict'
  /** Idempotency keys of requests with their responses. */
  | 'idempotency_key'
  /** Tokens of imports. */
  | 'import_outcome'
  /** Changes of records. */
  | 'change'
  | 'change_position'
  | 'change_progress'
  | 'change_seq'
  | 'changed_column'
  | 'changed_entity';

const FUNCTIONS = [
  // Update, fold and count stored numbers of records.
  'total_of',
  'is_total_kept',
  'fold_totals',
  'count_records',
  // Convert text to a type.
  'as_bigint',
  'as_date',
  'as_datetime',
  'as_decimal',
  'as_float',
  'as_integer',
  'as_json',
  'as_numeric',
  'as_uuid',
  // Makes values that differ from record to record, for existing records.
  'uuid_for',
  // Resolves the outcome of an import.
  'settle_import',
  // Start, end, number and read changes of records.
  'locate_changes',
  'keep_changes',
  'merge_changes',
  'drop_changes',
  'note_column',
  'number_changes',
  'watch_triggers',
  'repair_triggers',
  'rename_image',
  // Limit responses.
  'bounded_text',
  'goes_on',
  // Serve creates that find an existing record.
  'reached_id',
  'is_whole',
] as const;

const FUNCTION_NAMES: ReadonlySet<string> = new Set(FUNCTIONS);

/**
 * Renders a function of a workspace, whose name ends with the beginning of its schema: `ws7_shop."$goes_on_ws7"`. PostgreSQL
 * looks a function up by its name alone, among those of all schemas. With one name in 9,000 workspaces, each statement that
 * was prepared after a change of any function took 115 ms more, and each backend 10 MB for each name.
 */
export const internalFunction = (schema: string, name: string): Fragment =>
  tableRef({ schema, name: `$${name}_${schema.split('_', 1)[0]}` });

/** Renders the table or function for statements; `schema`: that of the workspace. */
export const internalRef = (schema: string, name: InternalName): Fragment =>
  FUNCTION_NAMES.has(name) ? internalFunction(schema, name) : tableRef({ schema, name: `$${name}` });

/** First number of advisory locks on objects of a workspace, as in install/workspace. */
export const LOCK_CLASS = 0x776461;

/** Objects for totals of a workspace: a table, and functions that name it. */
export const TOTAL_OBJECTS = ['total', 'total_of', 'count_records', 'is_total_kept', 'fold_totals'] as const;

/** Location of the totals of a workspace: its schema, or on a node of a cluster a shard of its tables. */
export type TotalLocation = Pick<EntityTable, 'schema' | 'total'>;

/** Renders the table or function; on a node with the number of the table's shard, for which it was created. */
export const totalRef = ({ schema, total }: TotalLocation, name: (typeof TOTAL_OBJECTS)[number]): Fragment =>
  total === undefined ? internalRef(schema, name) : tableRef({ schema, name: `$${name}_${total.shard}` });

/**
 * Returns the key of a table in rows of totals. On a node it includes the number of the node, as a move copies rows of
 * totals, and tables of two nodes may have the same oid: bases of another node are ignored.
 */
export const getTotalKey = ({ name, total }: Pick<EntityTable, 'name' | 'total'>): string =>
  total === undefined ? name : `${name}@${total.group}`;

const INSTALLATION = {
  /** Functions for indexes of words and of substrings: a database has each extension once. */
  use_words: keyword('wda.use_words'),
  leave_words: keyword('wda.leave_words'),
  use_extension: keyword('wda.use_extension'),
} as const;

/** Renders an object of the installation, for all workspaces. No statement about records and no trigger names it. */
export const installedRef = (name: keyof typeof INSTALLATION): Fragment => INSTALLATION[name];
