// Listens to NOTIFY of other sessions on a connection of its own: pipelined connections are busy with requests, and those for
// slow statements come and go. It only makes changes known earlier: everything works without it, and with lost notifications.
import type pg from 'pg';
import { makeConnect } from './connect.ts';
import type { Route } from './connection-url.ts';

export interface Listener {
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly connection: Route;
  /** Name of the channel, in small letters. */
  readonly channel: 'wda_process';
  /** Called for each notification; without a payload when notifications may have been missed. */
  readonly onNotification: (payload: string | undefined) => void;
}

// The connection runs nothing but LISTEN.
const LIMITS = { statementTimeoutMs: 5000, lockTimeoutMs: 1000 };
const MIN_PAUSE_MS = 500;
const MAX_PAUSE_MS = 5000;
const POOLER_PAUSE_MS = 60_000;

/** Listens until it is closed; reconnects after a pause whenever the connection is lost. */
export function listen({ connection, channel, onNotification }: ListenOptions): Listener {
  const connect = makeConnect({ ...connection, application_name: 'workspace-data-api listening' });
  let client: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  let pause = MIN_PAUSE_MS;
  let isClosed = false;

  function reconnect(): void {
    const lostClient = client;
    client = undefined;
    lostClient?.end().catch(() => undefined);
    if (isClosed) return;
    timer = setTimeout(start, pause).unref();
    pause = Math.min(pause * 2, MAX_PAUSE_MS);
  }

  async function open(): Promise<void> {
    const opened = await connect(LIMITS);
    client = opened.client;
    // A pooler invents the process id. Unless it keeps the session for us, notifications to it are lost.
    const { processID } = client as unknown as { processID: number };
    if (isClosed || (opened.pid !== processID && connection.pooler !== 'session')) {
      pause = POOLER_PAUSE_MS;
      throw new Error('no listener for the notification');
    }
    client.on('notification', ({ payload }) => onNotification(payload));
    await client.query(`set idle_session_timeout = 0; listen ${channel}`);
    pause = MIN_PAUSE_MS;
    onNotification(undefined);
    opened.onRetired(reconnect);
  }

  const start = (): void => void open().catch(reconnect);

  start();
  return {
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await client?.end().catch(() => undefined);
    },
  };
}
