// The timelines of the nodes of a cluster: each node has standbys of its own, and versions of records are its numbers.
import type { Database } from '../db/pool.ts';
import { sql } from '../sql/fragment.ts';
import { findCitus } from './citus.ts';
import { askNodes } from './nodes.ts';

/** By a name of each worker that answers and tells, which stays when its address changes. Undefined without a cluster. */
export async function workerTimelines(db: Database): Promise<ReadonlyMap<string, string> | undefined> {
  if ((await findCitus(db)) === undefined) return undefined;
  const answers = await askNodes<string>(db, sql`select to_json(left(pg_walfile_name(pg_current_wal_lsn()), 8))`.text);
  return new Map(
    answers.flatMap(({ node, answer }) =>
      node.isCoordinator || answer === undefined ? [] : [[`timeline of node ${node.groupId}`, answer] as const],
    ),
  );
}
