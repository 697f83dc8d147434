// Upgrades the PostgreSQL schema of a workspace to the last file of install/workspace: when its snapshot is loaded,
// when its schema document is changed, and in the background soon after the start.
import { getLastFile, runFiles } from '../database/install.ts';
import type { Session } from '../database/pool.ts';
import { inTransaction } from '../database/transaction.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';
import type { Databases } from './databases.ts';

/** Builds a condition: the schema of the workspace `w` has run the last file. */
export const isUpToDate = (): Fragment => sql`exists (
  select from wda.installed i where i.schema = w.database_schema and i.folder = 'workspace' and i.name = ${getLastFile('workspace')})`;

// A file may change a table with the records of a workspace of any size.
const STATEMENT_TIMEOUT = sql`set local statement_timeout = '600s'`.text;
const WORKSPACES_PER_RUN = 20;
const PAUSE_MS = 1000;
// Pause without work: only a process of an older version could still create a workspace that lacks files.
const IDLE_PAUSE_MS = 3_600_000;

/** Returns whether the workspace exists and lacks files. */
async function isOutdated(db: Pick<Session, 'query'>, id: string): Promise<boolean> {
  const rows = await db.query(
    toQuery(sql`select from wda.workspace w where w.id = ${id}::bigint and not ${isUpToDate()}`),
  );
  return rows.length > 0;
}

/** Runs the files that the schema of the workspace lacks; does nothing if the workspace does not exist. */
export async function upgradeWorkspace(session: Session, id: string): Promise<void> {
  if (!(await isOutdated(session, id))) return;
  await inTransaction(session, 0, async () => {
    await session.execute(STATEMENT_TIMEOUT);
    // The row lock keeps other sessions from dropping the schema.
    const [workspace] = await session.query<{ schema: string }>(
      toQuery(sql`select database_schema as schema from wda.workspace where id = ${id}::bigint for key share`),
    );
    if (workspace !== undefined) await runFiles(session, 'workspace', workspace.schema);
  });
}

/**
 * Upgrades a workspace in a session of its own, which is taken only if the workspace lacks files: the sessions may all wait
 * for a silent node. 503 while a node is silent, as the coordinator makes a function on all of them.
 */
export async function upgradeWorkspaceIn(databases: Databases, id: string): Promise<void> {
  const db = databases.forWorkspace({ id });
  if (!(await isOutdated(db, id))) return;
  const node = databases.topology.everyNode;
  await db.session((session) => upgradeWorkspace(session, id), { purpose: 'migration', tenant: id, node });
}

export interface WorkspaceUpgrades {
  /** Upgrades some of the workspaces that lack files. */
  run(): Promise<void>;
  /** Milliseconds until the next run: fewer while there are workspaces left. */
  pauseMs(): number;
}

/** Upgrades all workspaces of a database, some at a time; none while a node of a cluster is silent. */
export function makeWorkspaceUpgrades(databases: Databases): WorkspaceUpgrades {
  let isComplete = false;
  return {
    async run() {
      if (databases.topology.everyNode?.isUnavailable() === true) return;
      const outdated = await databases.directory.query<{ id: string }>(
        toQuery(
          sql`select w.id from wda.workspace w where not ${isUpToDate()} order by w.id limit ${String(WORKSPACES_PER_RUN)}::int8`,
        ),
      );
      for (const { id } of outdated) await upgradeWorkspaceIn(databases, id);
      isComplete = outdated.length < WORKSPACES_PER_RUN;
    },
    pauseMs: () => (isComplete ? IDLE_PAUSE_MS : PAUSE_MS),
  };
}
