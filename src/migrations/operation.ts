// One change of a schema as a value: its description and its statements. The files in operations/ build operations, one
// file for each kind of change.
import type { Fragment } from '../sql/fragment.ts';
import type { TableLocks } from '../topology/topology.ts';
import type { ChangeNote } from '../workspace-schema/record-changes.ts';
import type { Stripe } from './ddl.ts';

export type OperationKind =
  | 'createEntity'
  | 'dropEntity'
  | 'addField'
  | 'dropField'
  | 'addRelation'
  | 'dropRelation'
  | 'changeRelation'
  | 'renameEntity'
  | 'renameField'
  | 'renameRelation'
  | 'changeType'
  | 'setRequired'
  | 'liftRequired'
  | 'addCheck'
  | 'changeCheck'
  | 'dropCheck'
  | 'addIndex'
  | 'dropIndex'
  | 'addUnique'
  | 'dropUnique'
  | 'setDefault'
  | 'changeDescription'
  | 'changeSettings'
  | 'changeRowRules'
  | 'changeGrants'
  | 'changeRoles'
  | 'keepChanges'
  | 'dropChanges';

/**
 * Order of statements. The first five phases prepare objects that no request sees yet: tables, references between them,
 * columns, their values, and slow work on tables with records. The others belong to the switch to the new document, in
 * its transaction.
 */
export const PHASES = ['create', 'link', 'column', 'fill', 'build', 'detach', 'drop', 'attach'] as const;
export type Phase = (typeof PHASES)[number];
export const isPreparing = (phase: Phase): boolean => PHASES.indexOf(phase) < PHASES.indexOf('detach');

/** Statements that read and fill a table in batches, in the order of ids. */
export interface Batch {
  readonly next: (after: string, size: number) => Fragment;
  readonly fill: (stripe: Stripe) => Fragment;
}

/**
 * A DDL statement. `transaction`: shares one transaction with others. `own`: has a transaction of its own. `none`: runs
 * outside of any (CONCURRENTLY).
 */
export interface Ddl {
  readonly phase: Phase;
  readonly within: 'transaction' | 'own' | 'none';
  readonly sql: Fragment;
}

/** Fills records in the order of their ids, with one transaction for each batch. Runs only before the switch. */
export interface BatchStatement {
  readonly phase: 'fill';
  readonly within: 'batches';
  readonly batch: Batch;
}

export type Statement = Ddl | BatchStatement;

/** Locks that the statements of an operation take on existing tables of PostgreSQL; `exclusive` blocks reads, too. */
export interface TableLock {
  readonly table: string;
  readonly mode: 'access exclusive' | 'share row exclusive';
}

/** Tables that a lock request waits for; `exclusive` waits for readers, too. */
export type LockRequest = TableLocks;

/** A new object in the PostgreSQL schema of the workspace. */
export type TemporaryObject =
  | { readonly kind: 'table'; readonly table: string }
  | { readonly kind: 'column'; readonly table: string; readonly column: string }
  | { readonly kind: 'index'; readonly table: string; readonly index: string }
  | { readonly kind: 'constraint'; readonly table: string; readonly constraint: string }
  /** The function of search indexes; it stays while another index uses it. */
  | { readonly kind: 'words'; readonly table: string }
  /** A default that is set before the switch; `undo` is the statement that restores the previous one. */
  | { readonly kind: 'default'; readonly table: string; readonly undo: string }
  /** A function with its triggers, and the conflicts that its trigger recorded for `subject`. */
  | { readonly kind: 'sync'; readonly table: string; readonly name: string; readonly subject: string };

/** Query for records that make the operation impossible. It returns one row: `count` and `ids` (the first ten). */
export interface ConflictCheck {
  readonly field: string;
  /** `there are records without …`: completes "N records stand in the way: ". */
  readonly reason: string;
  readonly query: Fragment;
  /** False while the columns that it reads do not exist. */
  readonly canRun: boolean;
}

export interface Operation {
  readonly kind: OperationKind;
  readonly entity: string;
  /** Path of the change in the document. */
  readonly path: string;
  readonly description: string;
  readonly destructive: boolean;
  /** For a change of grants: whether it opens the entity to every user. */
  readonly opens?: boolean;
  /** For a change of grants: the new ones as sentences. */
  readonly grants?: readonly string[];
  /** Cost of the operation: none, a scan of the table, an index build, or a rewrite of every record. */
  readonly work: 'none' | 'scan' | 'index' | 'rewrite';
  readonly statements: readonly Statement[];
  /** Whether its preparing statements run before the switch; otherwise they are part of it. */
  readonly runsBeforeSwitch: boolean;
  /** Objects that its preparing statements create, and that are dropped when the migration ends without the switch. */
  readonly temporaryObjects: readonly TemporaryObject[];
  readonly locks: readonly TableLock[];
  /** Notes for readers of stored changes, written in the transaction of the switch. */
  readonly changeNotes: readonly ChangeNote[];
  readonly conflictCheck: ConflictCheck | null;
  /** Check for records that became conflicting while the change was prepared; it runs under the locks of the switch. */
  readonly lateConflictCheck: ConflictCheck | null;
}

const DEFAULTS = {
  destructive: false,
  work: 'none',
  statements: [],
  runsBeforeSwitch: false,
  temporaryObjects: [],
  locks: [],
  changeNotes: [],
  conflictCheck: null,
  lateConflictCheck: null,
} as const;

/** Builds an operation; members that are empty for most operations have defaults. */
export function buildOperation(
  parts: Pick<Operation, 'kind' | 'entity' | 'path' | 'description'> & Partial<Operation>,
): Operation {
  return { ...DEFAULTS, ...parts };
}

export const inSharedTransaction = (phase: Phase, sql: Fragment): Statement => ({ phase, sql, within: 'transaction' });
export const inOwnTransaction = (phase: Phase, sql: Fragment): Statement => ({ phase, sql, within: 'own' });
export const outsideTransaction = (phase: Phase, sql: Fragment): Statement => ({ phase, sql, within: 'none' });
export const inBatches = (batch: Batch): Statement => ({ phase: 'fill', within: 'batches', batch });
export const lockExclusive = (table: string): TableLock => ({ table, mode: 'access exclusive' });
export const lockShared = (table: string): TableLock => ({ table, mode: 'share row exclusive' });
