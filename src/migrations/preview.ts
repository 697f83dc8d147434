// Plans a change of a workspace in a transaction of its own that only reads.
import { isStaleSnapshot } from '../database/errors.ts';
import type { Databases } from '../store/databases.ts';
import type { PlannedStep, Strategy } from '../store/migrations.ts';
import { upgradeWorkspaceIn } from '../store/workspace-files.ts';
import { findNode } from '../store/workspaces.ts';
import { type ParseDocument, type PreparedChange, planSteps, prepareChange } from './plan.ts';

// Planning counts the records that make the change impossible, which may read all records.
const PLAN_TIMEOUT_MS = 60_000;

export interface Preview {
  readonly change: PreparedChange;
  /** In the order of the operations, with the records in their way. */
  readonly steps: readonly PlannedStep[];
}

/** Plans a change without making it. Throws as prepareChange(). */
export async function previewChange(
  databases: Databases,
  workspaceId: string,
  strategy: Strategy,
  parse: ParseDocument,
): Promise<Preview> {
  const node = await findNode(databases, workspaceId);
  const plan = (): Promise<Preview> =>
    databases.forWorkspace({ id: workspaceId }).transaction(
      async (session) => {
        const { topology } = databases;
        const change = await prepareChange(session, workspaceId, parse, strategy, { topology });
        return { change, steps: await planSteps(session, change, topology) };
      },
      { readOnly: true, statementTimeoutMs: PLAN_TIMEOUT_MS, purpose: 'migration', tenant: workspaceId, node },
    );
  await upgradeWorkspaceIn(databases, workspaceId);
  // Retries once: a table may be renamed between two statements.
  return plan().catch((error) => (isStaleSnapshot(error) ? plan() : Promise.reject(error)));
}
