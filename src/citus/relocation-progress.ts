// Loads the progress of running relocations from Citus.

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
 * Loads the progress of moves by their PostgreSQL schemas. One of which Citus has none is missing: it waits, is at its
 * beginning or end, or another database of the same nodes has a move. Citus lists the moves of all databases, and fails
 * at a foreign shard.
 */
export async function loadProgress(
  db: Pick<Database, 'transaction'>,
  databaseSchemas: readonly string[],
): Promise<ReadonlyMap<string, MoveProgress>> {
  if (databaseSchemas.length === 0) return new Map();
  try {
    const rows = await db.transaction(
      (session) =>
        session.query<ProgressRow & { readonly schema: string }>(
          toQuery(sql`select n.nspname as schema, array_agg(distinct p.status) as statuses,
  sum(p.target_shard_size) as done, sum(p.source_shard_size) as total
from get_rebalance_progress() p join pg_class c on c.oid = p.table_name join pg_namespace n on n.oid = c.relnamespace
join pg_stat_activity a on a.pid = p.sessionid and a.datname = current_database()
where n.nspname = any(${databaseSchemas}::text[]) group by n.nspname`),
        ),
      { purpose: 'migration', readOnly: true, statementTimeoutMs: TIMEOUT_MS },
    );
    return new Map(rows.map((row) => [row.schema, toProgress(row)]));
  } catch (error) {
    // XX000: Citus's SQLSTATE for errors without another one.
    if (getSqlState(error) === 'XX000' || getSqlState(error) === '57014' || isNodeLoss(error)) return new Map();
    throw error;
  }
}

interface ProgressRow {
  /** States of the tables. */
  readonly statuses: readonly string[];
  readonly done: string | null;
  readonly total: string | null;
}

/** Combines the progress of all tables of the schema, which move together: the phase is that of the last of them. */
export function toProgress(row: ProgressRow): MoveProgress {
  const total = Number(row.total ?? 0);
  const status = Object.keys(PHASES).find((one) => row.statuses.includes(one));
  return {
    phase: PHASES[status ?? ''] ?? 'preparing',
    bytes: { done: Math.min(Number(row.done ?? 0), total), total },
  };
}
