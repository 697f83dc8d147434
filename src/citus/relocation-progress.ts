// Loads the progress of a running relocation from Citus.

import type { MoveProgress } from '../admin-api/cluster.ts';
import { getSqlState, isNodeLoss } from '../database/errors.ts';
import type { Database } from '../database/pool.ts';
import { sql, toQuery } from '../sql/fragment.ts';

type Phase = MoveProgress['phase'];

// Phases in the words of Citus (src/backend/distributed/operations/shard_transfer.c), in their order.
const PHASES: Readonly<Record<string, Phase>> = {
  'Setting Up': 'preparing',
  'Copying Data': 'copying',
  'Creating Constraints': 'indexing',
  'Catching Up': 'catchingUp',
  'Final Catchup': 'switching',
  'Creating Foreign Keys': 'switching',
  Completing: 'switching',
};

// Limits the wait for a silent node or a connection: a response without progress is better than none.
const TIMEOUT_MS = 1500;

/**
 * Loads the progress, or returns undefined if Citus has none for the schema: the move waits, is at its beginning or
 * end, or another database of the same nodes has a move. Citus lists the moves of all databases, and fails at a foreign
 * shard.
 */
export async function loadProgress(
  db: Pick<Database, 'transaction'>,
  databaseSchema: string,
): Promise<MoveProgress | undefined> {
  try {
    const [row] = await db.transaction(
      (session) =>
        session.query<{ status: string | null; done: string | null; total: string | null }>(
          toQuery(sql`select min(p.status) as status, sum(p.target_shard_size) as done, sum(p.source_shard_size) as total
from get_rebalance_progress() p join pg_class c on c.oid = p.table_name
join pg_stat_activity a on a.pid = p.sessionid and a.datname = current_database()
where c.relnamespace = to_regnamespace(quote_ident(${databaseSchema}))`),
        ),
      { purpose: 'migration', readOnly: true, statementTimeoutMs: TIMEOUT_MS },
    );
    return row === undefined || row.status === null ? undefined : toProgress(row);
  } catch (error) {
    // XX000: Citus's SQLSTATE for errors without another one.
    if (getSqlState(error) === 'XX000' || getSqlState(error) === '57014' || isNodeLoss(error)) return undefined;
    throw error;
  }
}

/** Combines the progress of all tables of the schema, which move together. */
export function toProgress(row: {
  readonly status: string | null;
  readonly done: string | null;
  readonly total: string | null;
}): MoveProgress {
  const total = Number(row.total ?? 0);
  return {
    phase: PHASES[row.status ?? ''] ?? 'preparing',
    bytes: { done: Math.min(Number(row.done ?? 0), total), total },
  };
}
