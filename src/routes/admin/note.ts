// What the handler of a route writes an activity by, in the transaction of its change.
import type { Database, Transaction } from '../../db/pool.ts';
import {
  type Activity,
  type Actor,
  actorOf,
  insertActivity,
  type Noted,
  type WriteActivity,
} from '../../directory/activity.ts';
import { findWorkspaceById } from '../../directory/workspaces.ts';
import type { Principal } from '../../model/principal.ts';

/** What is told of a change: its subject by name, and what else there is to say, without secrets. */
export type Told = Pick<Activity, 'subject'> & Partial<Pick<Activity, 'organization' | 'entity' | 'details'>>;

/** Of one request: what it does is written by one of these. */
export interface Note {
  /** Runs a change of the directory in a transaction with what is told of it. When it throws nothing is left of both. */
  readonly change: <T>(work: (session: Transaction, actor: Actor) => Promise<T>, told: (done: T) => Told) => Promise<T>;
  /** For a change whose transaction is begun elsewhere. */
  readonly ahead: (told: Told) => Promise<Noted>;
}

/** Who asks, and where: what all that the request does has in common. */
interface Request extends Pick<Activity, 'organization' | 'workspace'> {
  readonly principal: Principal;
}

/** `isUsed`: whether the handler has asked for one, as it must of a change. */
export function makeNote(
  directory: Database,
  action: string,
  request: Request,
): { readonly note: Note; readonly isUsed: () => boolean } {
  let isUsed = false;

  async function begin(): Promise<{
    readonly actor: Actor;
    readonly write: (told: Partial<Activity>) => WriteActivity;
  }> {
    isUsed = true;
    const actor = await actorOf(directory, request.principal);
    const of = { actor, action, ...(await placeOf(directory, request)), entity: null, subject: '', details: {} };
    return {
      actor,
      write:
        (told) =>
        (session, more = {}) =>
          insertActivity(session, { ...of, ...told, ...more, details: { ...told.details, ...more.details } }),
    };
  }

  const note: Note = {
    async ahead(told) {
      const { actor, write } = await begin();
      return { actor, write: write(told) };
    },
    async change(work, told) {
      const { actor, write } = await begin();
      return directory.transaction(async (session) => {
        const done = await work(session, actor);
        await write(told(done))(session);
        return done;
      });
    },
  };
  return { note, isUsed: () => isUsed };
}

/** Where the path leads; of an owner, where it leads nowhere, its workspace: so its owners read of it. */
async function placeOf(
  directory: Database,
  { principal, organization, workspace }: Request,
): Promise<Pick<Activity, 'organization' | 'workspace'>> {
  if (organization !== null || principal.kind === 'operator') return { organization, workspace };
  const own = await findWorkspaceById(directory, principal.workspaceId);
  return { organization: own?.organization ?? null, workspace: own ?? null };
}
