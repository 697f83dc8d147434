// Settings as the admin API lists them: by their names in the environment, without secrets.
import type { Config } from './config.ts';

export interface CurrentSetting {
  readonly name: string;
  readonly value: string;
}

const formatOnOff = (isOn: boolean): string => (isOn ? 'on' : 'off');
const NOT_SET = 'not set';
const formatSecret = (secret: string | undefined): string => (secret === undefined ? NOT_SET : 'set');

function formatNetworks(allowed: Config['idpPrivateNetwork']): string {
  if (typeof allowed === 'boolean') return allowed ? 'allow' : 'deny';
  return allowed.join(', ');
}

/**
 * Lists each setting by its name in the environment, in the order of the reference page. Connections for quick reads and
 * writes are divided among the workers, each share rounded up: the value is the sum over all workers.
 */
export function listSettings(config: Config): readonly CurrentSetting[] {
  const values: Readonly<Record<string, string | number>> = {
    PORT: config.port,
    HOST: config.host,
    PUBLIC_URL: config.publicUrl,
    // The URL may hold a user and a password.
    DATABASE_URL: formatSecret(config.databaseUrl),
    WDA_POOLER: config.pooler,
    DATABASE_DIRECT_URL: formatSecret(config.databaseDirectUrl),
    WDA_NODE_READS: formatOnOff(config.nodeReads),
    DATA_DIR: config.dataDir,
    WDA_ADMIN_KEY: formatSecret(config.adminKey),
    WDA_DEMO: formatOnOff(config.demo),
    LOG_LEVEL: config.logLevel,
    WDA_MAX_PAGE_SIZE: config.maxPageSize,
    WDA_MAX_BODY_BYTES: config.maxBodyBytes,
    WDA_MAX_BULK: config.maxBulk,
    WDA_MAX_BULK_BYTES: config.maxBulkBytes,
    WDA_MAX_BATCH: config.maxBatch,
    WDA_IDEMPOTENCY_HOURS: config.idempotencyHours,
    WDA_IDEMPOTENCY_MAX_BYTES: config.idempotencyMaxBytes,
    WDA_IDEMPOTENCY_MAX_KEYS: config.idempotencyMaxKeys,
    WDA_BACKUP_DIR: config.backupDir ?? '(none)',
    WDA_BACKUP_AT: config.backupAt,
    WDA_BACKUP_KEEP: config.backupKeep,
    WDA_ACTIVITY_DAYS: config.activityDays,
    WDA_CHANGES_HOURS: config.changesHours,
    WDA_CHANGES_MAX_BYTES: config.changesMaxBytes,
    WDA_HISTORY_DAYS: config.historyDays,
    WDA_MAX_STREAMS: config.maxStreams,
    WDA_STREAMS_PER_CREDENTIAL: config.streamsPerCredential,
    WDA_STREAM_HEARTBEAT_SECONDS: config.streamHeartbeatSeconds,
    WDA_WEBHOOKS: formatOnOff(config.webhooks),
    WDA_WEBHOOK_PRIVATE_NETWORK: formatNetworks(config.webhookPrivateNetwork),
    WDA_WEBHOOK_TIMEOUT_MS: config.webhookTimeoutMs,
    WDA_WEBHOOK_PARALLEL: config.webhookParallel,
    WDA_WEBHOOK_RETRY_SECONDS: config.webhookRetrySeconds.join(),
    WDA_WEBHOOK_DISABLE_HOURS: config.webhookDisableHours,
    WDA_WEBHOOK_LOG_DAYS: config.webhookLogDays,
    WDA_MAX_RESPONSE_BYTES: config.maxResponseBytes,
    WDA_MAX_IMPORT_BYTES: config.maxImportBytes,
    WDA_MAX_REJECT_BYTES: config.maxRejectBytes,
    WDA_WORKERS: config.workers,
    WDA_READ_CONNECTIONS: config.readConnections * config.workers,
    WDA_WRITE_CONNECTIONS: config.writeConnections * config.workers,
    WDA_SLOW_CONNECTIONS: config.slowConnections,
    WDA_TRANSFER_CONNECTIONS: config.transferConnections,
    WDA_BATCH_CONNECTIONS: config.batchConnections,
    WDA_MAX_QUEUE: config.maxQueue,
    WDA_STATEMENT_TIMEOUT_MS: config.statementTimeoutMs,
    WDA_TRANSFER_TIMEOUT_MS: config.transferTimeoutMs,
    WDA_MIN_IMPORT_BYTES_PER_SECOND: config.minImportBytesPerSecond,
    WDA_MIN_EXPORT_BYTES_PER_SECOND: config.minExportBytesPerSecond,
    WDA_MIN_ANSWER_BYTES_PER_SECOND: config.minAnswerBytesPerSecond,
    WDA_MAX_UNREAD_BYTES: config.maxUnreadBytes,
    WDA_TRANSFER_WINDOW_SECONDS: config.transferWindowSeconds,
    WDA_BODY_TIMEOUT_MS: config.bodyTimeoutMs,
    WDA_CORS_ORIGINS: config.corsOrigins === '*' ? '*' : config.corsOrigins.join(', '),
    WDA_RATE_LIMIT: config.rateLimit,
    WDA_MCP: formatOnOff(config.mcp),
    WDA_MCP_MAX_ROWS: config.mcpMaxRows,
    WDA_MCP_MAX_BYTES: config.mcpMaxBytes,
    WDA_MCP_RATE_LIMIT: config.mcpRateLimit,
    WDA_CONSOLE: formatOnOff(config.console),
    WDA_SESSION_HOURS: config.sessionHours,
    WDA_SIGN_IN_RATE_LIMIT: config.signInRateLimit,
    WDA_CONSOLE_OIDC_ISSUER: config.people?.issuer ?? NOT_SET,
    WDA_CONSOLE_OIDC_CLIENT_ID: config.people?.clientId ?? NOT_SET,
    WDA_CONSOLE_OIDC_CLIENT_SECRET: formatSecret(config.people?.clientSecret),
    WDA_CONSOLE_OIDC_NAME: config.people?.name ?? NOT_SET,
    WDA_CONSOLE_OIDC_ROLE_CLAIM: config.people?.roleClaim ?? NOT_SET,
    WDA_CONSOLE_OIDC_OPERATOR_ROLE: config.people?.operatorRole ?? NOT_SET,
    WDA_TOKEN_LIFETIME_SECONDS: config.tokenLifetimeSeconds,
    WDA_SIGNING_KEY_DAYS: config.signingKeyDays,
    WDA_IDP_PRIVATE_NETWORK: formatNetworks(config.idpPrivateNetwork),
    WDA_CLOCK_SKEW_SECONDS: config.clockSkewSeconds,
  };
  return Object.entries(values).map(([name, value]) => ({ name, value: String(value) }));
}
