// Writes audit entries of requests: a handler writes one in the transaction of its change.
import type { Database, Transaction } from '../database/pool.ts';
import type { Sender } from '../model/principal.ts';
import {
  type Activity,
  type Actor,
  type AuditContext,
  insertActivity,
  loadActor,
  type WriteActivity,
} from '../store/activity.ts';
import { findWorkspaceById } from '../store/workspaces.ts';

/** Name of the changed resource, and details without secrets. */
export type AuditEntry = Pick<Activity, 'subject'> & Partial<Pick<Activity, 'organization' | 'entity' | 'details'>>;

/** Audit log for the handler of one request. */
export interface Audit {
  /** Runs a change of the directory and writes its entry in one transaction, which rolls back both when it throws. */
  readonly change: <T>(
    work: (session: Transaction, actor: Actor) => Promise<T>,
    describe: (result: T) => AuditEntry,
  ) => Promise<T>;
  /** Prepares the entry of a change that runs in another transaction. */
  readonly prepare: (entry: AuditEntry) => Promise<AuditContext>;
}

/** Principal and path of a request, which all of its entries have. */
interface Request extends Pick<Activity, 'organization' | 'workspace'> {
  readonly principal: Sender;
}

/** Creates the audit log of a request. `isUsed`: whether the handler has used the log, which each change must. */
export function createAudit(
  directory: Database,
  action: string,
  request: Request,
): { readonly audit: Audit; readonly isUsed: () => boolean } {
  let isUsed = false;

  async function createEntryWriter(): Promise<{
    readonly actor: Actor;
    readonly write: (entry: Partial<Activity>) => WriteActivity;
  }> {
    isUsed = true;
    const actor = await loadActor(directory, request.principal);
    const common = { actor, action, ...(await findScope(directory, request)), entity: null, subject: '', details: {} };
    return {
      actor,
      write:
        (entry) =>
        (session, extra = {}) =>
          insertActivity(session, { ...common, ...entry, ...extra, details: { ...entry.details, ...extra.details } }),
    };
  }

  const audit: Audit = {
    async prepare(entry) {
      const { actor, write } = await createEntryWriter();
      return { actor, write: write(entry) };
    },
    async change(work, describe) {
      const { actor, write } = await createEntryWriter();
      return directory.transaction(async (session) => {
        const result = await work(session, actor);
        await write(describe(result))(session);
        return result;
      });
    },
  };
  return { audit, isUsed: () => isUsed };
}

/**
 * Returns organization and workspace of the path. If the path of an owner's request has none, it is the owner's workspace,
 * so that its owners can read the entry.
 */
async function findScope(
  directory: Database,
  { principal, organization, workspace }: Request,
): Promise<Pick<Activity, 'organization' | 'workspace'>> {
  if (organization !== null || !('workspaceId' in principal)) return { organization, workspace };
  const ownWorkspace = await findWorkspaceById(directory, principal.workspaceId);
  return { organization: ownWorkspace?.organization ?? null, workspace: ownWorkspace ?? null };
}
