// Values of settings that are more than a number or a word: what is wrong with them, and what they mean.
import { isIP } from 'node:net';
import { DatabaseUrlError, parseDatabaseUrl } from './db/connection-url.ts';
import type { Pooler } from './db/route.ts';

/** Settings of the ways to the database. */
export interface DatabaseSettings {
  readonly databaseUrl: string | undefined;
  readonly pooler: Pooler;
  readonly databaseDirectUrl: string | undefined;
}

/** What is wrong with the ways to the database, each in a sentence. */
export function databaseMistakes({ databaseUrl, pooler, databaseDirectUrl }: DatabaseSettings): readonly string[] {
  const mistakes = [
    ...urlMistakes('DATABASE_URL', databaseUrl),
    ...urlMistakes('DATABASE_DIRECT_URL', databaseDirectUrl),
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

function urlMistakes(name: string, text: string | undefined): string[] {
  if (text === undefined) return [];
  try {
    parseDatabaseUrl(text);
    return [];
  } catch (error) {
    if (!(error instanceof DatabaseUrlError)) throw error;
    return error.mistakes.map((mistake) => `${name} ${mistake}`);
  }
}

/** RFC 8414 section 2: an issuer has no query and no fragment. */
export function isBaseUrl(text: string): boolean {
  if (!isHttpUrl(text) || /[?#]/.test(text)) return false;
  const { username, password } = new URL(text);
  return username === '' && password === '';
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

export function privateNetwork(value: string, mistakes: string[]): boolean | readonly string[] {
  if (value === 'deny' || value === 'allow') return value === 'allow';
  const networks = value.split(',').map((network) => network.trim());
  for (const network of networks) {
    const [, address = '', prefix = ''] = /^([0-9a-fA-F:.]+)\/(\d{1,3})$/.exec(network) ?? [];
    if (isIP(address) !== 0 && Number(prefix) <= (isIP(address) === 4 ? 32 : 128)) continue;
    mistakes.push(
      `WDA_IDP_PRIVATE_NETWORK must be deny, allow, or networks such as 10.1.0.0/16, has ${JSON.stringify(network)}`,
    );
    return false;
  }
  return networks;
}

export function corsOrigins(value: string | undefined, mistakes: string[]): '*' | readonly string[] {
  if (value === undefined || value.trim() === '*') return '*';
  const origins = value
    .split(',')
    .map((origin) => origin.trim())
    .filter((origin) => origin !== '');
  for (const origin of origins) {
    if (!isHttpUrl(origin) || new URL(origin).origin !== origin) {
      mistakes.push(
        `WDA_CORS_ORIGINS must list origins such as https://app.example.com, has ${JSON.stringify(origin)}`,
      );
    }
  }
  return origins;
}

/** A time of the day such as `03:00`. */
export function timeOfDay(name: string, value: string, mistakes: string[]): string {
  if (!/^([01]\d|2[0-3]):[0-5]\d$/.test(value)) {
    mistakes.push(`${name} must be a time of the day such as 03:00, is ${JSON.stringify(value)}`);
  }
  return value;
}
