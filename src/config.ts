// The only reader of process.env. Turns the environment into one frozen Config, or the full list of mistakes in it.

import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import type { Pooler } from './database/connection-url.ts';
import { closest } from './model/closest.ts';
import { SETTINGS } from './setting-list.ts';
import {
  findDatabaseMistakes,
  isBaseUrl,
  type PeopleProvider,
  parseCorsOrigins,
  parsePrivateNetwork,
  parseTimeOfDay,
  readPeopleSettings,
  readWebhookSettings,
  type SettingReaders,
} from './setting-values.ts';

export interface Config {
  readonly port: number;
  readonly host: string;
  readonly publicUrl: string;
  readonly databaseUrl: string | undefined;
  /** The pooler at `databaseUrl`, if any. */
  readonly pooler: Pooler;
  /** URL of PostgreSQL itself; set with a pooler in transaction mode only. */
  readonly databaseDirectUrl: string | undefined;
  /** True when reads go straight to the node of a cluster that holds the workspace. */
  readonly nodeReads: boolean;
  readonly dataDir: string;
  readonly adminKey: string | undefined;
  readonly demo: boolean;
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
  readonly maxPageSize: number;
  readonly maxBodyBytes: number;
  /** Most records of one bulk request. */
  readonly maxBulk: number;
  readonly maxBulkBytes: number;
  /** Most operations of one batch. */
  readonly maxBatch: number;
  /** Hours for which an idempotency key is remembered. */
  readonly idempotencyHours: number;
  /** Most bytes of answers that a workspace stores with idempotency keys. */
  readonly idempotencyMaxBytes: number;
  /** Most idempotency keys of a workspace. */
  readonly idempotencyMaxKeys: number;
  readonly activityDays: number;
  /** Hours for which changes of records are kept for feeds. */
  readonly changesHours: number;
  /** Most bytes of the changes of a workspace, without history. */
  readonly changesMaxBytes: number;
  /** Days for which history is kept, where an entity does not configure them. */
  readonly historyDays: number;
  /** Most streams of changes of this process, and of one credential. */
  readonly maxStreams: number;
  readonly streamsPerCredential: number;
  /** Seconds after which a stream sends something, whatever happens. */
  readonly streamHeartbeatSeconds: number;
  /** True when messages of webhooks are sent. */
  readonly webhooks: boolean;
  /** Private networks (CIDR) in which receivers of webhooks may be, with plain http, too; true: all, false: none. */
  readonly webhookPrivateNetwork: boolean | readonly string[];
  /** Time for a receiver to answer, from the begin of the connection to the last header. */
  readonly webhookTimeoutMs: number;
  /** Most requests of this process to receivers at once. */
  readonly webhookParallel: number;
  /** Seconds after the first failed attempt, the second and so on; the last one repeats. */
  readonly webhookRetrySeconds: readonly number[];
  /** Hours of failures after which a webhook is disabled, also with a fraction; 0: never. */
  readonly webhookDisableHours: number;
  /** Days for which messages stay in the log. */
  readonly webhookLogDays: number;
  /** Folder of the daily backups, or undefined if the server makes none. */
  readonly backupDir: string | undefined;
  /** Time of the day, `03:00` (UTC). */
  readonly backupAt: string;
  readonly backupKeep: number;
  readonly maxResponseBytes: number;
  readonly maxImportBytes: number;
  readonly maxRejectBytes: number;
  /** Server processes that share the port. */
  readonly workers: number;
  /** Connections of each process; so are the other kinds. */
  readonly readConnections: number;
  readonly writeConnections: number;
  readonly slowConnections: number;
  readonly transferConnections: number;
  readonly batchConnections: number;
  readonly maxQueue: number;
  readonly statementTimeoutMs: number;
  readonly transferTimeoutMs: number;
  /**
   * Bytes per second that a client must send or read while the server waits for it, over a window of seconds; 0: no
   * minimum.
   */
  readonly minImportBytesPerSecond: number;
  readonly minExportBytesPerSecond: number;
  readonly minAnswerBytesPerSecond: number;
  /** Memory of answers that are not read yet, in bytes. */
  readonly maxUnreadBytes: number;
  readonly transferWindowSeconds: number;
  readonly bodyTimeoutMs: number;
  readonly corsOrigins: '*' | readonly string[];
  readonly rateLimit: number;
  /** True when agents are served (MCP). */
  readonly mcp: boolean;
  /** Most records of one result for an agent, and most bytes of its text. */
  readonly mcpMaxRows: number;
  readonly mcpMaxBytes: number;
  /** Calls of agents per minute and credential. */
  readonly mcpRateLimit: number;
  /** True when the console is served. */
  readonly console: boolean;
  /** Hours without a request after which a session of the console ends. */
  readonly sessionHours: number;
  /** Attempts to sign in to the console per minute and address. */
  readonly signInRateLimit: number;
  /** The OpenID provider that people sign in to the console with, or undefined: then only keys and links do. */
  readonly people: PeopleProvider | undefined;
  readonly tokenLifetimeSeconds: number;
  readonly signingKeyDays: number;
  /** Private networks (CIDR) in which identity providers may be, with plain http, too; true: all, false: none. */
  readonly idpPrivateNetwork: boolean | readonly string[];
  readonly clockSkewSeconds: number;
}

export class ConfigError extends Error {
  readonly mistakes: readonly string[];
  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'));
    this.name = 'ConfigError';
    this.mistakes = mistakes;
  }
}

const MAX_WORKERS = 64;
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

// Names that start with WDA_ and belong to the command line, not to the server.
const CLIENT_SETTINGS = ['WDA_URL', 'WDA_KEY', 'WDA_WORKSPACE'];

/** Variables of the environment, such as process.env. */
export type Environment = Readonly<Record<string, string | undefined>>;

function findUnknownSettings(env: Environment): string[] {
  const names = [...SETTINGS.map((setting) => setting.name), ...CLIENT_SETTINGS];
  return Object.keys(env).flatMap((name) => {
    if (!name.startsWith('WDA_') || names.includes(name)) return [];
    const suggestion = closest(name, names);
    const hint = suggestion === null ? '.' : `; did you mean ${suggestion}?`;
    return `${name} is not a setting${hint} Known: ${names.join(', ')}`;
  });
}

/** Reads and checks every setting; throws ConfigError with all mistakes at once. */
export function readConfig(env: Environment): Config {
  const mistakes: string[] = [];
  const text: SettingReaders['text'] = (name) => {
    const value = env[name];
    return value === undefined || value.trim() === '' ? undefined : value.trim();
  };
  const integer: SettingReaders['integer'] = (name, fallback, min, max) => {
    const value = text(name);
    if (value === undefined) return fallback;
    const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return number;
    mistakes.push(`${name} must be an integer from ${min} to ${max}, is ${JSON.stringify(value)}`);
    return fallback;
  };
  const choice: SettingReaders['choice'] = (name, fallback, values) => {
    const value = text(name);
    if (value === undefined) return fallback;
    const option = values.find((candidate) => candidate === value);
    if (option !== undefined) return option;
    mistakes.push(`${name} must be one of ${values.join(', ')}, is ${JSON.stringify(value)}`);
    return fallback;
  };

  mistakes.push(...findUnknownSettings(env));
  const port = integer('PORT', 3000, 0, 65535);
  const databaseUrl = text('DATABASE_URL');
  const pooler = choice('WDA_POOLER', 'none', ['none', 'session', 'transaction']);
  const databaseDirectUrl = text('DATABASE_DIRECT_URL');
  mistakes.push(...findDatabaseMistakes({ databaseUrl, pooler, databaseDirectUrl }));
  const adminKey = text('WDA_ADMIN_KEY');
  if (adminKey !== undefined && (adminKey.length < 32 || !/^[\x21-\x7e]+$/.test(adminKey))) {
    mistakes.push('WDA_ADMIN_KEY must have 32 printable ASCII characters or more, without spaces');
  }
  const publicUrl = text('PUBLIC_URL');
  if (publicUrl !== undefined && !isBaseUrl(publicUrl)) {
    mistakes.push('PUBLIC_URL must be an http or https URL without user, query and fragment');
  }

  const workers = integer(
    'WDA_WORKERS',
    databaseUrl === undefined ? 1 : Math.min(MAX_WORKERS, availableParallelism()),
    1,
    MAX_WORKERS,
  );
  const backupDir = text('WDA_BACKUP_DIR');
  if (backupDir === undefined && text('WDA_BACKUP_AT') !== undefined) {
    mistakes.push('WDA_BACKUP_AT needs WDA_BACKUP_DIR, the folder for the backups: without it none is made');
  }
  const getWorkerShare = (connections: number): number => Math.ceil(connections / workers);
  const config: Config = {
    port,
    host: text('HOST') ?? '127.0.0.1',
    publicUrl: (publicUrl ?? `http://localhost:${port}`).replace(/\/+$/, ''),
    databaseUrl,
    pooler,
    nodeReads: choice('WDA_NODE_READS', 'on', ['on', 'off']) === 'on',
    databaseDirectUrl,
    dataDir: resolve(text('DATA_DIR') ?? './data'),
    adminKey,
    demo: choice('WDA_DEMO', databaseUrl === undefined ? 'on' : 'off', ['on', 'off']) === 'on',
    logLevel: choice('LOG_LEVEL', 'info', LOG_LEVELS),
    maxPageSize: integer('WDA_MAX_PAGE_SIZE', 1000, 1, 100_000),
    maxBodyBytes: integer('WDA_MAX_BODY_BYTES', 1_048_576, 1024, 268_435_456),
    maxBulk: integer('WDA_MAX_BULK', 1000, 1, 10_000),
    maxBulkBytes: integer('WDA_MAX_BULK_BYTES', 10_485_760, 1024, 268_435_456),
    maxBatch: integer('WDA_MAX_BATCH', 100, 1, 1000),
    idempotencyHours: integer('WDA_IDEMPOTENCY_HOURS', 24, 1, 8760),
    idempotencyMaxBytes: integer('WDA_IDEMPOTENCY_MAX_BYTES', 67_108_864, 0, 1_099_511_627_776),
    idempotencyMaxKeys: integer('WDA_IDEMPOTENCY_MAX_KEYS', 10_000_000, 1, 1_000_000_000),
    activityDays: integer('WDA_ACTIVITY_DAYS', 365, 1, 36_500),
    changesHours: integer('WDA_CHANGES_HOURS', 168, 1, 8760),
    changesMaxBytes: integer('WDA_CHANGES_MAX_BYTES', 10_737_418_240, 1_048_576, Number.MAX_SAFE_INTEGER),
    historyDays: integer('WDA_HISTORY_DAYS', 365, 1, 36_500),
    maxStreams: integer('WDA_MAX_STREAMS', 10_000, 0, 100_000),
    streamsPerCredential: integer('WDA_STREAMS_PER_CREDENTIAL', 100, 1, 10_000),
    streamHeartbeatSeconds: integer('WDA_STREAM_HEARTBEAT_SECONDS', 15, 1, 60),
    ...readWebhookSettings({ text, integer, choice, mistakes }),
    backupDir: backupDir === undefined ? undefined : resolve(backupDir),
    backupAt: parseTimeOfDay('WDA_BACKUP_AT', text('WDA_BACKUP_AT') ?? '03:00', mistakes),
    backupKeep: integer('WDA_BACKUP_KEEP', 14, 1, 10_000),
    maxResponseBytes: integer('WDA_MAX_RESPONSE_BYTES', 33_554_432, 1024, 268_435_456),
    maxImportBytes: integer('WDA_MAX_IMPORT_BYTES', 10_737_418_240, 1024, Number.MAX_SAFE_INTEGER),
    maxRejectBytes: integer('WDA_MAX_REJECT_BYTES', 268_435_456, 1024, Number.MAX_SAFE_INTEGER),
    workers,
    readConnections: getWorkerShare(integer('WDA_READ_CONNECTIONS', 4, 1, 100)),
    writeConnections: getWorkerShare(integer('WDA_WRITE_CONNECTIONS', 6, 1, 100)),
    slowConnections: integer('WDA_SLOW_CONNECTIONS', 4, 2, 100),
    transferConnections: integer('WDA_TRANSFER_CONNECTIONS', 4, 2, 100),
    batchConnections: integer('WDA_BATCH_CONNECTIONS', 4, 2, 100),
    maxQueue: integer('WDA_MAX_QUEUE', 1000, 1, 1_000_000),
    statementTimeoutMs: integer('WDA_STATEMENT_TIMEOUT_MS', 10_000, 100, 3_600_000),
    transferTimeoutMs: integer('WDA_TRANSFER_TIMEOUT_MS', 3_600_000, 1000, 86_400_000),
    minImportBytesPerSecond: integer('WDA_MIN_IMPORT_BYTES_PER_SECOND', 4096, 0, 1_000_000_000),
    minExportBytesPerSecond: integer('WDA_MIN_EXPORT_BYTES_PER_SECOND', 65_536, 0, 1_000_000_000),
    minAnswerBytesPerSecond: integer('WDA_MIN_ANSWER_BYTES_PER_SECOND', 4096, 1, 1_000_000_000),
    maxUnreadBytes: integer('WDA_MAX_UNREAD_BYTES', 201_326_592, 1_048_576, 68_719_476_736),
    transferWindowSeconds: integer('WDA_TRANSFER_WINDOW_SECONDS', 60, 1, 3600),
    bodyTimeoutMs: integer('WDA_BODY_TIMEOUT_MS', 30_000, 100, 3_600_000),
    corsOrigins: parseCorsOrigins(env.WDA_CORS_ORIGINS, mistakes),
    rateLimit: integer('WDA_RATE_LIMIT', 0, 0, 1_000_000_000),
    mcp: choice('WDA_MCP', 'on', ['on', 'off']) === 'on',
    mcpMaxRows: integer('WDA_MCP_MAX_ROWS', 100, 1, 1000),
    mcpMaxBytes: integer('WDA_MCP_MAX_BYTES', 65_536, 1024, 1_048_576),
    mcpRateLimit: integer('WDA_MCP_RATE_LIMIT', 120, 0, 1_000_000_000),
    console: choice('WDA_CONSOLE', 'on', ['on', 'off']) === 'on',
    sessionHours: integer('WDA_SESSION_HOURS', 12, 1, 168),
    signInRateLimit: integer('WDA_SIGN_IN_RATE_LIMIT', 10, 0, 1_000_000_000),
    people: readPeopleSettings(text, mistakes),
    tokenLifetimeSeconds: integer('WDA_TOKEN_LIFETIME_SECONDS', 3600, 1, 2_592_000),
    signingKeyDays: integer('WDA_SIGNING_KEY_DAYS', 90, 0, 3650),
    idpPrivateNetwork: parsePrivateNetwork('WDA_IDP_PRIVATE_NETWORK', text, mistakes),
    clockSkewSeconds: integer('WDA_CLOCK_SKEW_SECONDS', 0, 0, 300),
  };
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return Object.freeze(config);
}

/** Returns the Config of this process. */
export const processConfig = (): Config => readConfig(process.env);

export const processEnvironment = (): Environment => process.env;

/** Reads the settings of the command line's client. */
export function clientSettings(env: Environment): {
  readonly url: string | undefined;
  readonly key: string | undefined;
  readonly workspace: string | undefined;
} {
  const { WDA_URL, WDA_KEY, WDA_ADMIN_KEY, WDA_WORKSPACE } = env;
  return {
    url: WDA_URL || undefined,
    key: WDA_KEY || WDA_ADMIN_KEY || undefined,
    workspace: WDA_WORKSPACE || undefined,
  };
}

/** Port of a server with this environment. */
export const serverPort = (env: Environment): string => env.PORT || '3000';
