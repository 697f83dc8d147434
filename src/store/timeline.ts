// Detects failovers: a promoted standby reuses transaction numbers of the lost primary, so the version of a lost write
// could be that of another record. PostgreSQL starts another timeline then, and all workspaces get another epoch.
import { getSqlState } from '../database/errors.ts';
import type { Database } from '../database/pool.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import { getOrStoreFact } from './instance.ts';

export interface TimelineWatch {
  readonly check: () => Promise<void>;
}

/** Name of the fact with the timeline that the versions belong to. */
const TIMELINE_FACT = 'timeline';

/** Loads timelines by the names of their facts, or undefined if the databases do not report them. */
export type LoadTimelines = () => Promise<ReadonlyMap<string, string> | undefined>;

/** Renews the epochs of all workspaces when a timeline has changed, and calls `announced` then. */
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

/** Returns undefined if PostgreSQL does not report it: some cloud databases have no WAL in this form. */
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

/** Renews the epochs; returns true for the first process that detects the change. */
async function renew(db: Database, fact: string, from: string, to: string): Promise<boolean> {
  const rows = await db.query(
    toQuery(sql`with first as (
  update wda.instance set value = ${to} where name = ${fact} and value = ${from} returning name
)
update wda.workspace set epoch = default where exists (select from first) returning id`),
  );
  return rows.length > 0;
}
