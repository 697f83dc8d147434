// Retries a request with a newer snapshot of its workspace, and tracks the snapshot versions of requests in flight, so
// that a migration knows when no request uses an old name any more.

import { isLockTimeout, isStaleSnapshot, StaleStatement, translateStatementError } from '../database/errors.ts';
import type { Executor } from '../database/pool.ts';
import type { Workspace } from '../model/workspace.ts';
import { admit } from '../plan/plan.ts';
import type { Call } from '../request/call.ts';
import { OPERATIONS } from '../request/operations.ts';
import type { WorkspaceCache } from '../store/workspace-cache.ts';
import { hasChanged, type RequestContext } from './context.ts';
import { isBySchema } from './errors.ts';

export interface SnapshotRetry {
  /**
   * Runs `work` for the context, and retries it with a newer snapshot
   * - after an error that depends on the schema, if the schema has changed since;
   * - when PostgreSQL no longer knew a name, or the schema was replaced while the statement waited, a few times at
   *   most.
   * In a transaction it runs once: earlier statements are rolled back, so the owner of the transaction plans all of it
   * again. A call that waited for a lock too long gets the error of the gate that was closed meanwhile, if there is
   * one.
   */
  readonly run: <T>(
    context: RequestContext,
    attempt: Attempt,
    work: (context: RequestContext) => Promise<T>,
  ) => Promise<T>;
  /** Oldest snapshot version of the requests in flight, by workspace id. */
  readonly oldestInFlight: () => ReadonlyMap<string, string>;
}

export interface Attempt {
  readonly executor: Executor;
  /** The call, or undefined for several calls that are authorized one by one. */
  readonly call?: Call;
}

// A schema that changes more often than this during one request is the reason of its error.
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
      // An import reads its body once, so its snapshot is compared before the work and not after an error.
      const isImport = call?.operation === 'import';
      // Transfers may take an hour; they lock their tables and compare the version before they use a name.
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
            // An error of this process may be due to an old snapshot, which is compared; a StaleStatement of PostgreSQL
            // needs none.
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
