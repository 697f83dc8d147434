// Runs a request again with a newer snapshot of its workspace, and knows which snapshots requests in flight were planned by,
// so that a migration can tell when nobody uses an old name any more.

import { isLockTimeout, isStaleSnapshot, StaleStatement, translateStatementError } from '../database/errors.ts';
import type { Executor } from '../database/executor.ts';
import type { Workspace } from '../model/workspace.ts';
import { admit } from '../plan/plan.ts';
import type { Call } from '../request/call.ts';
import { OPERATIONS } from '../request/operations.ts';
import type { WorkspaceCache } from '../store/workspace-cache.ts';
import { hasChanged, type RequestContext } from './context.ts';
import { isBySchema } from './errors.ts';

export interface SnapshotRetry {
  /**
   * Runs `work` for the context, and again with a newer snapshot
   * - after a refusal that names what the schema has or allows, when the schema has changed since;
   * - when PostgreSQL knew a name no more, or the schema was replaced while the statement waited, a few times at most.
   * In a transaction it runs once: what was done there before is gone, so whoever began the transaction plans all of it again.
   * A call that waited for a lock too long is refused by the gate that was closed meanwhile, if there is one.
   */
  readonly run: <T>(
    context: RequestContext,
    attempt: Attempt,
    work: (context: RequestContext) => Promise<T>,
  ) => Promise<T>;
  /** Requests in flight: by workspace id, the oldest version that one of them was planned by. */
  readonly oldestInFlight: () => ReadonlyMap<string, string>;
}

export interface Attempt {
  readonly executor: Executor;
  /** undefined: there are several, which are authorized one by one. */
  readonly call?: Call;
}

// A schema that changes more often than this while one request waits is the reason of its refusal.
const MAX_RETRIES = 3;

export function makeSnapshotRetry(cache: WorkspaceCache): SnapshotRetry {
  const inFlight = new Map<Workspace, number>();

  function release(workspace: Workspace): void {
    const remaining = (inFlight.get(workspace) ?? 0) - 1;
    if (remaining > 0) inFlight.set(workspace, remaining);
    else inFlight.delete(workspace);
  }

  return {
    async run(context, { executor, call }, work) {
      // An import reads its body once, so the snapshot is compared before instead of after.
      const isImport = call?.operation === 'import';
      // Transfers may take an hour; they hold their tables and compare the version before they use a name.
      const isTransfer = isImport || call?.operation === 'export';
      let current = isImport && (await hasChanged(cache, context.workspace)) ? await context.refresh() : context;
      for (let retries = 0; ; ) {
        const { workspace } = current;
        if (!isTransfer) inFlight.set(workspace, (inFlight.get(workspace) ?? 0) + 1);
        try {
          return await work(current);
        } catch (error) {
          if (call !== undefined && isLockTimeout(error)) {
            const latest = await context.refresh();
            admit(latest.workspace, latest.principal, call.entity, OPERATIONS[call.operation].access);
          }
          if (executor.isTransaction) throw error;
          const isSchemaError = isBySchema(error) && !isImport;
          if (!(isSchemaError && (await hasChanged(cache, workspace)))) {
            if (!isStaleSnapshot(error)) throw error;
            if (retries++ === MAX_RETRIES) throw translateStatementError(error);
            // What was only not confirmed is compared; PostgreSQL's word is newer than any comparison.
            if (!(error instanceof StaleStatement) && !cache.isReplaced(workspace)) cache.invalidate(workspace.id);
          }
          current = await context.refresh();
        } finally {
          if (!isTransfer) release(workspace);
        }
      }
    },
    oldestInFlight() {
      const oldest = new Map<string, string>();
      for (const { id, version } of inFlight.keys()) {
        const other = oldest.get(id);
        if (other === undefined || BigInt(version) < BigInt(other)) oldest.set(id, version);
      }
      return oldest;
    },
  };
}
