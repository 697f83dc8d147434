// Changes of records that are stored in the schema of a workspace: statements that start and end their keeping, for
// migrations and new workspaces. install/changes has the tables, the trigger and the numbering.
import { hasFiles, runFiles } from '../database/install.ts';
import type { Session } from '../database/pool.ts';
import { executeEach } from '../database/transaction.ts';
import { type Fragment, integerLiteral, keyword, literal, sql, type TableName, toQuery } from '../sql/fragment.ts';
import { internalRef } from '../sql/internal-names.ts';

/** Settings of a table that keeps its changes. */
export interface KeptChanges {
  /** Columns that are never stored. */
  readonly omitted: readonly string[];
  /** Whether they are kept as history, beyond the time of feeds. */
  readonly isHistory: boolean;
  /** Days of the history, or null for the default of the installation. */
  readonly historyDays: number | null;
}

/** A note for readers of stored changes, in the transaction that changes the table. */
export type ChangeNote =
  /** The column is dropped: older images lose it. */
  | { readonly kind: 'dropColumn'; readonly table: string; readonly column: string }
  /** The column has another name from now on; `retypeColumn`: and another type, so that older images have no value. */
  | {
      readonly kind: 'renameColumn' | 'retypeColumn';
      readonly table: string;
      readonly column: string;
      readonly name: string;
    }
  | { readonly kind: 'renameTable'; readonly table: string; readonly name: string }
  | { readonly kind: 'dropTable'; readonly table: string }
  /** An event for readers: `fields` is JSON of what happened to the fields. */
  | { readonly kind: 'changeFields'; readonly table: string; readonly fields: string };

/** Creates the tables of changes if the workspace has none, in the transaction of the session. */
export async function installChanges(
  session: Pick<Session, 'query' | 'execute'>,
  schema: string,
  execute = executeEach,
): Promise<void> {
  await runFiles(session, 'changes', schema, execute);
}

/** Makes a table keep its changes, or changes what it keeps. */
export function keepChanges({ schema, name }: TableName, { omitted, isHistory, historyDays }: KeptChanges): Fragment {
  const days = historyDays === null ? keyword('null') : integerLiteral(historyDays);
  return sql`select ${internalRef(schema, 'keep_changes')}(${literal(name)}, ${toTextArray(omitted)}, ${isHistory ? keyword('true') : keyword('false')}, ${days})`;
}

/** Ends the keeping of changes of a table. */
export const endChanges = ({ schema, name }: TableName): Fragment =>
  sql`select ${internalRef(schema, 'drop_changes')}(${literal(name)}, 'off')`;

/** Stores what readers of older changes must know. Does nothing in a workspace that has never kept changes. */
export async function noteChanges(
  session: Pick<Session, 'query'>,
  schema: string,
  notes: readonly ChangeNote[],
): Promise<void> {
  if (notes.length === 0) return;
  if (!(await hasFiles(session, 'changes', schema))) return;
  for (const note of notes) await session.query(toQuery(renderNote(schema, note)));
}

function renderNote(schema: string, note: ChangeNote): Fragment {
  const entities = internalRef(schema, 'changed_entity');
  switch (note.kind) {
    case 'dropColumn':
      return sql`select ${internalRef(schema, 'note_column')}(${note.table}, ${note.column}, null, false)`;
    case 'renameColumn':
    case 'retypeColumn':
      return sql`select ${internalRef(schema, 'note_column')}(${note.table}, ${note.column}, ${note.name}, ${note.kind === 'retypeColumn' ? keyword('true') : keyword('false')})`;
    case 'renameTable':
      return sql`update ${entities} set relation = ${note.name} where relation = ${note.table}`;
    case 'dropTable':
      return sql`select ${internalRef(schema, 'drop_changes')}(${note.table}, 'dropped')`;
    case 'changeFields':
      return sql`insert into ${internalRef(schema, 'change')} (entity, kind, new)
select number, 's', ${note.fields}::json from ${entities} where relation = ${note.table} and is_kept`;
    default:
      return note satisfies never;
  }
}

const toTextArray = (texts: readonly string[]): Fragment =>
  sql`${literal(`{${texts.map((text) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`).join()}}`)}::text[]`;
