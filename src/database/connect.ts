// Opens connections: tries the hosts of the address in order, applies the settings that all statements rely on, and checks
// that the server has applied them. Otherwise a pooler that drops start-up options would return datetimes in another zone,
// run statements without a limit, and acknowledge writes before they are on disk.

import type { Socket } from 'node:net';
import pg from 'pg';
import type { Query } from '../sql/fragment.ts';
import { type DatabaseHost, type Route, resolveAddress } from './connection-url.ts';
import { getSqlState, InvalidSession } from './errors.ts';
import { type MessageLimits, readMessages } from './messages.ts';

/** Limits of a connection. */
export interface ConnectionLimits extends TimeLimits, MessageLimits {
  /** True when several statements may be under way at once. */
  readonly pipeline?: boolean;
}

export interface OpenedConnection {
  readonly client: pg.Client;
  /** Process id of the backend; a pooler invents the one of the protocol. Meaningless if each transaction has another. */
  readonly pid: number;
  /** Start of each transaction, where each may have another backend. */
  readonly opening?: Opening;
  /** Cancels the running statement, where the process id is meaningless. */
  readonly cancel?: () => Promise<void>;
  /**
   * Calls the listener once, with the reason, when the connection cannot be used for new statements: it broke, or its server
   * no longer takes writes. Calls it at once if that is so already.
   */
  onRetired(listener: (reason: Error) => void): void;
}

export type Connect = (limits: ConnectionLimits) => Promise<OpenedConnection>;

// Timeout of a single host; of several, the last must not wait long for the first.
const CONNECT_TIMEOUT_MS = 3000;
const MULTI_HOST_TIMEOUT_MS = 2000;
// A peer that lost power or network sends nothing: the system at either end finds that within 25 s.
const KEEP_ALIVE_MS = 10_000;

/** Makes a function that opens connections. `route`: a configuration of the driver, or a URL. */
export function makeConnect({ pooler = 'none', ...connection }: Route): Connect {
  const { hosts, target, config, options } = resolveAddress(connection);

  async function openHost(host: DatabaseHost, limits: ConnectionLimits): Promise<OpenedConnection> {
    const client = new pg.Client({
      ...config,
      ...host,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      connectionTimeoutMillis: hosts.length > 1 ? MULTI_HOST_TIMEOUT_MS : CONNECT_TIMEOUT_MS,
      application_name: config.application_name ?? 'workspace-data-api',
      pipeline: limits.pipeline === true,
      // A pooler refuses start-up options, which it cannot keep for each client.
      options: pooler === 'none' ? buildStartupOptions(limits, options) : options,
    } as pg.ClientConfig);
    const retirement = watchRetirement(client, target !== 'any');
    failUnreplicated(client);
    try {
      await client.connect();
      readMessages(client as unknown as Parameters<typeof readMessages>[0], limits);
      const opening = pooler === 'transaction' ? buildOpening(limits) : undefined;
      if (pooler === 'session') await client.query(buildSessionSettings(limits) as pg.QueryConfig);
      if (opening !== undefined) await client.query(`begin; ${opening.text}`);
      const pid = await verifySettings(client, limits, target);
      if (opening !== undefined) await client.query('commit');
      // The connection may have ended in the bytes that opened it: the loss is reported before this line runs.
      if (retirement.reason !== undefined) throw retirement.reason;
      const opened = { client, pid, onRetired: retirement.listen };
      return opening === undefined ? opened : { ...opened, opening, cancel: () => requestCancel(client) };
    } catch (error) {
      client.end().catch(() => undefined);
      throw explainError(error);
    }
  }

  return async (limits) => {
    const failures: unknown[] = [];
    for (const host of hosts) {
      try {
        return await openHost(host, limits);
      } catch (error) {
        failures.push(error);
      }
    }
    // The refusal of a server that answers is more useful than the silence of another.
    throw failures.find((error) => error instanceof InvalidSession || getSqlState(error) !== undefined) ?? failures[0];
  };
}

interface Retirement {
  reason: Error | undefined;
  readonly listen: (listener: (reason: Error) => void) => void;
}

// PostgreSQL 14 and newer report these without a query.
const ROLE_PARAMETERS = ['in_hot_standby', 'default_transaction_read_only'];

/** Watches a connection from before it opens: an error without a listener would end the process. */
function watchRetirement(client: pg.Client, needsWrites: boolean): Retirement {
  let listener: ((reason: Error) => void) | undefined;
  const retire = (reason: Error): void => {
    if (retirement.reason !== undefined) return;
    retirement.reason = reason;
    listener?.(reason);
  };
  const retirement: Retirement = {
    reason: undefined,
    listen(newListener) {
      listener = newListener;
      if (retirement.reason !== undefined) newListener(retirement.reason);
    },
  };
  client.on('error', retire);
  client.on('end', () => retire(new Error('Connection terminated')));
  const { connection } = client as unknown as { connection: NodeJS.EventEmitter };
  connection.on('parameterStatus', (status: { parameterName: string; parameterValue: string }) => {
    const isReadOnly = ROLE_PARAMETERS.includes(status.parameterName) && status.parameterValue === 'on';
    if (isReadOnly && needsWrites) retire(new InvalidSession(READ_ONLY));
  });
  return retirement;
}

/**
 * Treats unreplicated writes as lost. A statement that is cancelled while its COMMIT waits for a synchronous standby succeeds
 * with a warning, though the transaction may be on no other server. It must not be acknowledged, so the connection counts as
 * lost before the end of the statement is read. The warning has the function's name in every language.
 */
function failUnreplicated(client: pg.Client): void {
  client.on('notice', ({ routine }: { routine?: string | undefined }) => {
    if (routine !== 'SyncRepWaitForLSN') return;
    const { connection } = client as unknown as { connection: NodeJS.EventEmitter & { stream: Socket } };
    connection.emit('error', new Error('Connection terminated: the standby has not confirmed a write'));
    connection.stream.destroy();
  });
}

const READ_ONLY = 'The database takes no writes: it is a standby, or read-only';

/** Checks that the requested settings are in force; returns the process id of the backend. */
async function verifySettings(client: pg.Client, limits: ConnectionLimits, target: string): Promise<number> {
  const required = buildRequiredSettings(limits);
  const { rows } = await client.query<[pid: string, isStandby: string, isReadOnly: string, settings: string]>({
    text: `select pg_backend_pid()::text, pg_is_in_recovery()::text, current_setting('default_transaction_read_only'),
  (select json_object_agg(name, setting)::text from pg_catalog.pg_settings where name = any($1))`,
    values: [Object.keys(required)],
    rowMode: 'array',
  });
  const [pid, isStandby, isReadOnly, settingsJson] = rows[0] as (typeof rows)[number];
  const settings = JSON.parse(settingsJson) as Record<string, string | undefined>;
  const mismatches = Object.entries(required).filter(([name, value]) => settings[name] !== value);
  if (mismatches.length > 0) {
    const list = mismatches.map(([name, value]) => `${name} is ${settings[name] ?? 'unknown'} instead of ${value}`);
    throw new InvalidSession(
      `The pooler in front of the database, or the database, ignores our settings: ${list.join(', ')}. Connect to PostgreSQL directly, or say by WDA_POOLER what the pooler does`,
    );
  }
  if (target !== 'any' && (isStandby === 'true' || (target === 'read-write' && isReadOnly === 'on'))) {
    throw new InvalidSession(READ_ONLY);
  }
  return Number(pid);
}

/** Cuts a connection without telling the server, whatever runs on it. */
export function destroy({ client }: Pick<OpenedConnection, 'client'>, reason = 'Connection terminated'): void {
  (client as unknown as { connection: { stream: { destroy(error: Error): void } } }).connection.stream.destroy(
    new Error(reason),
  );
}

/** Explains PgBouncer's refusal of start-up options, with the remedy. */
function explainError(error: unknown): unknown {
  const message = error instanceof Error ? error.message : '';
  if (!/unsupported startup parameter/i.test(message)) return error;
  return new InvalidSession(
    `The pooler in front of the database refuses our settings (${message}). Connect to PostgreSQL directly, or say by WDA_POOLER what the pooler does`,
  );
}

// The settings that all statements rely on, and the three ways to apply them: at the start of a connection, by a statement on
// an open one, and at the begin of each transaction, as a pooler may give the next one another backend.

/** Longest time of a statement, and of its wait for a lock; 0: no limit. */
export interface TimeLimits {
  readonly statementTimeoutMs: number;
  readonly lockTimeoutMs: number;
}

type Settings = Readonly<Record<string, string>>;

const IDLE_IN_TRANSACTION_MS = 15_000;

/** Settings that decide which values are stored and returned. */
export const SEMANTIC_SETTINGS: Settings = {
  TimeZone: 'UTC',
  DateStyle: 'ISO, MDY',
  extra_float_digits: '1',
  synchronous_commit: 'on',
};

const CONSTANT_SETTINGS: Settings = {
  ...SEMANTIC_SETTINGS,
  search_path: 'pg_catalog',
  // A warning reports that a write is on no standby.
  client_min_messages: 'notice',
};

// These change no answer.
const OPTIONAL_SETTINGS: Settings = {
  idle_in_transaction_session_timeout: String(IDLE_IN_TRANSACTION_MS),
  // Lists and expansions are index look-ups with a small limit; compiling them costs more than running them.
  jit: 'off',
};

/** Lists the settings that a connection must confirm before it is used, by names of pg_settings. */
export const buildRequiredSettings = ({ statementTimeoutMs, lockTimeoutMs }: TimeLimits): Settings => ({
  ...CONSTANT_SETTINGS,
  statement_timeout: String(statementTimeoutMs),
  lock_timeout: String(lockTimeoutMs),
});

const buildSettings = (limits: TimeLimits): Settings => ({ ...buildRequiredSettings(limits), ...OPTIONAL_SETTINGS });

/** Builds the start-up parameter `options`. `urlOptions`: those of the URL; ours follow and override them. */
export function buildStartupOptions(limits: TimeLimits, urlOptions: string | undefined): string {
  return [
    ...(urlOptions === undefined ? [] : [urlOptions]),
    ...Object.entries(buildSettings(limits)).map(([name, value]) => `-c ${name}=${value.replace(' ', '\\ ')}`),
    '-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3 -c tcp_user_timeout=30000',
  ].join(' ');
}

/** Builds the statement that sets them for a session with a backend of its own. */
export function buildSessionSettings(limits: TimeLimits): Query {
  const settings = buildSettings(limits);
  return {
    text: 'select set_config(name, value, false) from unnest($1::text[], $2::text[]) s (name, value)',
    values: [Object.keys(settings), Object.values(settings)],
  };
}

/** Settings at the start of each transaction, for connections that have a backend for one transaction only. */
export interface Opening {
  /** Statement that precedes a statement that is a transaction by itself. */
  readonly query: Query;
  /** Text that follows `begin`. Takes no snapshot, as a query would. */
  readonly text: string;
}

/**
 * Builds the opening. Measured on PostgreSQL 15: 15 to 25 µs of the backend's processor time for each transaction. Settings
 * of the role would save 5 to 10 of them, and would not apply to backends that the pooler has opened before.
 */
export function buildOpening(limits: TimeLimits): Opening {
  const settings = Object.entries(buildSettings(limits));
  return {
    query: {
      name: 'opening',
      text: `select ${settings.map(([name], index) => `set_config('${name}', $${index + 1}, true)`).join(', ')}`,
      values: settings.map(([, value]) => value),
    },
    text: settings.map(([name, value]) => `set local ${name} = '${value}'`).join('; '),
  };
}

// Ends connections whose peer has vanished (a host that lost power, a network that drops packets): TCP would wait for minutes.
// PostgreSQL answers every statement within its timeout, so a longer silence is not a slow answer.

const CHECK_MS = 500;
// Allows for the network, and for a database that is late to stop a statement.
const SLACK_MS = 2000;

/**
 * Watches the bytes from the database while `isWaiting`; after a silence longer than a statement may take it destroys the
 * connection, which fails its statements. Returns the function that ends the watch.
 */
export function watchSocketTimeout(
  client: pg.ClientBase,
  statementTimeoutMs: number,
  isWaiting: () => boolean,
): () => void {
  const { stream } = (
    client as unknown as { connection: { stream: { bytesRead: number; destroy(error: Error): void } } }
  ).connection;
  let bytesRead = stream.bytesRead;
  let lastReadAt = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    if (!isWaiting() || stream.bytesRead !== bytesRead) {
      bytesRead = stream.bytesRead;
      lastReadAt = now;
    } else if (now - lastReadAt > statementTimeoutMs + SLACK_MS) {
      clearInterval(timer);
      stream.destroy(new Error('Connection terminated: the database has fallen silent'));
    }
  }, CHECK_MS).unref();
  return () => clearInterval(timer);
}

// The end of a failed statement. PostgreSQL reports the error and goes on in the same bytes. The coordinator of a cluster
// that has stopped a statement reports it at once, and may then wait for a silent node for as long as that is silent: it
// cancels the statement there, too, and gets no answer. Its connection is useless.

/** Longest time until the rest of an answer arrives. */
export const READY_TIMEOUT_MS = 500;

export const STUCK = 'Connection terminated: its server does not go on after an error';

interface Wire {
  readonly readyForQuery: boolean;
  readonly connection: NodeJS.EventEmitter;
}

const getWire = ({ client }: Pick<OpenedConnection, 'client'>): Wire => client as unknown as Wire;

/** Calls the listener each time that the server is ready for the next statement. */
export function onReady(connection: Pick<OpenedConnection, 'client'>, listener: () => void): void {
  getWire(connection).connection.on('readyForQuery', listener);
}

/** Returns false when the server of a connection with one statement at a time does not go on after an error. */
export async function waitUntilReady(connection: Pick<OpenedConnection, 'client'>): Promise<boolean> {
  const wire = getWire(connection);
  if (wire.readyForQuery) return true;
  return new Promise((resolve) => {
    const finish = (isReady: boolean): void => {
      clearTimeout(timer);
      wire.connection.off('readyForQuery', onReady);
      resolve(isReady);
    };
    const onReady = (): void => finish(true);
    const timer = setTimeout(() => finish(false), READY_TIMEOUT_MS);
    wire.connection.on('readyForQuery', onReady);
  });
}

// PostgreSQL's own way to cancel a statement (PostgreSQL documentation, "Canceling Requests in Progress"): by the process id
// and the secret key of the connection, sent on another connection. With a pooler this is the only way that cannot hit another
// client: the pooler knows which backend the connection has at the moment, if any.

const TIMEOUT_MS = 3000;

/** Members of the driver's client that its types lack. */
interface DriverClient {
  readonly host: string;
  readonly port: number;
  readonly ssl: unknown;
  readonly sslNegotiation: string;
  readonly processID: number;
  readonly secretKey: number;
  readonly connection: { readonly stream: Socket };
}

/** Members of the driver's connection that its types lack. */
interface Wire extends NodeJS.EventEmitter {
  readonly stream: Socket;
  connect(portOrPath: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processID: number, secretKey: number): void;
}

/** Resolves when the request was received, whether or not it stopped anything. Rejects when it could not be sent. */
export function requestCancel(client: pg.Client): Promise<void> {
  const { host, port, ssl, sslNegotiation, processID, secretKey, connection } = client as unknown as DriverClient;
  const wire = new pg.Connection({ ssl, sslNegotiation } as pg.ConnectionConfig) as unknown as Wire;
  return new Promise<void>((resolve, reject) => {
    const send = (): void => wire.cancel(processID, secretKey);
    wire.once('connect', () => {
      if (!ssl) send();
      else if (sslNegotiation !== 'direct') wire.requestSsl();
    });
    wire.once('sslconnect', send);
    wire.once('end', resolve);
    wire.on('error', reject);
    wire.stream.setTimeout(TIMEOUT_MS, () => wire.stream.destroy(new Error('a cancel request was not taken in time')));
    if (host.startsWith('/')) wire.connect(`${host}/.s.PGSQL.${port}`);
    // If several poolers share the name, this reaches the one with the connection; a certificate is for the name.
    else wire.connect(port, ssl ? host : (connection.stream.remoteAddress ?? host));
  });
}
