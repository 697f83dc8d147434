// Renames tables and columns to the names of the document, a moment after a migration. Each renaming takes milliseconds
// and uses short lock timeouts; requests that conflict with one are planned again. The process that ran the migration
// does it, or the sweep of any other process.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Session } from '../database/pool.ts';
import {
  executeEach,
  inTransaction,
  isLockConflict,
  LOCK_BUDGET_MS,
  lockTable,
  takeLocks,
} from '../database/transaction.ts';
import type { Entity } from '../model/entity.ts';
import type { PhysicalNames } from '../model/physical-name.ts';
import { buildEntities } from '../schema/entities.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';
import type { Databases } from '../store/databases.ts';
import {
  loadUnfinalizedWorkspaces,
  loadWorkspaceRow,
  type ReleasedName,
  type StoredWorkspace,
  storeNames,
} from '../store/documents.ts';
import { type ChangeNote, keepChanges, noteChanges } from '../workspace-schema/record-changes.ts';
import { renameTotal } from '../workspace-schema/totals.ts';
import { rename } from './ddl.ts';
import {
  finalizeNames,
  findReleasedKeys,
  findRenamings,
  findReservedNames,
  type RenamedTable,
  type Renaming,
} from './names.ts';
import { toKeptChanges } from './operations/record-changes.ts';
import type { Sessions } from './workspace-lock.ts';

export interface RenameFinalizerOptions {
  readonly databases: Databases;
  readonly sessions: Sessions;
  readonly changed: (workspaceId: string) => void;
  readonly onError: (message: string, error: unknown) => void;
  /** Resolves when every process uses the committed state. */
  readonly invalidateAll: () => Promise<unknown>;
  /** Returns whether all requests have ended that were planned by an older version of the workspace. */
  readonly isDrained: (workspaceId: string, version: string) => Promise<boolean>;
  /** The longest time that such a request can take. */
  readonly forgottenAfterMs: number;
}

export interface RenameFinalizer {
  /** Schedules renaming, in the background, after the names of a workspace have changed. */
  readonly schedule: (workspaceId: string) => void;
  /** Finds workspaces whose names differ from those of their documents, whichever process changed them. */
  readonly sweep: () => Promise<void>;
}

// By then every process uses the new document, so a request is planned again only once: for the document or for the
// names.
const AFTER_CHANGE_MS = 1500;
const RETRY_DELAY_MS = 500;
// Limits the pause for a lock that is never free, or a foreign object that has the name.
const LONGEST_PAUSE_MS = 60_000;
// Workspaces per sweep; a sweep comes every 5 s.
const MAX_WORKSPACES = 20;
const NO_NAMES: ReadonlySet<string> = new Set();

/** Time of the next check of a workspace, and its consecutive failures. */
interface ScheduledCheck {
  readonly due: number;
  readonly failures: number;
}

export function makeRenameFinalizer(options: RenameFinalizerOptions): RenameFinalizer {
  const { databases, sessions, changed, onError, invalidateAll, isDrained, forgottenAfterMs } = options;
  const queue = new Map<string, ScheduledCheck>();
  let isWorking = false;

  function enqueue(workspaceId: string, afterMs: number, failures = 0): void {
    queue.set(workspaceId, { due: performance.now() + afterMs, failures });
    void processQueue();
  }

  /** Processes one workspace after the other. */
  async function processQueue(): Promise<void> {
    if (isWorking) return;
    isWorking = true;
    try {
      while (queue.size > 0 && !sessions.isClosing()) {
        const [next] = [...queue].sort(([, a], [, b]) => a.due - b.due) as [[string, ScheduledCheck]];
        const [workspaceId, { due, failures }] = next;
        const remainingMs = due - performance.now();
        if (remainingMs > 0) await sleep(Math.min(remainingMs, 100), undefined, { ref: false });
        else await finalizeOne(workspaceId, failures);
      }
    } finally {
      isWorking = false;
    }
  }

  async function finalizeOne(workspaceId: string, failures: number): Promise<void> {
    try {
      const delayMs = await finalizeWorkspace(workspaceId);
      if (delayMs === undefined) queue.delete(workspaceId);
      else enqueue(workspaceId, delayMs);
    } catch (error) {
      if (!isLockConflict(error) && failures === 0)
        onError('tables or columns could not be renamed to the names in the schema document yet', error);
      enqueue(workspaceId, Math.min(LONGEST_PAUSE_MS, RETRY_DELAY_MS * 2 ** failures), Math.min(failures + 1, 10));
    }
  }

  /** Resolves with the milliseconds until the next check, or undefined when all names are those of the document. */
  async function finalizeWorkspace(workspaceId: string): Promise<number | undefined> {
    const row = await loadWorkspaceRow(databases.forWorkspace({ id: workspaceId }), workspaceId);
    if (row === undefined || hasOwnNames(row)) return undefined;
    const waitMs = AFTER_CHANGE_MS - (row.releasedNames.now - row.releasedNames.changedAt);
    if (waitMs > 0) return waitMs;
    const reserved = await findReserved(row);
    if (computeNextNames(row, reserved) === row.names) return RETRY_DELAY_MS;
    const isDone = await sessions.withLockOnNodes(
      workspaceId,
      async (session) => {
        const now = await loadWorkspaceRow(session, workspaceId);
        // `reserved` is about this version; for a newer version it may be incomplete.
        if (now?.version !== row.version) return false;
        await applyNames(session, now, computeNextNames(now, reserved));
        return true;
      },
      () => false,
    );
    if (isDone) await invalidateAll();
    return isDone ? AFTER_CHANGE_MS : RETRY_DELAY_MS;
  }

  /** Returns the reserved names. Queries other processes only if the result can make a difference. */
  async function findReserved(row: StoredWorkspace): Promise<ReadonlySet<string>> {
    const reserved = findReservedNames(row.releasedNames, forgottenAfterMs);
    const [possible, now] = [NO_NAMES, reserved].map((names) => JSON.stringify(computeNextNames(row, names)));
    if (reserved.size === 0 || possible === now) return reserved;
    const versions = [...reserved].map((key) => BigInt((row.releasedNames.names[key] as ReleasedName).version));
    const newest = versions.reduce((one, other) => (one > other ? one : other));
    return (await isDrained(row.id, newest.toString())) ? NO_NAMES : reserved;
  }

  async function applyNames(session: Session, row: StoredWorkspace, next: PhysicalNames): Promise<void> {
    const { id, document, databaseSchema, names } = row;
    const tables = findRenamings(document, databaseSchema, names, next);
    const entities = (of: PhysicalNames) => buildEntities(document, databaseSchema, of);
    await inTransaction(session, LOCK_BUDGET_MS, async () => {
      const locks = tables.map(({ table }) => table).sort();
      await takeLocks(
        session,
        locks.map((name) => lockTable({ schema: databaseSchema, name }, 'access exclusive')),
      );
      const present = await loadRelationNames(session, databaseSchema);
      for (const table of tables) {
        await executeEach(session, buildStatements(databaseSchema, table, present));
        await noteChanges(session, databaseSchema, toChangeNotes(table));
      }
      // Triggers have the names of the columns that they omit. Other tables are not locked.
      const tableNames = new Set(
        tables.map(({ table, renamings }) => renamings.find(({ kind }) => kind === 'table')?.to ?? table),
      );
      const renamedEntities = [...entities(next).values()].filter(({ table }) => tableNames.has(table.name));
      await executeEach(session, keepOmitted(renamedEntities));
      await session.query(toQuery(storeNames(id, next, findReleasedKeys(entities(names), entities(next)))));
    });
    changed(id);
  }

  return {
    schedule: (workspaceId) => enqueue(workspaceId, AFTER_CHANGE_MS),
    async sweep() {
      for (const database of databases.all()) {
        for (const workspaceId of await loadUnfinalizedWorkspaces(database, MAX_WORKSPACES)) {
          if (!queue.has(workspaceId)) enqueue(workspaceId, 0);
        }
      }
    },
  };
}

const computeNextNames = (
  { document, names, version }: StoredWorkspace,
  reserved: ReadonlySet<string>,
): PhysicalNames => finalizeNames(document, names, reserved, version);

/** Returns whether tables and columns have the names of the document; constraints keep their names. */
const hasOwnNames = ({ names }: StoredWorkspace): boolean =>
  Object.keys(names.tables).length === 0 && Object.keys(names.columns).length === 0;

/** Loads the names of indexes and sequences. */
async function loadRelationNames(session: Session, schema: string): Promise<ReadonlySet<string>> {
  const rows = await session.query<{ name: string }>(
    toQuery(sql`select c.relname as name from pg_class c
where c.relnamespace = (select oid from pg_namespace where nspname = ${schema}) and c.relkind in ('i', 'S')`),
  );
  return new Set(rows.map(({ name }) => name));
}

/** Builds the renamings, without indexes and sequences that were dropped or renamed by SQL. */
function buildStatements(
  schema: string,
  { table, renamings }: RenamedTable,
  present: ReadonlySet<string>,
): readonly Fragment[] {
  const exists = ({ kind, from }: Renaming): boolean => kind === 'table' || kind === 'column' || present.has(from);
  const statements = renamings.filter(exists).map((renaming) => rename({ schema, name: table }, renaming));
  const to = renamings.find(({ kind }) => kind === 'table')?.to;
  return to === undefined ? statements : [...statements, renameTotal({ schema, name: table }, { schema, name: to })];
}

const toChangeNotes = ({ table, renamings }: RenamedTable): readonly ChangeNote[] =>
  renamings
    .filter(({ from, to }) => from !== to)
    .flatMap(({ kind, from, to }): readonly ChangeNote[] => {
      if (kind === 'column') return [{ kind: 'renameColumn', table, column: from, name: to }];
      return kind === 'table' ? [{ kind: 'renameTable', table, name: to }] : [];
    });

/** Builds the statements for entities that keep changes without some of their columns. */
function keepOmitted(entities: readonly Entity[]): readonly Fragment[] {
  return entities.flatMap((entity) => {
    const keptChanges = toKeptChanges(entity);
    return keptChanges === null || keptChanges.omitted.length === 0 ? [] : [keepChanges(entity.table, keptChanges)];
  });
}
