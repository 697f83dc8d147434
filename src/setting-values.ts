// Reads and checks settings that are neither a number nor a word: what the database is reached by, URLs, networks, lists. Adds a
// sentence for each mistake.
import { isIP } from 'node:net';
import { DatabaseUrlError, type Pooler, parseDatabaseUrl } from './database/connection-url.ts';
import { isOrigin } from './model/origin.ts';

/** Readers of settings, which add what is wrong to `mistakes`. */
export interface SettingReaders {
  /** Returns the text of a setting, or undefined if it is not set. */
  readonly text: (name: string) => string | undefined;
  readonly integer: (name: string, fallback: number, min: number, max: number) => number;
  readonly choice: <T extends string>(name: string, fallback: T, values: readonly T[]) => T;
  readonly mistakes: string[];
}

/** Reads the settings of webhooks, of which two are lists or have a fraction. */
export function readWebhookSettings({ text, integer, choice, mistakes }: SettingReaders) {
  return {
    webhooks: choice('WDA_WEBHOOKS', 'on', ['on', 'off']) === 'on',
    webhookPrivateNetwork: parsePrivateNetwork('WDA_WEBHOOK_PRIVATE_NETWORK', text, mistakes),
    webhookTimeoutMs: integer('WDA_WEBHOOK_TIMEOUT_MS', 15_000, 100, 60_000),
    webhookParallel: integer('WDA_WEBHOOK_PARALLEL', 32, 1, 1000),
    webhookRetrySeconds: parseRetrySeconds(text('WDA_WEBHOOK_RETRY_SECONDS') ?? RETRY_SECONDS, mistakes),
    webhookDisableHours: parseDisableHours(text('WDA_WEBHOOK_DISABLE_HOURS') ?? '120', mistakes),
    webhookLogDays: integer('WDA_WEBHOOK_LOG_DAYS', 7, 1, 365),
  };
}

/** The OpenID provider that people sign in to the console with. */
export interface PeopleProvider {
  readonly issuer: string;
  readonly clientId: string;
  /** Undefined for a public client. */
  readonly clientSecret: string | undefined;
  /** Name for people, on the button for signing in. */
  readonly name: string;
  /** Claim of the ID token with the roles of a person, or null if none is read. */
  readonly roleClaim: string | null;
  /** Value of that claim that makes a person the operator. */
  readonly operatorRole: string;
}

const PEOPLE = 'WDA_CONSOLE_OIDC';

/** Reads the settings of the provider that people sign in with. */
export function readPeopleSettings(text: SettingReaders['text'], mistakes: string[]): PeopleProvider | undefined {
  const [issuer, clientId] = [text(`${PEOPLE}_ISSUER`), text(`${PEOPLE}_CLIENT_ID`)];
  if (issuer === undefined || clientId === undefined) {
    const others = ['ISSUER', 'CLIENT_ID', 'CLIENT_SECRET', 'NAME', 'ROLE_CLAIM', 'OPERATOR_ROLE'];
    const lonely = others.map((name) => `${PEOPLE}_${name}`).find((name) => text(name) !== undefined);
    if (lonely !== undefined) mistakes.push(`${lonely} needs ${PEOPLE}_ISSUER and ${PEOPLE}_CLIENT_ID`);
    return undefined;
  }
  if (!isBaseUrl(issuer)) {
    mistakes.push(`${PEOPLE}_ISSUER must be an http or https URL without user, query and fragment`);
    return undefined;
  }
  const roleClaim = text(`${PEOPLE}_ROLE_CLAIM`) ?? null;
  const operatorRole = text(`${PEOPLE}_OPERATOR_ROLE`);
  if (operatorRole !== undefined && roleClaim === null) {
    mistakes.push(`${PEOPLE}_OPERATOR_ROLE is a value of the claim that ${PEOPLE}_ROLE_CLAIM names, which is not set`);
  }
  return {
    issuer,
    clientId,
    clientSecret: text(`${PEOPLE}_CLIENT_SECRET`),
    name: text(`${PEOPLE}_NAME`) ?? new URL(issuer).host,
    roleClaim,
    operatorRole: operatorRole ?? 'wda-operator',
  };
}

/** Settings that say how the database is reached. */
interface DatabaseSettings {
  readonly databaseUrl: string | undefined;
  readonly pooler: Pooler;
  readonly databaseDirectUrl: string | undefined;
}

/** Returns the mistakes in these settings, a sentence each. */
export function findDatabaseMistakes({ databaseUrl, pooler, databaseDirectUrl }: DatabaseSettings): readonly string[] {
  const mistakes = [
    ...findUrlMistakes('DATABASE_URL', databaseUrl),
    ...findUrlMistakes('DATABASE_DIRECT_URL', databaseDirectUrl),
  ];
  if (pooler !== 'none' && databaseUrl === undefined) {
    mistakes.push('WDA_POOLER is about what stands at DATABASE_URL, which is not set');
  }
  if (pooler === 'transaction' && databaseDirectUrl === undefined) {
    mistakes.push(
      'WDA_POOLER=transaction needs DATABASE_DIRECT_URL: migrations and locks do not go through the pooler',
    );
  }
  if (pooler !== 'transaction' && databaseDirectUrl !== undefined) {
    mistakes.push(
      'DATABASE_DIRECT_URL is for WDA_POOLER=transaction alone; without it everything goes to DATABASE_URL',
    );
  }
  return mistakes;
}

function findUrlMistakes(name: string, text: string | undefined): string[] {
  if (text === undefined) return [];
  try {
    parseDatabaseUrl(text);
    return [];
  } catch (error) {
    if (!(error instanceof DatabaseUrlError)) throw error;
    return error.mistakes.map((mistake) => `${name} ${mistake}`);
  }
}

/** Returns whether a text can be the public URL. RFC 8414 section 2: an issuer has no query and no fragment. */
export function isBaseUrl(text: string): boolean {
  if (!isHttpUrl(text) || /[?#]/.test(text)) return false;
  const { username, password } = new URL(text);
  return username === '' && password === '';
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

export function parsePrivateNetwork(
  name: string,
  text: SettingReaders['text'],
  mistakes: string[],
): boolean | readonly string[] {
  const value = text(name) ?? 'deny';
  if (value === 'deny' || value === 'allow') return value === 'allow';
  const networks = value.split(',').map((network) => network.trim());
  for (const network of networks) {
    const [, address = '', prefix = ''] = /^([0-9a-fA-F:.]+)\/(\d{1,3})$/.exec(network) ?? [];
    if (isIP(address) !== 0 && Number(prefix) <= (isIP(address) === 4 ? 32 : 128)) continue;
    mistakes.push(`${name} must be deny, allow, or networks such as 10.1.0.0/16, has ${JSON.stringify(network)}`);
    return false;
  }
  return networks;
}

export function parseCorsOrigins(value: string | undefined, mistakes: string[]): '*' | readonly string[] {
  if (value === undefined || value.trim() === '*') return '*';
  const origins = value
    .split(',')
    .map((origin) => origin.trim())
    .filter((origin) => origin !== '');
  for (const origin of origins) {
    if (!isOrigin(origin)) {
      mistakes.push(
        `WDA_CORS_ORIGINS must list origins such as https://app.example.com, has ${JSON.stringify(origin)}`,
      );
    }
  }
  return origins;
}

const RETRY_SECONDS = '5,30,120,600,1800,3600,7200,18000';
const MAX_RETRIES = 20;
const MAX_RETRY_SECONDS = 86_400;

/** Parses delays such as `5,30,120`. */
function parseRetrySeconds(value: string, mistakes: string[]): readonly number[] {
  const delays = value.split(',').map((one) => (/^\s*\d+\s*$/.test(one) ? Number(one) : Number.NaN));
  if (delays.length > MAX_RETRIES || !delays.every((seconds) => seconds >= 1 && seconds <= MAX_RETRY_SECONDS)) {
    mistakes.push(
      `WDA_WEBHOOK_RETRY_SECONDS must list 1 to ${MAX_RETRIES} numbers of seconds from 1 to ${MAX_RETRY_SECONDS}, such as 5,30,120, is ${JSON.stringify(value)}`,
    );
  }
  return delays;
}

const MAX_DISABLE_HOURS = 8760;

/** Parses hours with or without a fraction. */
function parseDisableHours(value: string, mistakes: string[]): number {
  const hours = /^\d+(\.\d+)?$/.test(value) ? Number(value) : Number.NaN;
  if (!(hours <= MAX_DISABLE_HOURS))
    mistakes.push(
      `WDA_WEBHOOK_DISABLE_HOURS must be a number from 0 to ${MAX_DISABLE_HOURS}, is ${JSON.stringify(value)}`,
    );
  return hours;
}

/** Checks a time of the day such as `03:00`. */
export function parseTimeOfDay(name: string, value: string, mistakes: string[]): string {
  if (!/^([01]\d|2[0-3]):[0-5]\d$/.test(value)) {
    mistakes.push(`${name} must be a time of the day such as 03:00, is ${JSON.stringify(value)}`);
  }
  return value;
}
