// Settings: defaults, what is accepted, and every mistake at once.
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { type Config, ConfigError, readConfig } from '../../src/config.ts';
import { SETTINGS } from '../../src/setting-list.ts';

/** The lines of the mistakes in an environment; none when it is accepted. */
function mistakes(env: Readonly<Record<string, string>>): readonly string[] {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
}

const DEFAULTS: Config = {
  port: 3000,
  host: '127.0.0.1',
  publicUrl: 'http://localhost:3000',
  databaseUrl: undefined,
  pooler: 'none',
  nodeReads: true,
  databaseDirectUrl: undefined,
  dataDir: resolve('data'),
  adminKey: undefined,
  demo: true,
  logLevel: 'info',
  maxPageSize: 1000,
  maxBodyBytes: 1_048_576,
  maxBulk: 1000,
  maxBulkBytes: 10_485_760,
  maxBatch: 100,
  idempotencyHours: 24,
  idempotencyMaxBytes: 67_108_864,
  idempotencyMaxKeys: 10_000_000,
  activityDays: 365,
  changesHours: 168,
  changesMaxBytes: 10_737_418_240,
  historyDays: 365,
  maxStreams: 10_000,
  streamsPerCredential: 100,
  streamHeartbeatSeconds: 15,
  webhooks: true,
  webhookPrivateNetwork: false,
  webhookTimeoutMs: 15_000,
  webhookParallel: 32,
  webhookRetrySeconds: [5, 30, 120, 600, 1800, 3600, 7200, 18_000],
  webhookDisableHours: 120,
  webhookLogDays: 7,
  backupDir: undefined,
  backupAt: '03:00',
  backupKeep: 14,
  maxResponseBytes: 33_554_432,
  maxImportBytes: 10_737_418_240,
  maxRejectBytes: 268_435_456,
  workers: 1,
  readConnections: 4,
  writeConnections: 6,
  slowConnections: 4,
  transferConnections: 4,
  batchConnections: 4,
  maxQueue: 1000,
  statementTimeoutMs: 10_000,
  transferTimeoutMs: 3_600_000,
  minImportBytesPerSecond: 4096,
  minExportBytesPerSecond: 65_536,
  minAnswerBytesPerSecond: 4096,
  maxUnreadBytes: 201_326_592,
  transferWindowSeconds: 60,
  bodyTimeoutMs: 30_000,
  corsOrigins: '*',
  rateLimit: 0,
  mcp: true,
  mcpMaxRows: 100,
  mcpMaxBytes: 65_536,
  mcpRateLimit: 120,
  console: true,
  sessionHours: 12,
  signInRateLimit: 10,
  people: undefined,
  tokenLifetimeSeconds: 3600,
  signingKeyDays: 90,
  idpPrivateNetwork: false,
  clockSkewSeconds: 0,
};

test('without a setting the defaults hold, and nobody changes them afterwards', () => {
  assert.deepEqual(readConfig({}), DEFAULTS);
  assert.ok(Object.isFrozen(readConfig({})));
});

test('a setting of blanks is none', () => {
  const blank = Object.fromEntries(
    SETTINGS.filter(({ name }) => name !== 'WDA_CORS_ORIGINS').map(({ name }) => [name, '  ']),
  );
  assert.deepEqual(readConfig(blank), DEFAULTS);
});

test('the documented default of a number is the one in force', () => {
  const numbers = SETTINGS.filter((setting) => /^\d+$/.test(setting.default));
  assert.ok(numbers.length > 10);
  for (const { name, default: text } of numbers) assert.deepEqual(readConfig({ [name]: text }), DEFAULTS, name);
});

const KEY = 'k'.repeat(32);

const GOOD: readonly (readonly [env: Readonly<Record<string, string>>, config: Partial<Config>])[] = [
  [{ PORT: '8080' }, { port: 8080, publicUrl: 'http://localhost:8080' }],
  [
    { WDA_CONSOLE_OIDC_ISSUER: 'https://login.example.com/x', WDA_CONSOLE_OIDC_CLIENT_ID: 'wda' },
    {
      people: {
        issuer: 'https://login.example.com/x',
        clientId: 'wda',
        clientSecret: undefined,
        name: 'login.example.com',
        roleClaim: null,
        operatorRole: 'wda-operator',
      },
    },
  ],
  [{ PORT: '0' }, { port: 0 }],
  [{ PORT: ' 8080 ' }, { port: 8080 }],
  [{ HOST: '0.0.0.0' }, { host: '0.0.0.0' }],
  [{ PUBLIC_URL: 'https://data.example.com/' }, { publicUrl: 'https://data.example.com' }],
  [{ DATABASE_URL: 'postgres://user:pw@db:5432/wda' }, { databaseUrl: 'postgres://user:pw@db:5432/wda', demo: false }],
  [
    { DATABASE_URL: 'postgresql:///wda?host=/run/postgresql' },
    { databaseUrl: 'postgresql:///wda?host=/run/postgresql' },
  ],
  [{ DATABASE_URL: 'postgres://db/wda', WDA_DEMO: 'on' }, { demo: true }],
  [{ DATABASE_URL: 'postgres://db/wda', WDA_POOLER: 'session' }, { pooler: 'session' }],
  [{ WDA_NODE_READS: 'off' }, { nodeReads: false }],
  [
    { DATABASE_URL: 'postgres://pool/wda', WDA_POOLER: 'transaction', DATABASE_DIRECT_URL: 'postgres://db/wda' },
    { pooler: 'transaction', databaseDirectUrl: 'postgres://db/wda' },
  ],
  [{ DATABASE_URL: 'postgres://a:1,b/wda' }, { databaseUrl: 'postgres://a:1,b/wda', demo: false }],
  [{ WDA_DEMO: 'off' }, { demo: false }],
  [{ DATA_DIR: '/var/lib/wda' }, { dataDir: '/var/lib/wda' }],
  [
    { WDA_BACKUP_DIR: '/srv/backups', WDA_BACKUP_AT: '23:59' },
    { backupDir: '/srv/backups', backupAt: '23:59' },
  ],
  [{ WDA_ADMIN_KEY: KEY }, { adminKey: KEY }],
  [{ LOG_LEVEL: 'silent' }, { logLevel: 'silent' }],
  [{ WDA_CORS_ORIGINS: '*' }, { corsOrigins: '*' }],
  [{ WDA_CORS_ORIGINS: '' }, { corsOrigins: [] }],
  [
    { WDA_CORS_ORIGINS: 'https://a.example.com, http://localhost:5173' },
    { corsOrigins: ['https://a.example.com', 'http://localhost:5173'] },
  ],
  [{ WDA_MCP: 'off' }, { mcp: false }],
  [{ WDA_CONSOLE: 'off' }, { console: false }],
  [{ WDA_IDP_PRIVATE_NETWORK: 'allow' }, { idpPrivateNetwork: true }],
  [{ WDA_WEBHOOKS: 'off' }, { webhooks: false }],
  [{ WDA_WEBHOOK_RETRY_SECONDS: '1, 86400' }, { webhookRetrySeconds: [1, 86_400] }],
  [{ WDA_WEBHOOK_DISABLE_HOURS: '0.5' }, { webhookDisableHours: 0.5 }],
  [{ WDA_WEBHOOK_DISABLE_HOURS: '0' }, { webhookDisableHours: 0 }],
  [{ WDA_WEBHOOK_PRIVATE_NETWORK: '10.1.0.0/16' }, { webhookPrivateNetwork: ['10.1.0.0/16'] }],
  [{ WDA_IDP_PRIVATE_NETWORK: '10.1.0.0/16, fd12::/48' }, { idpPrivateNetwork: ['10.1.0.0/16', 'fd12::/48'] }],
  [
    { WDA_WORKERS: '4', WDA_READ_CONNECTIONS: '6' },
    { workers: 4, readConnections: 2, writeConnections: 2 },
  ],
  [{ WDA_URL: 'http://x', WDA_KEY: 'y', WDA_WORKSPACE: 'a/b' }, {}],
  [{ PATH: '/bin', NODE_ENV: 'test', wda_x: '1' }, {}],
];

for (const [env, config] of GOOD) {
  test(`${JSON.stringify(env)} is accepted`, () => {
    assert.deepEqual({ ...readConfig(env), ...config }, readConfig(env));
    assert.deepEqual(Object.keys(readConfig(env)), Object.keys(DEFAULTS));
  });
}

/** Integers: the least, the most. */
const RANGES: Readonly<Record<string, readonly [min: number, max: number]>> = {
  PORT: [0, 65535],
  WDA_MAX_PAGE_SIZE: [1, 100_000],
  WDA_MAX_BODY_BYTES: [1024, 268_435_456],
  WDA_MAX_BULK: [1, 10_000],
  WDA_MAX_BULK_BYTES: [1024, 268_435_456],
  WDA_MAX_BATCH: [1, 1000],
  WDA_IDEMPOTENCY_HOURS: [1, 8760],
  WDA_IDEMPOTENCY_MAX_BYTES: [0, 1_099_511_627_776],
  WDA_IDEMPOTENCY_MAX_KEYS: [1, 1_000_000_000],
  WDA_ACTIVITY_DAYS: [1, 36_500],
  WDA_CHANGES_HOURS: [1, 8760],
  WDA_CHANGES_MAX_BYTES: [1_048_576, Number.MAX_SAFE_INTEGER],
  WDA_HISTORY_DAYS: [1, 36_500],
  WDA_MAX_STREAMS: [0, 100_000],
  WDA_STREAMS_PER_CREDENTIAL: [1, 10_000],
  WDA_STREAM_HEARTBEAT_SECONDS: [1, 60],
  WDA_WEBHOOK_TIMEOUT_MS: [100, 60_000],
  WDA_WEBHOOK_PARALLEL: [1, 1000],
  WDA_WEBHOOK_LOG_DAYS: [1, 365],
  WDA_BACKUP_KEEP: [1, 10_000],
  WDA_MAX_RESPONSE_BYTES: [1024, 268_435_456],
  WDA_MAX_IMPORT_BYTES: [1024, Number.MAX_SAFE_INTEGER],
  WDA_MAX_REJECT_BYTES: [1024, Number.MAX_SAFE_INTEGER],
  WDA_WORKERS: [1, 64],
  WDA_READ_CONNECTIONS: [1, 100],
  WDA_WRITE_CONNECTIONS: [1, 100],
  WDA_SLOW_CONNECTIONS: [2, 100],
  WDA_TRANSFER_CONNECTIONS: [2, 100],
  WDA_BATCH_CONNECTIONS: [2, 100],
  WDA_MAX_QUEUE: [1, 1_000_000],
  WDA_STATEMENT_TIMEOUT_MS: [100, 3_600_000],
  WDA_TRANSFER_TIMEOUT_MS: [1000, 86_400_000],
  WDA_MIN_IMPORT_BYTES_PER_SECOND: [0, 1_000_000_000],
  WDA_MIN_EXPORT_BYTES_PER_SECOND: [0, 1_000_000_000],
  WDA_MIN_ANSWER_BYTES_PER_SECOND: [1, 1_000_000_000],
  WDA_MAX_UNREAD_BYTES: [1_048_576, 68_719_476_736],
  WDA_TRANSFER_WINDOW_SECONDS: [1, 3600],
  WDA_BODY_TIMEOUT_MS: [100, 3_600_000],
  WDA_RATE_LIMIT: [0, 1_000_000_000],
  WDA_MCP_MAX_ROWS: [1, 1000],
  WDA_MCP_MAX_BYTES: [1024, 1_048_576],
  WDA_MCP_RATE_LIMIT: [0, 1_000_000_000],
  WDA_SESSION_HOURS: [1, 168],
  WDA_SIGN_IN_RATE_LIMIT: [0, 1_000_000_000],
  WDA_TOKEN_LIFETIME_SECONDS: [1, 2_592_000],
  WDA_SIGNING_KEY_DAYS: [0, 3650],
  WDA_CLOCK_SKEW_SECONDS: [0, 300],
};

for (const [name, [min, max]] of Object.entries(RANGES)) {
  test(`${name} is an integer from ${min} to ${max}`, () => {
    for (const text of [String(min), String(max)]) assert.deepEqual(mistakes({ [name]: text }), []);
    for (const text of [
      String(min - 1),
      String(max + 1),
      '1.5',
      '1e3',
      '0x10',
      'many',
      '-',
      '1 0',
      '٣',
      'NaN',
      'Infinity',
    ]) {
      assert.deepEqual(mistakes({ [name]: text }), [
        `${name} must be an integer from ${min} to ${max}, is ${JSON.stringify(text)}`,
      ]);
    }
  });
}

const BAD: readonly (readonly [env: Readonly<Record<string, string>>, mistake: string | RegExp])[] = [
  ...['CLIENT_ID', 'CLIENT_SECRET', 'NAME', 'ROLE_CLAIM', 'OPERATOR_ROLE'].map(
    (name) => [{ [`WDA_CONSOLE_OIDC_${name}`]: 'x' }, / needs WDA_CONSOLE_OIDC_ISSUER and .*_CLIENT_ID$/] as const,
  ),
  [
    { WDA_CONSOLE_OIDC_ISSUER: 'login', WDA_CONSOLE_OIDC_CLIENT_ID: 'x' },
    'WDA_CONSOLE_OIDC_ISSUER must be an http or https URL without user, query and fragment',
  ],
  [
    {
      WDA_CONSOLE_OIDC_ISSUER: 'https://login',
      WDA_CONSOLE_OIDC_CLIENT_ID: 'x',
      WDA_CONSOLE_OIDC_OPERATOR_ROLE: 'x',
    },
    /ROLE_CLAIM names, which is not set$/,
  ],
  [
    { WDA_BACKUP_AT: '04:00' },
    'WDA_BACKUP_AT needs WDA_BACKUP_DIR, the folder for the backups: without it none is made',
  ],
  ...['mysql://db/wda', 'db', 'http://db'].map(
    (url) =>
      [{ DATABASE_URL: url }, /^DATABASE_URL must look like postgres:\/\/user:password@host:5432\/database;/] as const,
  ),
  ...['postgres://', 'postgres:///wda'].map(
    (url) => [{ DATABASE_URL: url }, /^DATABASE_URL names no host; it looks like postgres:/] as const,
  ),
  [{ WDA_POOLER: 'session' }, 'WDA_POOLER is about what stands at DATABASE_URL, which is not set'],
  [
    { DATABASE_URL: 'postgres://db/wda', WDA_POOLER: 'statement' },
    'WDA_POOLER must be one of none, session, transaction, is "statement"',
  ],
  [
    { DATABASE_URL: 'postgres://db/wda', WDA_POOLER: 'transaction' },
    /^WDA_POOLER=transaction needs DATABASE_DIRECT_URL/,
  ],
  [
    { DATABASE_URL: 'postgres://db/wda', WDA_POOLER: 'session', DATABASE_DIRECT_URL: 'postgres://db/wda' },
    /^DATABASE_DIRECT_URL is for WDA_POOLER=transaction alone/,
  ],
  [
    { DATABASE_URL: 'postgres://db/wda', WDA_POOLER: 'transaction', DATABASE_DIRECT_URL: 'postgres://db:99999/wda' },
    'DATABASE_DIRECT_URL has the port 99999; a port is a number from 1 to 65535',
  ],
  ...[
    'localhost:3000',
    'ftp://x',
    'x',
    'https://',
    'https://u:p@example.com',
    'https://example.com?a=1',
    'https://example.com#a',
  ].map(
    (url) => [{ PUBLIC_URL: url }, 'PUBLIC_URL must be an http or https URL without user, query and fragment'] as const,
  ),
  ...['k'.repeat(31), `${'k'.repeat(32)} k`, `${'k'.repeat(31)}ä`].map(
    (key) =>
      [
        { WDA_ADMIN_KEY: key },
        'WDA_ADMIN_KEY must have 32 printable ASCII characters or more, without spaces',
      ] as const,
  ),
  [{ WDA_DEMO: 'true' }, 'WDA_DEMO must be one of on, off, is "true"'],
  [{ WDA_DEMO: 'On' }, 'WDA_DEMO must be one of on, off, is "On"'],
  [{ LOG_LEVEL: 'verbose' }, 'LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent, is "verbose"'],
  [
    { WDA_IDP_PRIVATE_NETWORK: 'yes' },
    'WDA_IDP_PRIVATE_NETWORK must be deny, allow, or networks such as 10.1.0.0/16, has "yes"',
  ],
  [
    { WDA_IDP_PRIVATE_NETWORK: '10.1.0.0/16, 10.0.0.0/33' },
    'WDA_IDP_PRIVATE_NETWORK must be deny, allow, or networks such as 10.1.0.0/16, has "10.0.0.0/33"',
  ],
  ...['5,', '0', '86401', '1.5', '-1', 'x', Array(21).fill('1').join()].map(
    (delays) =>
      [
        { WDA_WEBHOOK_RETRY_SECONDS: delays },
        `WDA_WEBHOOK_RETRY_SECONDS must list 1 to 20 numbers of seconds from 1 to 86400, such as 5,30,120, is ${JSON.stringify(delays)}`,
      ] as const,
  ),
  ...['-1', '8761', '1e3', 'never', '.5'].map(
    (hours) =>
      [
        { WDA_WEBHOOK_DISABLE_HOURS: hours },
        `WDA_WEBHOOK_DISABLE_HOURS must be a number from 0 to 8760, is ${JSON.stringify(hours)}`,
      ] as const,
  ),
  ...[
    'example.com',
    'https://example.com/',
    'https://example.com/path',
    'https://*.example.com:x',
    '*.example.com',
    'null',
    'ws://example.com',
  ].map(
    (origin) =>
      [
        { WDA_CORS_ORIGINS: origin },
        `WDA_CORS_ORIGINS must list origins such as https://app.example.com, has ${JSON.stringify(origin)}`,
      ] as const,
  ),
  [{ WDA_CORS_ORIGINS: '*, https://a.example.com' }, /has "\*"$/],
  [
    { WDA_MAX_PAGESIZE: '5' },
    /^WDA_MAX_PAGESIZE is not a setting; did you mean WDA_MAX_PAGE_SIZE\? Known: PORT, HOST, /,
  ],
  [{ WDA_X: '' }, /^WDA_X is not a setting/],
];

for (const [env, mistake] of BAD) {
  test(`${JSON.stringify(env)} is refused`, () => {
    const [first, ...more] = mistakes(env);
    if (typeof mistake === 'string') assert.equal(first, mistake);
    else assert.match(first ?? '', mistake);
    assert.deepEqual(more, []);
  });
}

test('every mistake is told, in one go', () => {
  const env = {
    ...Object.fromEntries(Object.keys(RANGES).map((name) => [name, 'x'])),
    DATABASE_URL: 'x',
    PUBLIC_URL: 'x',
    WDA_ADMIN_KEY: 'x',
    WDA_DEMO: 'x',
    LOG_LEVEL: 'x',
    WDA_CORS_ORIGINS: 'x,y',
    WDA_IDP_PRIVATE_NETWORK: 'x',
    WDA_UNKNOWN: 'x',
  };
  const told = mistakes(env);
  assert.equal(told.length, Object.keys(env).length + 1);
  for (const name of Object.keys(env))
    assert.ok(
      told.some((line) => line.startsWith(`${name} `)),
      name,
    );
});

test('every setting has its test', () => {
  const tested = new Set([...Object.keys(RANGES), ...[...GOOD, ...BAD].flatMap(([env]) => Object.keys(env))]);
  for (const { name } of SETTINGS) assert.ok(tested.has(name), name);
});

test('a mistake does not repeat a password or a key', () => {
  for (const env of [
    { DATABASE_URL: 'postgres://user:secret@db:port/x' },
    { WDA_ADMIN_KEY: 'secret' },
    { PUBLIC_URL: 'https://u:secret@x' },
  ]) {
    assert.doesNotMatch(mistakes(env).join(), /secret/);
  }
});
