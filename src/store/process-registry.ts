// The registry of server processes that answer requests from memory (`wda.process`), and the protocol that keeps their
// memory consistent. Two rules make an acknowledged change visible in every process:
//
// - A process answers a request from memory only if that data was compared with the database less than LEASE_MS before
//   the request, and only while the others wait for this process. Each comparison also reads the process's own row:
//   when the row is missing the process registers first, and its earlier data is invalid.
// - A process that has changed something requests a comparison from all others, and answers when all have confirmed. A
//   process that sees the request compares its data before using it again, and then confirms. A process that does not
//   confirm within REGISTERED_MS is removed; by the first rule it no longer uses its earlier data.
//
// Notifications only shorten the wait. They may be lost, and do not arrive through some poolers: a busy process reads
// its row every 300 ms anyway.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Listener, type ListenOptions, listen } from '../database/listener.ts';
import type { Database } from '../database/pool.ts';
import { serviceUnavailable } from '../errors.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';

/** Oldest version that a request in flight was planned by, by workspace id. */
export type ActiveVersions = ReadonlyMap<string, string>;

/** The row of this process, and the versions of workspaces, read together. */
export interface RegistryRead {
  /** Undefined when the process is not registered. */
  readonly self: { readonly requestNumber: string; readonly confirmedNumber: string } | undefined;
  /** Versions in force by workspace id, without deleted workspaces. */
  readonly versions: ReadonlyMap<string, string>;
}

/** Another process that must compare its memory with the database. */
export interface RequestedProcess {
  readonly id: string;
  /** Number of the request: the process has confirmed when its `heard` is at least this. */
  readonly requestNumber: string;
  /** Its `heard` at the time of the request. */
  readonly confirmedNumber: string;
}

/** The statements of one process about the table `wda.process`. */
export interface ProcessTable {
  readonly read: (workspaceIds: readonly string[]) => Promise<RegistryRead>;
  readonly register: (active: ActiveVersions) => Promise<void>;
  /** Confirms a request; returns false when the process is no longer registered. */
  readonly confirm: (requestNumber: string, active: ActiveVersions) => Promise<boolean>;
  /** Requests a comparison from all other processes, and wakes those that listen. */
  readonly requestComparison: () => Promise<readonly RequestedProcess[]>;
  /** Returns the processes that have not confirmed yet, without those that were removed or have registered again. */
  readonly findUnconfirmed: (requested: readonly RequestedProcess[]) => Promise<readonly RequestedProcess[]>;
  /**
   * Returns whether another process, at its last confirmation, was answering a request by an older version of the
   * workspace.
   */
  readonly hasOlderElsewhere: (workspaceId: string, version: string) => Promise<boolean>;
  /** Removes processes that have not confirmed since the request. */
  readonly removeUnconfirmed: (unconfirmed: readonly RequestedProcess[]) => Promise<void>;
  /** Removes this process. */
  readonly remove: () => Promise<void>;
}

export interface Comparison {
  /** Versions in force by workspace id, without deleted workspaces. */
  readonly versions: ReadonlyMap<string, string>;
  /** Time at which this was true, or an earlier time. */
  readonly asOf: number;
}

export interface ProcessRegistry {
  /**
   * Returns the time since which data from memory must have been read or compared to answer a request that came at
   * `receivedAt`; infinite when this process has to compare first.
   */
  validFrom(receivedAt: number): number;
  /** Reads pending requests of other processes, and the versions of these workspaces. */
  compare(workspaceIds: readonly string[]): Promise<Comparison>;
  /**
   * Wakes the registry when another process may have changed something. A failed check is repeated by the next
   * comparison.
   */
  wake(): void;
  /**
   * Resolves when no process answers later requests with data from before this call: with true when all have confirmed
   * it, with false after REGISTERED_MS. Never rejects, as the change is committed.
   */
  invalidateAll(): Promise<boolean>;
  /**
   * Returns whether no request in flight was planned by a version of the workspace older than this one, which is
   * committed. Does not wait: call it again later. Removed processes are ignored; the statements that they still run
   * use the tables as they are, as every statement does.
   */
  isDrained(workspaceId: string, version: string): Promise<boolean>;
  /** Unregisters this process when it answers no more requests, so that the others need not wait for it. */
  leave(): Promise<void>;
}

export interface ProcessRegistryOptions {
  readonly table: ProcessTable;
  /** Monotonic clock in milliseconds that also counts while the process is stopped. */
  readonly now: () => number;
  readonly active: () => ActiveVersions;
  /** Called when others start to wait for this process: it should soon listen for them. */
  readonly onRegistered: () => void;
}

const LEASE_MS = 800;
// Longer than the lease by the inaccuracy of clocks and timers.
const REGISTERED_MS = 900;
// The first query comes when the quickest process has about confirmed; later pauses are longer.
const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 25;
const MAX_READS = 3;

export function makeProcessRegistry({ table, now, active, onRegistered }: ProcessRegistryOptions): ProcessRegistry {
  let comparedAt = Number.NEGATIVE_INFINITY;
  /** Time before which data read is invalid. */
  let validSince = Number.NEGATIVE_INFINITY;
  let isWaking = false;
  let mustRepeat = false;
  let isLeaving = false;

  /** Confirms a request; returns false when the process is no longer registered. */
  async function confirm({ requestNumber, confirmedNumber }: NonNullable<RegistryRead['self']>): Promise<boolean> {
    if (requestNumber === confirmedNumber) return true;
    // Data in memory must be invalid before the confirmation is sent.
    validSince = now();
    return table.confirm(requestNumber, active());
  }

  async function compare(workspaceIds: readonly string[]): Promise<Comparison> {
    for (let reads = 1; ; reads++) {
      const asOf = now();
      const { self, versions } = await table.read(workspaceIds);
      if (self !== undefined && (await confirm(self))) comparedAt = Math.max(comparedAt, asOf);
      else {
        if (isLeaving) throw serviceUnavailable('SHUTTING_DOWN', 'The server is shutting down');
        comparedAt = Number.NEGATIVE_INFINITY;
        await table.register(active());
        // This process has received no request before now.
        validSince = now();
        onRegistered();
      }
      if (asOf >= validSince || reads === MAX_READS) return { versions, asOf };
    }
  }

  async function wakeUp(): Promise<void> {
    try {
      do {
        mustRepeat = false;
        const { self } = await table.read([]);
        if (self !== undefined) await confirm(self);
      } while (mustRepeat);
    } finally {
      isWaking = false;
    }
  }

  async function waitForConfirmations(): Promise<boolean> {
    let unconfirmed = await table.requestComparison();
    if (unconfirmed.length === 0) return true;
    const requestedAt = now();
    for (
      let pause = FIRST_PAUSE_MS;
      now() - requestedAt < REGISTERED_MS;
      pause = Math.min(2 * pause, LONGEST_PAUSE_MS)
    ) {
      await sleep(pause);
      unconfirmed = await table.findUnconfirmed(unconfirmed);
      if (unconfirmed.length === 0) return true;
    }
    await table.removeUnconfirmed(unconfirmed);
    return false;
  }

  async function invalidateAll(): Promise<boolean> {
    validSince = now();
    const timer = new AbortController();
    const timeout = sleep(REGISTERED_MS, false, { signal: timer.signal }).catch(() => false);
    // When the database does not answer, the leases of all others expire.
    const confirmed = waitForConfirmations().catch(() => timeout);
    const isConfirmed = await Promise.race([confirmed, timeout]);
    timer.abort();
    return isConfirmed;
  }

  return {
    validFrom: (receivedAt) =>
      comparedAt < receivedAt - LEASE_MS ? Number.POSITIVE_INFINITY : Math.max(receivedAt - LEASE_MS, validSince),
    compare,
    wake() {
      mustRepeat = true;
      if (isWaking) return;
      isWaking = true;
      wakeUp().catch(() => undefined);
    },
    invalidateAll,
    async isDrained(workspaceId, version) {
      if (!(await invalidateAll())) return false;
      const activeVersion = active().get(workspaceId);
      if (activeVersion !== undefined && BigInt(activeVersion) < BigInt(version)) return false;
      return !(await table.hasOlderElsewhere(workspaceId, version));
    },
    async leave() {
      isLeaving = true;
      comparedAt = Number.NEGATIVE_INFINITY;
      await table.remove();
    },
  };
}

// A crash loses only a second of waiting, so a flush is not worth its time. The setting is local to the transaction,
// which is this statement.
const WITHOUT_FLUSH: Fragment = sql`set_config('synchronous_commit', 'off', true) <> ''`;
/** Channel of LISTEN that wakes processes; the payload is the id of the sender. */
const CHANNEL = 'wda_process';

const toJson = (active: ActiveVersions): string => JSON.stringify(Object.fromEntries(active));

function makeProcessTable(db: Database, id: string): ProcessTable {
  return {
    async read(workspaceIds) {
      const rows = await db.run(
        toQuery(
          sql`select null::text, asked::text, heard::text from wda.process where id = ${id}
union all
select id::text, version::text, null::text from wda.workspace where id = any(${workspaceIds}::bigint[])`,
          'look',
        ),
        'read',
      );
      let self: RegistryRead['self'];
      const versions = new Map<string, string>();
      for (const [workspace, value, confirmedNumber] of rows as readonly (readonly (string | null)[])[]) {
        if (workspace == null) self = { requestNumber: value as string, confirmedNumber: confirmedNumber as string };
        else versions.set(workspace, value as string);
      }
      return { self, versions };
    },
    async register(active) {
      const location = `${hostname()} ${process.pid}`;
      // Flushed like any commit: a process must not rely on a row that a crash has undone.
      await db.run(
        toQuery(
          sql`insert into wda.process (id, place, busy) values (${id}, ${location}, ${toJson(active)}::jsonb) on conflict (id) do nothing`,
        ),
        'write',
      );
    },
    async confirm(requestNumber, active) {
      const rows = await db.run(
        toQuery(
          sql`update wda.process set heard = greatest(heard, ${requestNumber}::bigint), busy = ${toJson(active)}::jsonb where id = ${id} and ${WITHOUT_FLUSH} returning id`,
          'confirm-process',
        ),
        'write',
      );
      return rows.length > 0;
    },
    async requestComparison() {
      // Rows are locked in one order, so that two concurrent requests cannot deadlock.
      const rows = await db.run(
        toQuery(
          sql`with other as materialized (
  select id from wda.process where id <> ${id} and ${WITHOUT_FLUSH} order by id for no key update
)
update wda.process p set asked = p.asked + 1 from other where p.id = other.id
returning p.id::text, p.asked::text, p.heard::text, pg_notify(${CHANNEL}, ${id})::text`,
          'ask-processes',
        ),
        'write',
      );
      return rows.map(
        ([other, requestNumber, confirmedNumber]) =>
          ({ id: other, requestNumber, confirmedNumber }) as RequestedProcess,
      );
    },
    async findUnconfirmed(requested) {
      const rows = await db.run(
        toQuery(
          sql`select p.id::text from wda.process p
join unnest(${requested.map((one) => one.id)}::uuid[], ${requested.map((one) => one.requestNumber)}::bigint[]) as q (id, asked)
  on q.id = p.id and p.heard < q.asked and q.asked <= p.asked`,
          'find-unheard',
        ),
        'read',
      );
      const unconfirmed = new Set(rows.map(([other]) => other));
      return requested.filter((one) => unconfirmed.has(one.id));
    },
    async hasOlderElsewhere(workspaceId, version) {
      const rows = await db.run(
        toQuery(
          sql`select id::text from wda.process where id <> ${id} and (busy ->> ${workspaceId})::bigint < ${version}::bigint limit 1`,
        ),
        'read',
      );
      return rows.length > 0;
    },
    async removeUnconfirmed(unconfirmed) {
      await db.run(
        toQuery(
          sql`delete from wda.process where id in (
  select p.id from wda.process p
  join unnest(${unconfirmed.map((one) => one.id)}::uuid[], ${unconfirmed.map((one) => one.confirmedNumber)}::bigint[]) as q (id, heard)
    on q.id = p.id and q.heard = p.heard
  where p.heard < p.asked for update of p skip locked
)`,
        ),
        'write',
      );
    },
    async remove() {
      await db.run(toQuery(sql`delete from wda.process where id = ${id}`), 'write');
    },
  };
}

export interface OpenProcessRegistry extends ProcessRegistry {
  /** Stops listening. */
  close(): Promise<void>;
}

// Limit, as the database may be unavailable; the others remove this process then.
const LEAVE_MS = 1000;

/** Opens the registry of this process: its rows in the database `db`, and a session that listens for the others. */
export function openProcessRegistry({
  db,
  connection,
  now,
  active,
}: {
  readonly db: Database;
  readonly connection: ListenOptions['connection'];
} & Pick<ProcessRegistryOptions, 'now' | 'active'>): OpenProcessRegistry {
  const id = randomUUID();
  let listener: Listener | undefined;
  const registry = makeProcessRegistry({
    table: makeProcessTable(db, id),
    now,
    active,
    onRegistered() {
      listener ??= listen({
        connection,
        channel: CHANNEL,
        onNotification(senderId) {
          if (senderId !== id) registry.wake();
        },
      });
    },
  });
  return {
    ...registry,
    leave: () => Promise.race([registry.leave().catch(() => undefined), sleep(LEAVE_MS)]),
    close: async () => listener?.close(),
  };
}

export interface RegisteredProcess {
  /** Host and process id. */
  readonly place: string;
  readonly startedAt: Date;
}

// Far more than a database has connections for.
const MAX_PROCESSES = 1000;

/** Loads the registered processes, oldest first. A killed one is listed until the next change. */
export async function loadProcesses(db: Database): Promise<readonly RegisteredProcess[]> {
  return db.query<RegisteredProcess>(
    toQuery(
      sql`select place, started_at as "startedAt" from wda.process order by started_at, id limit ${MAX_PROCESSES}::int8`,
    ),
  );
}

// Clocks of one machine drift apart by less.
const JUMP_MS = 100;
// Interval of reading the wall clock, as a read takes 0.4 µs on some machines and each request needs the time.
const WALL_CLOCK_EVERY_MS = 1;

/**
 * Creates a clock for leases, in milliseconds that never go back. The monotonic clock advances while a process is
 * stopped, but not while its machine sleeps: when the wall clock has advanced more, the difference is added. Data that
 * seems too old by mistake is only read again.
 */
export function makeClock(
  monotonic: () => number = () => performance.now(),
  wall: () => number = () => Date.now(),
): () => number {
  let slept = 0;
  let from = monotonic();
  let wallFrom = wall();
  let readAt = Number.NEGATIVE_INFINITY;
  return () => {
    const now = monotonic();
    if (now - readAt < WALL_CLOCK_EVERY_MS) return now + slept;
    readAt = now;
    const wallNow = wall();
    const jump = wallNow - wallFrom - (now - from);
    if (jump > JUMP_MS || jump < -JUMP_MS) {
      if (jump > 0) slept += jump;
      from = now;
      wallFrom = wallNow;
    }
    return now + slept;
  };
}
