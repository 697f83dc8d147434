// Failovers: a standby that takes over gives numbers of transactions that the lost primary had given, too, so the version of a
// lost write could be that of another record. PostgreSQL begins another timeline then, and all workspaces another epoch.
import { getSqlState } from '../database/errors.ts';
import type { Database } from '../database/pool.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import { getOrStoreFact } from './instance.ts';

export interface TimelineWatch {
  readonly check: () => Promise<void>;
}

/** The fact that has the timeline whose numbers the versions are. */
const TIMELINE_FACT = 'timeline';

/** Timelines by the names of the facts that have them; undefined where nobody ever tells. */
export type LoadTimelines = () => Promise<ReadonlyMap<string, string> | undefined>;

/** Renews the epochs of all workspaces when a timeline is another one than it was; `announced` is called then. */
export function makeTimelineWatch(
  db: Database,
  announce: () => Promise<unknown>,
  loadCurrent: LoadTimelines = () => loadTimelines(db),
): TimelineWatch {
  const lastTimelines = new Map<string, string>();
  let isUnsupported = false;

  return {
    async check() {
      if (isUnsupported) return;
      const currentTimelines = await loadCurrent();
      isUnsupported = currentTimelines === undefined;
      for (const [fact, currentTimeline] of currentTimelines ?? []) {
        if (lastTimelines.get(fact) === currentTimeline) continue;
        const storedTimeline = await getOrStoreFact(db, fact, currentTimeline);
        if (storedTimeline !== currentTimeline && (await renew(db, fact, storedTimeline, currentTimeline)))
          await announce();
        lastTimelines.set(fact, currentTimeline);
      }
    },
  };
}

/** Undefined where PostgreSQL does not tell: databases of some clouds have no log of this form. */
async function loadTimelines(db: Database): ReturnType<LoadTimelines> {
  try {
    const [row] = await db.query<{ timeline: string }>(
      toQuery(sql`select left(pg_walfile_name(pg_current_wal_lsn()), 8) as timeline`),
    );
    return new Map(row === undefined ? [] : [[TIMELINE_FACT, row.timeline]]);
  } catch (error) {
    // Not supported, no such function, not allowed.
    if (['0A000', '42883', '42501'].includes(getSqlState(error) ?? '')) return undefined;
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
