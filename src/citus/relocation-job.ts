// Does the moves that were asked for, one at a time in the whole installation, each under the lock of its workspace.
import { isLockTimeout, isNodeLoss, sqlState } from '../db/errors.ts';
import type { Database, Session } from '../db/pool.ts';
import type { Figure } from '../figure.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import { loadNodes } from './nodes.ts';
import { placementOf } from './placements.ts';
import { endVersionsOfTables, MoveFailure, moveSchema, type Switch } from './relocate.ts';
import { beginMove, endMove, findMove, isOpen, loadOpenMoves, type Move } from './relocations.ts';

export interface MoverOptions {
  readonly db: Database;
  /** As Sessions.withLock of migrate/: the lock of a workspace, in a session that ends with this process. */
  readonly withLock: <T>(workspaceId: string, work: (session: Session) => Promise<T>, busy: () => T) => Promise<T>;
  readonly isClosing: () => boolean;
  /** The workspace has another snapshot. */
  readonly changed: (workspaceId: string) => void;
  /** See ProcessRegistry.isDrained. */
  readonly everywhere: () => Promise<boolean>;
  readonly isSettled: (workspaceId: string, version: string) => Promise<boolean>;
  readonly forgottenAfterMs: number;
  readonly onError: (message: string, error: unknown) => void;
}

export interface Mover {
  /** Does all moves that can be done now; a call while it does is the same turn. */
  turn(): Promise<void>;
  readonly figures: () => readonly Figure[];
}

// "wdam": no other lock of ours, as those of workspaces have another form.
const ONE_AT_A_TIME = sql`${0x7764616d}::int8`;
// A move whose process died is begun again; one that takes processes with it is not.
const MAX_ATTEMPTS = 5;
const MAX_OPEN = 1000;

export function makeMover(options: MoverOptions): Mover {
  const { db, withLock, isClosing, onError } = options;
  let running: Promise<void> | undefined;
  const ended = { succeeded: 0, failed: 0, cancelled: 0 };

  /** False when somebody else works on it, or on another one. */
  const attempt = (id: string, workspaceId: string): Promise<boolean> =>
    withLock(
      workspaceId,
      async (session) => {
        const [row] = await session.query<{ locked: boolean }>(
          toQuery(sql`select pg_try_advisory_lock(${ONE_AT_A_TIME}) as locked`),
        );
        const move = row?.locked === true ? await findMove(session, id) : undefined;
        if (move === undefined || !isOpen(move)) return false;
        await perform(session, move);
        return true;
      },
      () => false,
    );

  async function perform(session: Session, move: Move): Promise<void> {
    const { id, workspaceId, databaseSchema } = move;
    const nodes = await loadNodes(session);
    const target = nodes.find(({ name }) => name === move.target);
    const now = await placementOf(session, databaseSchema);
    if (target === undefined || now === undefined) {
      return end(session, id, 'failed', `node ${move.target} is no part of the cluster any more`);
    }
    const work: Switch = {
      ...options,
      session,
      workspaceId,
      databaseSchema,
      target,
      announced() {
        options.changed(workspaceId);
        return options.everywhere();
      },
      isSettled: (version) => options.isSettled(workspaceId, version),
    };
    try {
      if (now !== target.name && move.cancelRequested) throw new Cancelled();
      if (now !== target.name && move.attempts >= MAX_ATTEMPTS) {
        throw new MoveFailure('it was begun five times, and no process lived to its end');
      }
      await beginMove(session, id, now === target.name ? move.source : now);
      await moveSchema(work);
      await end(session, id, 'succeeded');
    } catch (error) {
      // Whoever finds it open goes on: a workspace that has moved is at its end only when all nodes know.
      if (isClosing() || (await placementOf(session, databaseSchema)) === target.name) throw error;
      await endVersionsOfTables(work);
      const isCancelled = error instanceof Cancelled || (await findMove(session, id))?.cancelRequested === true;
      if (isCancelled) return end(session, id, 'cancelled');
      if (!(error instanceof MoveFailure)) onError('a workspace could not be moved', error);
      await end(session, id, 'failed', reasonOf(error));
    }
  }

  async function end(session: Session, id: string, state: keyof typeof ended, reason?: string): Promise<void> {
    await endMove(session, id, state, reason);
    ended[state]++;
  }

  async function doAll(): Promise<void> {
    const passed = new Set<string>();
    for (;;) {
      const open = await loadOpenMoves(db, MAX_OPEN);
      const next = open.find(({ id }) => !passed.has(id));
      if (next === undefined || isClosing()) return;
      if (!(await attempt(next.id, next.workspaceId))) passed.add(next.id);
    }
  }

  return {
    turn() {
      running ??= doAll().finally(() => {
        running = undefined;
      });
      return running;
    },
    figures: () => [
      { name: 'wda_workspace_moves_total', help: 'Finished moves of workspaces by outcome', read: () => ended },
    ],
  };
}

class Cancelled extends Error {}

/** In words for the operator; what the database says is in the log. */
function reasonOf(error: unknown): string {
  if (error instanceof MoveFailure) return error.message;
  const state = sqlState(error) ?? '';
  if (isLockTimeout(error))
    return 'long transactions, such as imports, held the tables each time: move it when they have ended';
  if (isNodeLoss(error) || state.startsWith('08')) return 'a node of the cluster could not be reached';
  if (state === '57014') return 'it was stopped in the database';
  if (state === '42501') return "the server's role in the database may not move tables between nodes";
  return 'Citus refused it; the log of the server says why';
}
