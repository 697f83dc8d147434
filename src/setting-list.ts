// All settings of the server: their names in the environment, defaults and descriptions.

/** One row of the settings table in docs/reference/settings.md; the test of that page reads this list. */
export interface Setting {
  readonly name: string;
  readonly default: string;
  readonly description: string;
}

export const SETTINGS: readonly Setting[] = [
  { name: 'PORT', default: '3000', description: 'TCP port to listen on' },
  { name: 'HOST', default: '127.0.0.1', description: 'address to listen on; 0.0.0.0 for all' },
  {
    name: 'PUBLIC_URL',
    default: 'http://localhost:PORT',
    description: 'base URL that clients use; also the issuer of internal tokens',
  },
  {
    name: 'DATABASE_URL',
    default: '(embedded PostgreSQL)',
    description:
      'postgres:// URL of a PostgreSQL 15 or newer, with one host or several; nothing embedded is started then',
  },
  {
    name: 'WDA_POOLER',
    default: 'none',
    description:
      'what stands between the server and PostgreSQL at DATABASE_URL: none, a pooler in session mode, or one in transaction mode',
  },
  {
    name: 'DATABASE_DIRECT_URL',
    default: '(none)',
    description: 'postgres:// URL of the same database without the pooler; needed with WDA_POOLER=transaction',
  },
  {
    name: 'WDA_NODE_READS',
    default: 'on',
    description:
      'on a Citus cluster, on: reads go straight to the node that holds the workspace, where it can be reached; off: all goes through the coordinator',
  },
  { name: 'DATA_DIR', default: './data', description: 'folder of the embedded PostgreSQL' },
  {
    name: 'WDA_ADMIN_KEY',
    default: '(generated)',
    description:
      'credential of the operator, 32 characters or more; unset: generated on the first start and printed once',
  },
  {
    name: 'WDA_DEMO',
    default: 'on with the embedded database, else off',
    description: 'on: the first start creates organization demo, workspace shop with sample data',
  },
  { name: 'LOG_LEVEL', default: 'info', description: 'trace, debug, info, warn, error, fatal or silent' },
  { name: 'WDA_MAX_PAGE_SIZE', default: '1000', description: 'largest `size` of a page' },
  { name: 'WDA_MAX_BODY_BYTES', default: '1048576', description: 'largest JSON body' },
  { name: 'WDA_MAX_BULK', default: '1000', description: 'most records of one bulk request' },
  { name: 'WDA_MAX_BULK_BYTES', default: '10485760', description: 'largest body of a bulk request or a batch' },
  { name: 'WDA_MAX_BATCH', default: '100', description: 'most operations of one batch' },
  { name: 'WDA_IDEMPOTENCY_HOURS', default: '24', description: 'how long an Idempotency-Key is remembered' },
  {
    name: 'WDA_IDEMPOTENCY_MAX_BYTES',
    default: '67108864',
    description: 'bytes of answers that a workspace keeps with them; beyond it a replay reads the records again',
  },
  { name: 'WDA_IDEMPOTENCY_MAX_KEYS', default: '10000000', description: 'keys that a workspace keeps' },
  {
    name: 'WDA_BACKUP_DIR',
    default: '(none)',
    description: 'folder where the server puts a backup of the instance every day; unset: it makes none by itself',
  },
  { name: 'WDA_BACKUP_AT', default: '03:00', description: 'when it makes it, hours and minutes in UTC' },
  { name: 'WDA_BACKUP_KEEP', default: '14', description: 'how many of these backups stay' },
  { name: 'WDA_ACTIVITY_DAYS', default: '365', description: 'how long it is kept who changed what' },
  { name: 'WDA_CHANGES_HOURS', default: '168', description: 'how long changes of records are kept for feeds' },
  {
    name: 'WDA_CHANGES_MAX_BYTES',
    default: '10737418240',
    description: 'bytes of these changes that a workspace keeps, without history; beyond it the oldest go first',
  },
  {
    name: 'WDA_HISTORY_DAYS',
    default: '365',
    description: 'how long the history of records is kept, where an entity does not configure it',
  },
  {
    name: 'WDA_MAX_STREAMS',
    default: '10000',
    description: 'streams of changes and waiting requests of each process; 0: no streams',
  },
  {
    name: 'WDA_STREAMS_PER_CREDENTIAL',
    default: '100',
    description: 'of these one credential has at most so many, a user of an identity provider a tenth',
  },
  {
    name: 'WDA_STREAM_HEARTBEAT_SECONDS',
    default: '15',
    description: 'seconds after which a stream sends something, whatever happens',
  },
  {
    name: 'WDA_WEBHOOKS',
    default: 'on',
    description: 'off: no messages of webhooks are sent, nor tests of them; everything else about them works',
  },
  {
    name: 'WDA_WEBHOOK_PRIVATE_NETWORK',
    default: 'deny',
    description:
      'allow: receivers of webhooks may be at loopback and private addresses, and there use plain http; or networks, as of `WDA_IDP_PRIVATE_NETWORK`',
  },
  {
    name: 'WDA_WEBHOOK_TIMEOUT_MS',
    default: '15000',
    description: 'time for a receiver of a webhook to answer, from the begin of the connection to the last header',
  },
  {
    name: 'WDA_WEBHOOK_PARALLEL',
    default: '32',
    description: 'requests of each process to receivers of webhooks at once; for one workspace 4 of them at most',
  },
  {
    name: 'WDA_WEBHOOK_RETRY_SECONDS',
    default: '5,30,120,600,1800,3600,7200,18000',
    description:
      'seconds after which a message that was not delivered is sent again: after the first attempt, the second and so on; the last one repeats',
  },
  {
    name: 'WDA_WEBHOOK_DISABLE_HOURS',
    default: '120',
    description: 'a webhook whose attempts have all failed for so many hours is disabled; 0: never',
  },
  {
    name: 'WDA_WEBHOOK_LOG_DAYS',
    default: '7',
    description: 'how long messages of webhooks stay in their log; failed ones 30 days at least',
  },
  {
    name: 'WDA_MAX_RESPONSE_BYTES',
    default: '33554432',
    description: 'largest response of a list or a read with expansions',
  },
  { name: 'WDA_MAX_IMPORT_BYTES', default: '10737418240', description: 'largest import body' },
  { name: 'WDA_MAX_REJECT_BYTES', default: '268435456', description: 'most bytes of rejected rows of an import' },
  {
    name: 'WDA_WORKERS',
    default: '1 with the embedded database, else the number of cores',
    description:
      'server processes that share the port; they share the connections for quick reads and writes, and the rate limit',
  },
  { name: 'WDA_READ_CONNECTIONS', default: '4', description: 'database connections for quick reads (pipelined)' },
  { name: 'WDA_WRITE_CONNECTIONS', default: '6', description: 'database connections for writes (pipelined)' },
  {
    name: 'WDA_SLOW_CONNECTIONS',
    default: '4',
    description: 'database connections for statements that take long; one workspace has half of them at most',
  },
  {
    name: 'WDA_TRANSFER_CONNECTIONS',
    default: '4',
    description: 'database connections for imports and exports; one workspace has half of them at most',
  },
  {
    name: 'WDA_BATCH_CONNECTIONS',
    default: '4',
    description: 'database connections for batches; one workspace has half of them at most',
  },
  {
    name: 'WDA_MAX_QUEUE',
    default: '1000',
    description: 'requests that may wait for the database before new ones get 503',
  },
  {
    name: 'WDA_STATEMENT_TIMEOUT_MS',
    default: '10000',
    description: 'longest time of one statement of a request; beyond it 503 QUERY_TIMEOUT',
  },
  { name: 'WDA_TRANSFER_TIMEOUT_MS', default: '3600000', description: 'longest time of one import or export' },
  {
    name: 'WDA_MIN_IMPORT_BYTES_PER_SECOND',
    default: '4096',
    description: 'slowest arrival of an import while its client is waited for; 0: as slow as it likes',
  },
  {
    name: 'WDA_MIN_EXPORT_BYTES_PER_SECOND',
    default: '65536',
    description: 'slowest reading of an export while there is something to read; 0: as slow as it likes',
  },
  {
    name: 'WDA_MIN_ANSWER_BYTES_PER_SECOND',
    default: '4096',
    description: 'slowest reading of an answer above 64 KiB; beyond WDA_BODY_TIMEOUT_MS of it the connection is closed',
  },
  {
    name: 'WDA_MAX_UNREAD_BYTES',
    default: '201326592',
    description:
      'memory of answers above 64 KiB that clients have not read yet, for each process; half of it for each workspace, above which its reads get 503',
  },
  {
    name: 'WDA_TRANSFER_WINDOW_SECONDS',
    default: '60',
    description: 'seconds of waiting for a client over which its speed is measured',
  },
  {
    name: 'WDA_BODY_TIMEOUT_MS',
    default: '30000',
    description: 'longest time for a JSON body to arrive whole, and longest silence within an import',
  },
  {
    name: 'WDA_CORS_ORIGINS',
    default: '*',
    description:
      'origins whose browsers may call the API, separated by commas; * for all; empty for none. A workspace may have its own instead',
  },
  {
    name: 'WDA_RATE_LIMIT',
    default: '0',
    description: 'requests per minute and credential, unused ones saved up for a minute at most; 0: no limit',
  },
  { name: 'WDA_MCP', default: 'on', description: 'off: no workspace is served to agents (MCP)' },
  { name: 'WDA_MCP_MAX_ROWS', default: '100', description: 'most records or groups of one result for an agent' },
  { name: 'WDA_MCP_MAX_BYTES', default: '65536', description: 'longest text of one result for an agent' },
  {
    name: 'WDA_MCP_RATE_LIMIT',
    default: '120',
    description: 'calls of agents per minute and credential, unused ones saved up for a minute at most; 0: no limit',
  },
  { name: 'WDA_CONSOLE', default: 'on', description: 'off: the console at `/console/` is not served' },
  {
    name: 'WDA_SESSION_HOURS',
    default: '12',
    description: 'hours without a request after which a session of the console ends; it lasts 7 days at most',
  },
  {
    name: 'WDA_SIGN_IN_RATE_LIMIT',
    default: '10',
    description:
      'attempts to sign in to the console per minute and address of the network, unused ones saved up for a minute at most; 0: no limit',
  },
  {
    name: 'WDA_CONSOLE_OIDC_ISSUER',
    default: 'not set',
    description:
      'issuer of the OpenID provider that people sign in to the console with ([Signing people in](sign-in.md)); with `WDA_CONSOLE_OIDC_CLIENT_ID`',
  },
  {
    name: 'WDA_CONSOLE_OIDC_CLIENT_ID',
    default: 'not set',
    description: 'id of the console as a client of that provider',
  },
  {
    name: 'WDA_CONSOLE_OIDC_CLIENT_SECRET',
    default: 'not set',
    description: 'secret of that client; not set: a public client, which PKCE alone protects',
  },
  {
    name: 'WDA_CONSOLE_OIDC_NAME',
    default: 'host of the issuer',
    description: 'name of the provider for people: “Sign in with …”',
  },
  {
    name: 'WDA_CONSOLE_OIDC_ROLE_CLAIM',
    default: 'not set',
    description:
      'claim of the ID token with the roles or groups of a person, which members may be chosen by; a dotted path leads into objects: `realm_access.roles`',
  },
  {
    name: 'WDA_CONSOLE_OIDC_OPERATOR_ROLE',
    default: 'wda-operator',
    description: 'value of that claim that makes a person the operator',
  },
  { name: 'WDA_TOKEN_LIFETIME_SECONDS', default: '3600', description: 'lifetime of internal OAuth 2.0 tokens' },
  {
    name: 'WDA_SIGNING_KEY_DAYS',
    default: '90',
    description: 'a key that has signed internal tokens for this long is replaced; 0: only on request',
  },
  {
    name: 'WDA_IDP_PRIVATE_NETWORK',
    default: 'deny',
    description:
      'allow: identity providers may be at loopback and private addresses, and there use plain http; or networks, such as `10.1.0.0/16, 192.168.7.4/32`, to which alone that applies',
  },
  {
    name: 'WDA_CLOCK_SKEW_SECONDS',
    default: '0',
    description: "how far the clocks of identity providers may differ from the server's, for exp and nbf",
  },
];
