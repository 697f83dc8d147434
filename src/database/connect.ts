// Opens connections: tries the hosts of the address in their order, asks for the settings that all statements rely on,
// and believes none of them before the server has confirmed it. Otherwise a pooler that drops start-up options would let
// datetimes leave in another zone, statements run without a limit, and acknowledged writes not wait for the disk.

import type { Socket } from 'node:net';
import pg from 'pg';
import type { Query } from '../sql/fragment.ts';
import { type DatabaseHost, type Route, resolveAddress } from './connection-url.ts';
import { getSqlState, InvalidSession, MessageTooLong } from './errors.ts';

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

// Of one host; the last of several must not wait for the first for long.
const CONNECT_TIMEOUT_MS = 3000;
const MULTI_HOST_TIMEOUT_MS = 2000;
// A peer that lost power or network says nothing: it is found within 25 s, by the system at either end.
const KEEP_ALIVE_MS = 10_000;

/** `route`: a form of the driver's own, or a URL. */
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
      // A pooler refuses what it cannot keep for each client.
      options: pooler === 'none' ? buildStartupOptions(limits, options) : options,
    } as pg.ClientConfig);
    const retirement = watchRetirement(client, target !== 'any');
    failUnreplicated(client);
    try {
      await client.connect();
      const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
      limitMessageLength(stream, limits.maxMessageBytes ?? MAX_MESSAGE_BYTES);
      const opening = pooler === 'transaction' ? buildOpening(limits) : undefined;
      if (pooler === 'session') await client.query(buildSessionSettings(limits) as pg.QueryConfig);
      if (opening !== undefined) await client.query(`begin; ${opening.text}`);
      const pid = await verifySettings(client, limits, target);
      if (opening !== undefined) await client.query('commit');
      // It may have ended in the bytes that opened it: the loss is reported before this line runs.
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
    // The refusal of a server that answers says more than the silence of another.
    throw failures.find((error) => error instanceof InvalidSession || getSqlState(error) !== undefined) ?? failures[0];
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
 * A statement that is cancelled while its COMMIT waits for a synchronous standby is reported as done, with a warning: its
 * transaction is kept here and may be on no other server. Nobody may be told that it was written, so the connection counts
 * as lost before the end of the statement is read. The function's name stands in the warning in every language.
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

/** Asks for what was asked for; gives the backend's number. */
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

/** PgBouncer's refusal of start-up options, in words that say what to do. */
function explainError(error: unknown): unknown {
  const message = error instanceof Error ? error.message : '';
  if (!/unsupported startup parameter/i.test(message)) return error;
  return new InvalidSession(
    `The pooler in front of the database refuses our settings (${message}). Connect to PostgreSQL directly, or say by WDA_POOLER what the pooler does`,
  );
}

// The settings that all statements rely on, in the three ways in which a connection can be told of them: when it starts, by a
// statement when it is open, and at the begin of each transaction, as behind a pooler the next one may meet another backend.

/** How long statements may take, and wait for a lock; 0: without end. */
export interface TimeLimits {
  readonly statementTimeoutMs: number;
  readonly lockTimeoutMs: number;
}

type Settings = Readonly<Record<string, string>>;

const IDLE_IN_TRANSACTION_MS = 15_000;

/** Those on which it depends what is stored and what is told, wherever a statement is run. */
export const SEMANTIC_SETTINGS: Settings = {
  TimeZone: 'UTC',
  DateStyle: 'ISO, MDY',
  extra_float_digits: '1',
  synchronous_commit: 'on',
};

const CONSTANT_SETTINGS: Settings = {
  ...SEMANTIC_SETTINGS,
  search_path: 'pg_catalog',
  // A warning tells that a write is on no standby.
  client_min_messages: 'notice',
};

// These change no answer.
const OPTIONAL_SETTINGS: Settings = {
  idle_in_transaction_session_timeout: String(IDLE_IN_TRANSACTION_MS),
  // Lists and expansions are index look-ups with a small limit; compiling them costs more than running them.
  jit: 'off',
};

/** What a connection must confirm before it is used, by names of pg_settings. */
export const buildRequiredSettings = ({ statementTimeoutMs, lockTimeoutMs }: TimeLimits): Settings => ({
  ...CONSTANT_SETTINGS,
  statement_timeout: String(statementTimeoutMs),
  lock_timeout: String(lockTimeoutMs),
});

const buildSettings = (limits: TimeLimits): Settings => ({ ...buildRequiredSettings(limits), ...OPTIONAL_SETTINGS });

/** The start-up parameter `options`; `own`: what the URL asks for, which gives way to ours. */
export function buildStartupOptions(limits: TimeLimits, urlOptions: string | undefined): string {
  return [
    ...(urlOptions === undefined ? [] : [urlOptions]),
    ...Object.entries(buildSettings(limits)).map(([name, value]) => `-c ${name}=${value.replace(' ', '\\ ')}`),
    '-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3 -c tcp_user_timeout=30000',
  ].join(' ');
}

/** Sets them for a session: for one that has its backend to itself. */
export function buildSessionSettings(limits: TimeLimits): Query {
  const settings = buildSettings(limits);
  return {
    text: 'select set_config(name, value, false) from unnest($1::text[], $2::text[]) s (name, value)',
    values: [Object.keys(settings), Object.values(settings)],
  };
}

/** How a transaction begins on a connection whose backend belongs to it no longer than that. */
export interface Opening {
  /** Precedes a statement that is a transaction by itself. */
  readonly query: Query;
  /** Follows `begin`. Takes no snapshot, as a query would. */
  readonly text: string;
}

/**
 * Measured on PostgreSQL 15: 15 to 25 µs of the backend's processor time for each transaction. Settings of the role would
 * save 5 to 10 of them, and would not hold on backends that the pooler has opened before.
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

// A bound on what PostgreSQL may send in one message. The driver holds a message whole and makes a string of each of its
// columns: beyond half a gigabyte it throws where nobody catches, and before that it fills the memory.

/** In bytes. What a string of JavaScript can hold is 512 MiB. */
export const MAX_MESSAGE_BYTES = 268_435_456;

const HEADER = 5;

/**
 * Ends the connection when a message begins that is longer than `limit` bytes. Reads the lengths alone (PostgreSQL
 * documentation, "Message Formats": a type, then a length that counts itself), a dozen instructions a message.
 */
export function limitMessageLength(stream: Socket, limit: number): void {
  /** Bytes of the message under way that have not come yet. */
  let remainingBytes = 0;
  const header = Buffer.alloc(HEADER);
  let headerBytes = 0;
  stream.prependListener('data', (chunk: Buffer) => {
    let offset = 0;
    while (offset < chunk.length) {
      if (remainingBytes > 0) {
        const part = Math.min(remainingBytes, chunk.length - offset);
        remainingBytes -= part;
        offset += part;
        continue;
      }
      let length: number;
      if (headerBytes === 0 && chunk.length - offset >= HEADER) {
        length = chunk.readUInt32BE(offset + 1);
        offset += HEADER;
      } else {
        header[headerBytes++] = chunk[offset++] as number;
        if (headerBytes < HEADER) continue;
        length = header.readUInt32BE(1);
        headerBytes = 0;
      }
      if (length > limit) {
        stream.destroy(new MessageTooLong(limit));
        return;
      }
      remainingBytes = length - 4;
    }
  });
}

// Ends connections whose other end has gone without a word (a host that lost power, a network that drops packets): TCP
// would wait for minutes. PostgreSQL answers every statement within its timeout, so a longer silence is not a slow answer.

const CHECK_MS = 500;
// For the way there and back, and for a database that is late to stop a statement.
const SLACK_MS = 2000;

/**
 * Watches the bytes that come from the database while `isWaiting`; after a silence longer than a statement may take the
 * connection is destroyed, which fails what waits on it. Gives the function that ends the watch.
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

// The end of a statement that has failed. PostgreSQL tells of the error and goes on in the same bytes. The coordinator of a
// cluster that has stopped a statement tells of it at once, and may then wait for a node that has fallen silent as long as
// that is: it stops the statement there, too, and hears nothing. Its connection is of no more use.

/** How long the rest may be on its way. */
export const READY_TIMEOUT_MS = 500;

export const STUCK = 'Connection terminated: its server does not go on after an error';

interface Wire {
  readonly readyForQuery: boolean;
  readonly connection: NodeJS.EventEmitter;
}

const getWire = ({ client }: Pick<OpenedConnection, 'client'>): Wire => client as unknown as Wire;

/** Calls each time that the server waits for the next statement. */
export function onReady(connection: Pick<OpenedConnection, 'client'>, listener: () => void): void {
  getWire(connection).connection.on('readyForQuery', listener);
}

/** After an error on a connection that runs one statement at a time: false when its server does not go on. */
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

// PostgreSQL's own way to stop what a connection does (PostgreSQL documentation, "Canceling Requests in Progress"): by the
// number and the secret that the connection was told when it opened, on a connection of its own. Behind a pooler this is the
// only way that cannot hit somebody else: the pooler knows which backend the connection has at the moment, if any.

const TIMEOUT_MS = 3000;

/** What the driver's client has beyond its types. */
interface DriverClient {
  readonly host: string;
  readonly port: number;
  readonly ssl: unknown;
  readonly sslNegotiation: string;
  readonly processID: number;
  readonly secretKey: number;
  readonly connection: { readonly stream: Socket };
}

/** What the driver's connection has beyond its types. */
interface Wire extends NodeJS.EventEmitter {
  readonly stream: Socket;
  connect(portOrPath: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processID: number, secretKey: number): void;
}

/** Resolves when the request was taken; nobody says whether it stopped anything. Rejects when it could not be sent. */
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
    // Of several poolers behind one name, the one that has the connection; a certificate is for the name.
    else wire.connect(port, ssl ? host : (connection.stream.remoteAddress ?? host));
  });
}
