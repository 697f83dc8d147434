// Hears what other sessions tell by NOTIFY, on a connection of its own: a quick one is busy with requests, and those for
// slow work come and go. It is only a quicker way to learn what would be found out anyway: it may be away, and lose what was
// told meanwhile.
import type pg from 'pg';
import { makeConnect } from './connect.ts';
import type { Route } from './connection-url.ts';

export interface Listener {
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly connection: Route;
  /** A name of ours, in small letters. */
  readonly channel: 'wda_process';
  /** Something was told; without a payload: something may have been, while nobody listened. */
  readonly heard: (payload: string | undefined) => void;
}

// It runs nothing but LISTEN.
const LIMITS = { statementTimeoutMs: 5000, lockTimeoutMs: 1000 };
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5000;
const POOLER_PAUSE_MS = 60_000;

/** Listens until it is closed, and begins again, after a while, whenever the connection is lost. */
export function listen({ connection, channel, heard }: ListenOptions): Listener {
  const connect = makeConnect({ ...connection, application_name: 'workspace-data-api listening' });
  let client: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  let pause = FIRST_PAUSE_MS;
  let closed = false;

  function again(): void {
    const lost = client;
    client = undefined;
    lost?.end().catch(() => undefined);
    if (closed) return;
    timer = setTimeout(begin, pause).unref();
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  }

  async function open(): Promise<void> {
    const opened = await connect(LIMITS);
    client = opened.client;
    // A pooler makes up the number of the backend. Unless it keeps the session for us, notifications to it reach nobody.
    const { processID } = client as unknown as { processID: number };
    if (closed || (opened.pid !== processID && connection.pooler !== 'session')) {
      pause = POOLER_PAUSE_MS;
      throw new Error('nobody would hear');
    }
    client.on('notification', ({ payload }) => heard(payload));
    await client.query(`set idle_session_timeout = 0; listen ${channel}`);
    pause = FIRST_PAUSE_MS;
    heard(undefined);
    opened.onRetired(again);
  }

  const begin = (): void => void open().catch(again);

  begin();
  return {
    async close() {
      closed = true;
      clearTimeout(timer);
      await client?.end().catch(() => undefined);
    },
  };
}
