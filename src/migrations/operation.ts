// One change of a schema as a value: what it says to people, and the statements that make it true. Operations are made
// by the files in operations/, one for each kind of change.
import type { Fragment } from '../sql/fragment.ts';
import type { TableLocks } from '../topology/topology.ts';
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
  | 'changeRowRules';

/**
 * When a statement runs. The first five prepare what no request sees yet: tables, the links between them, columns, the
 * values of those, and what takes long on tables with records. The others belong to the switch to the new document, in
 * its transaction.
 */
export const PHASES = ['create', 'link', 'column', 'fill', 'build', 'detach', 'drop', 'attach'] as const;
export type Phase = (typeof PHASES)[number];
export const isPreparing = (phase: Phase): boolean => PHASES.indexOf(phase) < PHASES.indexOf('detach');

/** Records of a table in the order of their ids, a few at a time. */
export interface Batch {
  readonly next: (after: string, size: number) => Fragment;
  readonly fill: (stripe: Stripe) => Fragment;
}

/**
 * A piece of DDL. `transaction`: with others in one. `own`: a transaction of its own. `none`: outside of any (CONCURRENTLY).
 */
export interface Ddl {
  readonly phase: Phase;
  readonly within: 'transaction' | 'own' | 'none';
  readonly sql: Fragment;
}

/** Fills records in the order of their ids, one transaction for each batch. Only before the switch. */
export interface BatchStatement {
  readonly phase: 'fill';
  readonly within: 'batches';
  readonly batch: Batch;
}

export type Statement = Ddl | BatchStatement;

/** Locks that the statements of an operation take on tables (in PostgreSQL) that exist already; `exclusive` blocks reads, too. */
export interface TableLock {
  readonly table: string;
  readonly mode: 'access exclusive' | 'share row exclusive';
}

/** Tables that are waited for; `exclusive`: even readers are in the way. */
export type LockRequest = TableLocks;

/** Something new in the PostgreSQL schema of the workspace. */
export type TemporaryObject =
  | { readonly kind: 'table'; readonly table: string }
  | { readonly kind: 'column'; readonly table: string; readonly column: string }
  | { readonly kind: 'index'; readonly table: string; readonly index: string }
  | { readonly kind: 'constraint'; readonly table: string; readonly constraint: string }
  /** The function of search indexes; it stays while another index has it. */
  | { readonly kind: 'words'; readonly table: string }
  /** A default that is set before the switch; `undo` is the statement that brings back the one before. */
  | { readonly kind: 'default'; readonly table: string; readonly undo: string }
  /** A function with its triggers, and what its trigger noted about `subject`. */
  | { readonly kind: 'sync'; readonly table: string; readonly name: string; readonly subject: string };

/** Records that make the operation impossible. The query gives one row: `count` and `ids` (the first ten). */
export interface ConflictCheck {
  readonly field: string;
  /** `there are records without …`: completes "N records stand in the way: ". */
  readonly reason: string;
  readonly query: Fragment;
  /** False while the columns it looks at do not exist. */
  readonly canRun: boolean;
}

export interface Operation {
  readonly kind: OperationKind;
  readonly entity: string;
  /** Where the change stands in the document. */
  readonly path: string;
  readonly description: string;
  readonly destructive: boolean;
  /** What its duration depends on: nothing, one look at every record, an index over them, or writing them all anew. */
  readonly work: 'none' | 'scan' | 'index' | 'rewrite';
  readonly statements: readonly Statement[];
  /** Whether its preparing statements run before the switch; otherwise they are part of it. */
  readonly runsBeforeSwitch: boolean;
  /** What its preparing statements make, and what goes again when the migration ends without the switch. */
  readonly temporaryObjects: readonly TemporaryObject[];
  readonly locks: readonly TableLock[];
  readonly conflictCheck: ConflictCheck | null;
  /** Records that came to stand in the way while the change was prepared; looked for under the locks of the switch. */
  readonly lateConflictCheck: ConflictCheck | null;
}

const DEFAULTS = {
  destructive: false,
  work: 'none',
  statements: [],
  runsBeforeSwitch: false,
  temporaryObjects: [],
  locks: [],
  conflictCheck: null,
  lateConflictCheck: null,
} as const;

/** An operation from what is special about it; most members are empty for most operations. */
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
