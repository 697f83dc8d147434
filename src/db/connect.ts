// Opens connections: tries the hosts of the address in their order, asks for the settings that all statements rely on,
// and believes none of them before the server has confirmed it. Otherwise a pooler that drops start-up options would let
// datetimes leave in another zone, statements run without a limit, and acknowledged writes not wait for the disk.
import type { Socket } from 'node:net';
import pg from 'pg';
import { requestCancel } from './cancel-request.ts';
import { addressOf, type DatabaseHost } from './connection-url.ts';
import { LONGEST_MESSAGE, refuseLongMessages } from './message-limit.ts';
import { sqlState } from './pg-error.ts';
import type { Route } from './route.ts';
import {
  type Opening,
  openingOf,
  requiredSettings,
  sessionSettings,
  startupOptions,
  type TimeLimits,
} from './session-settings.ts';

/** What a connection is for. */
export interface ConnectionLimits extends TimeLimits {
  /** True when several statements may be under way at once. */
  readonly pipeline?: boolean;
  /** Longest answer of one message, in bytes; missing: what JavaScript can hold. */
  readonly maxMessageBytes?: number;
}

export interface OpenedConnection {
  readonly client: pg.Client;
  /** Of the backend; a pooler makes up the number that the protocol tells. Without use where each transaction has another. */
  readonly pid: number;
  /** Where each transaction may have another backend: how it begins. */
  readonly opening?: Opening;
  /** Where a backend's number does not say what it does for this connection: stops what it does at the moment. */
  readonly cancel?: () => Promise<void>;
  /**
   * Calls once, with the reason, when the connection is of no more use for new statements: it broke, or its server no
   * longer takes writes. At once when that is so already.
   */
  onRetired(listener: (reason: Error) => void): void;
}

export type Connect = (limits: ConnectionLimits) => Promise<OpenedConnection>;

/** The server, or what stands before it, does not do what we ask of it. In words for whoever runs it. */
export class UnfitConnection extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnfitConnection';
  }
}

// Of one host; the last of several must not wait for the first for long.
const CONNECT_TIMEOUT_MS = 3000;
const ONE_OF_SEVERAL_TIMEOUT_MS = 2000;
// A peer that lost power or network says nothing: it is found within 25 s, by the system at either end.
const KEEP_ALIVE_MS = 10_000;

/** `route`: a form of the driver's own, or a URL. */
export function makeConnect({ pooler = 'none', ...connection }: Route): Connect {
  const { hosts, target, config, options } = addressOf(connection);

  async function openOn(host: DatabaseHost, limits: ConnectionLimits): Promise<OpenedConnection> {
    const client = new pg.Client({
      ...config,
      ...host,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      connectionTimeoutMillis: hosts.length > 1 ? ONE_OF_SEVERAL_TIMEOUT_MS : CONNECT_TIMEOUT_MS,
      application_name: config.application_name ?? 'workspace-data-api',
      pipeline: limits.pipeline === true,
      // A pooler refuses what it cannot keep for each client.
      options: pooler === 'none' ? startupOptions(limits, options) : options,
    } as pg.ClientConfig);
    const retirement = watchRetirement(client, target !== 'any');
    loseUnreplicated(client);
    try {
      await client.connect();
      const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
      refuseLongMessages(stream, limits.maxMessageBytes ?? LONGEST_MESSAGE);
      const opening = pooler === 'transaction' ? openingOf(limits) : undefined;
      if (pooler === 'session') await client.query(sessionSettings(limits) as pg.QueryConfig);
      if (opening !== undefined) await client.query(`begin; ${opening.text}`);
      const pid = await readBack(client, limits, target);
      if (opening !== undefined) await client.query('commit');
      // It may have ended in the bytes that opened it: the loss is reported before this line runs.
      if (retirement.reason !== undefined) throw retirement.reason;
      const opened = { client, pid, onRetired: retirement.listen };
      return opening === undefined ? opened : { ...opened, opening, cancel: () => requestCancel(client) };
    } catch (error) {
      client.end().catch(() => undefined);
      throw wordsFor(error);
    }
  }

  return async (limits) => {
    const failures: unknown[] = [];
    for (const host of hosts) {
      try {
        return await openOn(host, limits);
      } catch (error) {
        failures.push(error);
      }
    }
    // The refusal of a server that answers says more than the silence of another.
    throw failures.find((error) => error instanceof UnfitConnection || sqlState(error) !== undefined) ?? failures[0];
  };
}

interface Retirement {
  reason: Error | undefined;
  readonly listen: (listener: (reason: Error) => void) => void;
}

// PostgreSQL 14 and newer tell of these without being asked.
const ROLE_PARAMETERS = ['in_hot_standby', 'default_transaction_read_only'];

/** From before the connection opens: an error that nobody listens to would end the process. */
function watchRetirement(client: pg.Client, needsWrites: boolean): Retirement {
  let listener: ((reason: Error) => void) | undefined;
  const retire = (reason: Error): void => {
    if (retirement.reason !== undefined) return;
    retirement.reason = reason;
    listener?.(reason);
  };
  const retirement: Retirement = {
    reason: undefined,
    listen(next) {
      listener = next;
      if (retirement.reason !== undefined) next(retirement.reason);
    },
  };
  client.on('error', retire);
  client.on('end', () => retire(new Error('Connection terminated')));
  const { connection } = client as unknown as { connection: NodeJS.EventEmitter };
  connection.on('parameterStatus', (status: { parameterName: string; parameterValue: string }) => {
    const isReadOnly = ROLE_PARAMETERS.includes(status.parameterName) && status.parameterValue === 'on';
    if (isReadOnly && needsWrites) retire(new UnfitConnection(READ_ONLY));
  });
  return retirement;
}

/**
 * A statement that is cancelled while its COMMIT waits for a synchronous standby is reported as done, with a warning: its
 * transaction is kept here and may be on no other server. Nobody may be told that it was written, so the connection counts
 * as lost before the end of the statement is read. The function's name stands in the warning in every language.
 */
function loseUnreplicated(client: pg.Client): void {
  client.on('notice', ({ routine }: { routine?: string | undefined }) => {
    if (routine !== 'SyncRepWaitForLSN') return;
    const { connection } = client as unknown as { connection: NodeJS.EventEmitter & { stream: Socket } };
    connection.emit('error', new Error('Connection terminated: the standby has not confirmed a write'));
    connection.stream.destroy();
  });
}

const READ_ONLY = 'The database takes no writes: it is a standby, or read-only';

/** Asks for what was asked for; gives the backend's number. */
async function readBack(client: pg.Client, limits: ConnectionLimits, target: string): Promise<number> {
  const wanted = requiredSettings(limits);
  const { rows } = await client.query<[pid: string, isStandby: string, isReadOnly: string, settings: string]>({
    text: `select pg_backend_pid()::text, pg_is_in_recovery()::text, current_setting('default_transaction_read_only'),
  (select json_object_agg(name, setting)::text from pg_catalog.pg_settings where name = any($1))`,
    values: [Object.keys(wanted)],
    rowMode: 'array',
  });
  const [pid, isStandby, isReadOnly, told] = rows[0] as (typeof rows)[number];
  const settings = JSON.parse(told) as Record<string, string | undefined>;
  const others = Object.entries(wanted).filter(([name, value]) => settings[name] !== value);
  if (others.length > 0) {
    const list = others.map(([name, value]) => `${name} is ${settings[name] ?? 'unknown'} instead of ${value}`);
    throw new UnfitConnection(
      `The pooler in front of the database, or the database, ignores our settings: ${list.join(', ')}. Connect to PostgreSQL directly, or say by WDA_POOLER what the pooler does`,
    );
  }
  if (target !== 'any' && (isStandby === 'true' || (target === 'read-write' && isReadOnly === 'on'))) {
    throw new UnfitConnection(READ_ONLY);
  }
  return Number(pid);
}

/** Cuts a connection without telling the server, whatever runs on it. */
export function destroy({ client }: Pick<OpenedConnection, 'client'>, reason = 'Connection terminated'): void {
  (client as unknown as { connection: { stream: { destroy(error: Error): void } } }).connection.stream.destroy(
    new Error(reason),
  );
}

/** PgBouncer's refusal of start-up options, in words that say what to do. */
function wordsFor(error: unknown): unknown {
  const message = error instanceof Error ? error.message : '';
  if (!/unsupported startup parameter/i.test(message)) return error;
  return new UnfitConnection(
    `The pooler in front of the database refuses our settings (${message}). Connect to PostgreSQL directly, or say by WDA_POOLER what the pooler does`,
  );
}
