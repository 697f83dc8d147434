// The presence of this process among those of the installation: its row in the control tables, and the session that
// listens for the others.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Listener, type ListenOptions, listen } from '../db/listen.ts';
import type { Database } from '../db/pool.ts';
import { makePresence, type Presence } from './presence.ts';
import {
  ask,
  type Busy,
  confirm,
  findUnheard,
  forget,
  isBusyElsewhere,
  join,
  leave,
  look,
  PROCESS_CHANNEL,
} from './processes.ts';

export interface ProcessPresence extends Presence {
  /** Stops listening. */
  close(): Promise<void>;
}

export interface ProcessPresenceOptions {
  /** Holds the control tables. */
  readonly db: Database;
  readonly connection: ListenOptions['connection'];
  /** Milliseconds, never going back, also counting when the process stood still. */
  readonly now: () => number;
  /** What this process answers at the moment. */
  readonly busy: () => Busy;
}

// The database may be away; the others forget this process then.
const LEAVE_MS = 1000;

export function makeProcessPresence({ db, connection, now, busy }: ProcessPresenceOptions): ProcessPresence {
  const id = randomUUID();
  let listener: Listener | undefined;
  const presence = makePresence({
    store: {
      look: (ids) => look(db, id, ids),
      join: (works) => join(db, id, `${hostname()} ${process.pid}`, works),
      confirm: (asked, works) => confirm(db, id, asked, works),
      ask: () => ask(db, id),
      findUnheard: (asked) => findUnheard(db, asked),
      isBusyElsewhere: (workspaceId, version) => isBusyElsewhere(db, id, workspaceId, version),
      forget: (silent) => forget(db, silent),
      leave: () => leave(db, id),
    },
    now,
    busy,
    joined() {
      listener ??= listen({
        connection,
        channel: PROCESS_CHANNEL,
        heard(asker) {
          if (asker !== id) presence.wake();
        },
      });
    },
  });
  return {
    ...presence,
    leave: () => Promise.race([presence.leave().catch(() => undefined), sleep(LEAVE_MS)]),
    async close() {
      await listener?.close();
    },
  };
}
