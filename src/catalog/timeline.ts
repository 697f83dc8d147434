// Failovers: a standby that takes over gives numbers of transactions that the lost primary had given, too, so the version of a
// lost write could be that of another record. PostgreSQL begins another timeline then, and all workspaces another epoch.
import { sqlState } from '../db/errors.ts';
import type { Database } from '../db/pool.ts';
import { keepFact } from '../directory/instance.ts';
import { sql, toQuery } from '../sql/fragment.ts';

export interface TimelineWatch {
  readonly look: () => Promise<void>;
}

/** The fact that has the timeline whose numbers the versions are. */
const KEPT = 'timeline';

/** Timelines by the names of the facts that have them; undefined where nobody ever tells. */
export type Timelines = () => Promise<ReadonlyMap<string, string> | undefined>;

/** Renews the epochs of all workspaces when a timeline is another one than it was; `announced` is called then. */
export function makeTimelineWatch(
  db: Database,
  announced: () => Promise<unknown>,
  timelines: Timelines = () => timelineOf(db),
): TimelineWatch {
  const known = new Map<string, string>();
  let isUnknown = false;

  return {
    async look() {
      if (isUnknown) return;
      const found = await timelines();
      isUnknown = found === undefined;
      for (const [fact, now] of found ?? []) {
        if (known.get(fact) === now) continue;
        const kept = await keepFact(db, fact, now);
        if (kept !== now && (await renew(db, fact, kept, now))) await announced();
        known.set(fact, now);
      }
    },
  };
}

/** Undefined where PostgreSQL does not tell: databases of some clouds have no log of this form. */
async function timelineOf(db: Database): ReturnType<Timelines> {
  try {
    const [row] = await db.query<{ timeline: string }>(
      toQuery(sql`select left(pg_walfile_name(pg_current_wal_lsn()), 8) as timeline`),
    );
    return new Map(row === undefined ? [] : [[KEPT, row.timeline]]);
  } catch (error) {
    // Not supported, no such function, not allowed.
    if (['0A000', '42883', '42501'].includes(sqlState(error) ?? '')) return undefined;
    throw error;
  }
}

/** True for the first process that sees it. */
async function renew(db: Database, fact: string, from: string, to: string): Promise<boolean> {
  const rows = await db.query(
    toQuery(sql`with first as (
  update wda.instance set value = ${to} where name = ${fact} and value = ${from} returning name
)
update wda.workspace set epoch = default where exists (select from first) returning id`),
  );
  return rows.length > 0;
}
