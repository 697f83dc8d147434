// Names of what the platform keeps beside the tables of a workspace, and that statements about records, triggers and changes
// of types use. They lie in the workspace's own PostgreSQL schema, which is whole by that: it can be dumped, moved and
// distributed. The files of install/workspace make them. `$` is in no name of a schema document.
import type { EntityTable } from '../model/entity.ts';
import { type Fragment, keyword, tableRef } from './fragment.ts';

/** Tables and functions, without the `$` that their names begin with. */
export type InternalName =
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
  | 'is_whole';

/** The table or function as statements name it; `schema`: that of the workspace. */
export const internalRef = (schema: string, name: InternalName): Fragment => tableRef({ schema, name: `$${name}` });

/** What keeps totals of a workspace: a table, and functions that name it. */
export const TOTAL_OBJECTS = ['total', 'total_of', 'count_records', 'is_total_kept', 'fold_totals'] as const;

/** Where the totals of a workspace are kept: in its schema, or on a node of a cluster in a shard of its tables. */
export type TotalLocation = Pick<EntityTable, 'schema' | 'total'>;

/** The table or function; on a node with the number of the shard of the table, as functions are made there for it. */
export const totalRef = ({ schema, total }: TotalLocation, name: (typeof TOTAL_OBJECTS)[number]): Fragment =>
  total === undefined ? internalRef(schema, name) : tableRef({ schema, name: `$${name}_${total.shard}` });

/**
 * What the bases of totals call a table. On a node with the number of the node, as a move takes rows of totals along, and tables
 * of two nodes may have the same oid: a base of another node is nobody's.
 */
export const getTotalKey = ({ name, total }: Pick<EntityTable, 'name' | 'total'>): string =>
  total === undefined ? name : `${name}@${total.group}`;

const INSTALLATION = {
  /** What indexes of words and of parts of texts need: a database has each extension once. */
  use_words: keyword('wda.use_words'),
  leave_words: keyword('wda.leave_words'),
  use_extension: keyword('wda.use_extension'),
} as const;

/** What the installation has for all workspaces. No statement about records and no trigger names it. */
export const installedRef = (name: keyof typeof INSTALLATION): Fragment => INSTALLATION[name];
