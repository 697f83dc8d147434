// The processes that answer requests from memory, in the control tables (`wda.process`). What the rows mean, and why
// that is enough, is in presence.ts.
import type { Database } from '../db/pool.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';

/** What a process reads about itself, and about the workspaces whose snapshots it has, at one moment. */
export interface Look {
  /** Undefined: the other processes do not know it. */
  readonly self: { readonly asked: string; readonly heard: string } | undefined;
  /** Versions in force by workspace id; a workspace that is gone is missing. */
  readonly versions: ReadonlyMap<string, string>;
}

/** Another process that was asked to look. */
export interface Asked {
  readonly id: string;
  /** Number of the question: the process has looked when its `heard` is at least this. */
  readonly asked: string;
  /** Its `heard` when it was asked. */
  readonly heard: string;
}

/** Requests that are being answered: by workspace id, the oldest version that one of them was planned by. */
export type Busy = ReadonlyMap<string, string>;

const shown = (busy: Busy): string => JSON.stringify(Object.fromEntries(busy));

/** Processes are woken through this channel of LISTEN; the payload is the id of whoever asks. */
export const PROCESS_CHANNEL = 'wda_process';

// A crash loses nothing but a second of waiting, so a flush is not worth its time. The setting holds for the
// transaction, which is this statement.
const QUICKLY: Fragment = sql`set_config('synchronous_commit', 'off', true) <> ''`;

export async function look(db: Database, id: string, workspaceIds: readonly string[]): Promise<Look> {
  const rows = await db.run(
    toQuery(
      sql`select null::text, asked::text, heard::text from wda.process where id = ${id}
union all
select id::text, version::text, null::text from wda.workspace where id = any(${workspaceIds}::bigint[])`,
      'look',
    ),
    'read',
  );
  let self: Look['self'];
  const versions = new Map<string, string>();
  for (const [workspace, value, heard] of rows as readonly (readonly (string | null)[])[]) {
    if (workspace == null) self = { asked: value as string, heard: heard as string };
    else versions.set(workspace, value as string);
  }
  return { self, versions };
}

/** Makes the process known to the others. */
export async function join(db: Database, id: string, place: string, busy: Busy): Promise<void> {
  // Flushed as any commit: a process must not believe in a row that a crash has undone.
  await db.run(
    toQuery(
      sql`insert into wda.process (id, place, busy) values (${id}, ${place}, ${shown(busy)}::jsonb) on conflict (id) do nothing`,
    ),
    'write',
  );
}

/**
 * Notes that the process no longer uses what it knew when it was asked; false when the process is not known any more.
 */
export async function confirm(db: Database, id: string, asked: string, busy: Busy): Promise<boolean> {
  const rows = await db.run(
    toQuery(
      sql`update wda.process set heard = greatest(heard, ${asked}::bigint), busy = ${shown(busy)}::jsonb where id = ${id} and ${QUICKLY} returning id`,
      'confirm-process',
    ),
    'write',
  );
  return rows.length > 0;
}

/** Asks all others to look, and wakes those that listen. */
export async function ask(db: Database, id: string): Promise<readonly Asked[]> {
  // Rows are locked in one order, so that two processes that ask at once cannot deadlock.
  const rows = await db.run(
    toQuery(
      sql`with other as materialized (
  select id from wda.process where id <> ${id} and ${QUICKLY} order by id for no key update
)
update wda.process p set asked = p.asked + 1 from other where p.id = other.id
returning p.id::text, p.asked::text, p.heard::text, pg_notify(${PROCESS_CHANNEL}, ${id})::text`,
      'ask-processes',
    ),
    'write',
  );
  return rows.map(([other, asked, heard]) => ({ id: other as string, asked: asked as string, heard: heard as string }));
}

/** Those of the processes asked that have not looked yet; without those that are gone or have joined again since. */
export async function findUnheard(db: Database, asked: readonly Asked[]): Promise<readonly Asked[]> {
  const rows = await db.run(
    toQuery(
      sql`select p.id::text from wda.process p
join unnest(${asked.map((one) => one.id)}::uuid[], ${asked.map((one) => one.asked)}::bigint[]) as q (id, asked)
  on q.id = p.id and p.heard < q.asked and q.asked <= p.asked`,
      'find-unheard',
    ),
    'read',
  );
  const unheard = new Set(rows.map(([id]) => id));
  return asked.filter((one) => unheard.has(one.id));
}

/** True when another process, at its last report, was answering a request by an older version of the workspace. */
export async function isBusyElsewhere(
  db: Database,
  id: string,
  workspaceId: string,
  version: string,
): Promise<boolean> {
  const rows = await db.run(
    toQuery(
      sql`select id::text from wda.process where id <> ${id} and (busy ->> ${workspaceId})::bigint < ${version}::bigint limit 1`,
    ),
    'read',
  );
  return rows.length > 0;
}

/** Deletes the rows of processes that have not looked since they were asked. */
export async function forget(db: Database, silent: readonly Asked[]): Promise<void> {
  await db.run(
    toQuery(
      sql`delete from wda.process where id in (
  select p.id from wda.process p
  join unnest(${silent.map((one) => one.id)}::uuid[], ${silent.map((one) => one.heard)}::bigint[]) as q (id, heard)
    on q.id = p.id and q.heard = p.heard
  where p.heard < p.asked for update of p skip locked
)`,
    ),
    'write',
  );
}

/** Deletes the row of a process that answers no requests any more. */
export async function leave(db: Database, id: string): Promise<void> {
  await db.run(toQuery(sql`delete from wda.process where id = ${id}`), 'write');
}
