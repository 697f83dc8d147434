// The faults, and the sequence in which a seed brings them. A fault takes what it was drawn, does its harm for a while, and
// has ended when its function resolves.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Ground } from './ground.ts';
import { makeRandom } from './random.ts';
import type { Weather } from './wire.ts';

/** What the seed decides about one fault. */
export interface Draw {
  readonly fault: Fault;
  /** How long it lasts, where it lasts. */
  readonly milliseconds: number;
  /** Whom it meets, or how many: at least 0, less than 1. */
  readonly share: number;
  /** Until the next. */
  readonly rest: number;
}

export interface Fault {
  readonly name: string;
  /** Relative to the others; 1 where nothing is said. */
  readonly weight?: number;
  /** Longest time. */
  readonly most?: number;
  readonly isPossible: (ground: Ground) => boolean;
  readonly run: (ground: Ground, draw: Draw) => Promise<void>;
}

const always = (): boolean => true;
const isOwn = (ground: Ground): boolean => ground.own !== undefined;

/** Sends a signal; who is gone has ended already. */
function signal(pid: number | undefined, name: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

const one = (pids: readonly number[], share: number): number | undefined => pids[Math.floor(pids.length * share)];

/** Signals to backends again and again, each time to another part of them. pg_terminate_backend sends SIGTERM, pg_cancel_backend SIGINT. */
async function shower(ground: Ground, { milliseconds, share }: Draw, name: NodeJS.Signals): Promise<void> {
  const end = performance.now() + milliseconds;
  for (let round = 0; performance.now() < end; round++, await sleep(15)) {
    for (const [index, pid] of ground.backends().entries()) {
      if ((index + round) % 4 < 1 + 3 * share) signal(pid, name);
    }
  }
}

async function pause(pids: readonly (number | undefined)[], milliseconds: number): Promise<void> {
  for (const pid of pids) signal(pid, 'SIGSTOP');
  try {
    await sleep(milliseconds);
  } finally {
    for (const pid of pids) signal(pid, 'SIGCONT');
  }
}

async function weather(ground: Ground, draw: Draw, what: Weather): Promise<void> {
  ground.own?.wire.set(what);
  try {
    await sleep(draw.milliseconds);
  } finally {
    ground.own?.wire.set({ kind: 'clear' });
  }
}

export const FAULTS: readonly Fault[] = [
  { name: 'connections are terminated', isPossible: always, run: (ground, draw) => shower(ground, draw, 'SIGTERM') },
  { name: 'statements are cancelled', isPossible: always, run: (ground, draw) => shower(ground, draw, 'SIGINT') },
  {
    // The oldest, so that none dies young again and again: that ends a service that cannot start, rightly.
    name: 'a worker is killed',
    isPossible: always,
    run: async (ground) => signal(ground.workers()[0], 'SIGKILL'),
  },
  {
    name: 'PostgreSQL is killed',
    isPossible: always,
    run: async (ground) => {
      signal(ground.postmaster(), 'SIGKILL');
      await sleep(20);
      await ground.up();
    },
  },
  {
    name: 'a backend is killed, and PostgreSQL recovers',
    isPossible: always,
    run: async (ground, { share }) => {
      signal(one(ground.backends(), share), 'SIGKILL');
      await sleep(20);
      await ground.up();
    },
  },
  {
    name: 'PostgreSQL is stopped and started',
    isPossible: isOwn,
    run: async (ground, { share }) => {
      const stopped = ground.postmaster();
      signal(stopped, share < 0.5 ? 'SIGINT' : 'SIGQUIT');
      // The next one may be there at once.
      while (stopped !== undefined && ground.postmaster() === stopped) await sleep(20);
      await ground.up();
    },
  },
  {
    name: 'a worker is paused',
    isPossible: always,
    run: (ground, { share, milliseconds }) => pause([one(ground.workers(), share)], milliseconds),
  },
  {
    name: 'all server processes are paused',
    weight: 0.5,
    isPossible: always,
    run: (ground, { milliseconds }) => pause([ground.server.child.pid, ...ground.workers()], milliseconds),
  },
  {
    name: 'a backend is paused',
    isPossible: always,
    run: (ground, { share, milliseconds }) => pause([one(ground.backends(), share)], milliseconds),
  },
  {
    name: 'PostgreSQL is paused',
    isPossible: always,
    run: (ground, { milliseconds }) => pause([ground.postmaster(), ...ground.backends()], milliseconds),
  },
  { name: 'the wire is cut', isPossible: isOwn, run: (ground, draw) => weather(ground, draw, { kind: 'cut' }) },
  {
    name: 'some connections break',
    isPossible: isOwn,
    run: async (ground, { share }) => ground.own?.wire.break(share),
  },
  { name: 'the wire is silent', isPossible: isOwn, run: (ground, draw) => weather(ground, draw, { kind: 'silent' }) },
  {
    name: 'the wire is slow',
    isPossible: isOwn,
    run: (ground, draw) => weather(ground, draw, { kind: 'slow', milliseconds: 20 + 280 * draw.share }),
  },
  {
    name: 'the wire drips',
    isPossible: isOwn,
    run: (ground, draw) => weather(ground, draw, { kind: 'drip', bytes: 1 + Math.floor(60 * draw.share) }),
  },
  {
    name: 'the disk is full',
    isPossible: (ground) => ground.own?.disk !== undefined,
    run: async (ground, { milliseconds, share }) => {
      const { disk, postgres } = ground.own as NonNullable<typeof ground.own>;
      disk?.fill();
      try {
        // Half of the times also where the log is written: PostgreSQL ends itself then.
        if (share < 0.5) {
          for (let segment = 0; segment < 8; segment++) {
            await postgres.query(`select pg_logical_emit_message(true, '', 'full'), pg_switch_wal()`).catch(() => {});
          }
        }
        await sleep(milliseconds);
      } finally {
        disk?.empty();
      }
      await ground.up();
    },
  },
  {
    name: 'a table is locked',
    isPossible: isOwn,
    run: async (ground, { milliseconds }) => {
      const { postgres } = ground.own as NonNullable<typeof ground.own>;
      const client = new pg.Client({ connectionString: postgres.url });
      client.on('error', () => undefined);
      await client.connect();
      try {
        const { rows } = await client.query(
          `select format('%I.%I', schemaname, tablename) as name from pg_tables where tablename = 'entries'`,
        );
        await client.query(`begin; set local lock_timeout = 500; lock table ${rows[0].name} in access exclusive mode`);
        await sleep(milliseconds);
      } catch {
        // Somebody else holds it; the requests wait for that one.
      } finally {
        await client.end().catch(() => undefined);
      }
    },
  },
];

const LEAST_MS = 200;
const MOST_MS = 2000;

/** The faults of a seed, without an end: the same for the same seed and the same kinds. */
export function* sequence(seed: number, possible: readonly Fault[]): Generator<Draw> {
  const random = makeRandom(seed);
  // Each once in the first round, so that a short run meets all of them.
  const first = [...possible];
  for (;;) {
    const fault = first.length > 0 ? first.splice(random.between(0, first.length - 1), 1)[0] : weighted();
    yield {
      fault: fault as Fault,
      milliseconds: random.between(LEAST_MS, fault?.most ?? MOST_MS),
      share: random.next(),
      rest: random.between(100, 800),
    };
  }
  function weighted(): Fault {
    const total = possible.reduce((sum, { weight = 1 }) => sum + weight, 0);
    let left = random.next() * total;
    for (const fault of possible) {
      left -= fault.weight ?? 1;
      if (left < 0) return fault;
    }
    return possible[0] as Fault;
  }
}
