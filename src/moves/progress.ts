// How far a running move is, as Citus tells it.
import type { Session } from '../db/pool.ts';
import { sql, toQuery } from '../sql/fragment.ts';

export const PHASES = ['preparing', 'copying', 'indexing', 'catchingUp', 'switching'] as const;
export type Phase = (typeof PHASES)[number];

export interface MoveProgress {
  readonly phase: Phase;
  /** What the target has, and what it should have, about. */
  readonly bytes: { readonly done: number; readonly total: number };
}

// The words of Citus (src/backend/distributed/operations/shard_transfer.c), in their order.
const PHASE_OF: Readonly<Record<string, Phase>> = {
  'Setting Up': 'preparing',
  'Copying Data': 'copying',
  'Creating Constraints': 'indexing',
  'Catching Up': 'catchingUp',
  'Final Catchup': 'switching',
  'Creating Foreign Keys': 'switching',
  Completing: 'switching',
};

/** Undefined while Citus tells nothing of the schema: the move waits for its turn, or is at its beginning or end. */
export async function loadProgress(
  session: Pick<Session, 'query'>,
  databaseSchema: string,
): Promise<MoveProgress | undefined> {
  const [row] = await session.query<{ status: string | null; done: string | null; total: string | null }>(
    toQuery(sql`select min(p.status) as status, sum(p.target_shard_size) as done, sum(p.source_shard_size) as total
from get_rebalance_progress() p join pg_class c on c.oid = p.table_name
where c.relnamespace = to_regnamespace(quote_ident(${databaseSchema}))`),
  );
  return row === undefined || row.status === null ? undefined : progressOf(row);
}

/** One row for all tables of the schema: they move together. */
export function progressOf(row: {
  readonly status: string | null;
  readonly done: string | null;
  readonly total: string | null;
}): MoveProgress {
  const total = Number(row.total ?? 0);
  return {
    phase: PHASE_OF[row.status ?? ''] ?? 'preparing',
    bytes: { done: Math.min(Number(row.done ?? 0), total), total },
  };
}
