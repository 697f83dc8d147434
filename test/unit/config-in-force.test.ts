// The settings that an operator is shown: all of them, as they hold, and no secret.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readConfig } from '../../src/config.ts';
import { SETTINGS } from '../../src/setting-list.ts';
import { listSettings } from '../../src/settings.ts';

const shown = (env: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(listSettings(readConfig(env)).map(({ name, value }) => [name, value]));

test('every setting is there, in the order of the reference page', () => {
  assert.deepEqual(
    listSettings(readConfig({})).map(({ name }) => name),
    SETTINGS.map(({ name }) => name),
  );
});

test('no secret appears, only that it is set', () => {
  const env = {
    DATABASE_URL: 'postgres://marker-user:marker-password@db.example.com/marker-name?application_name=marker-parameter',
    WDA_POOLER: 'transaction',
    DATABASE_DIRECT_URL: 'postgres://marker-user:marker-password@direct.example.com/marker-name',
    WDA_ADMIN_KEY: 'marker-key-0123456789012345678901234567',
    ...PEOPLE,
    WDA_CONSOLE_OIDC_CLIENT_SECRET: 'marker-secret',
  };
  const text = JSON.stringify(shown(env));
  assert.doesNotMatch(text, /marker/);
  const { DATABASE_URL, WDA_POOLER, DATABASE_DIRECT_URL, WDA_ADMIN_KEY, WDA_CONSOLE_OIDC_CLIENT_SECRET } = shown(env);
  assert.deepEqual(
    [DATABASE_URL, WDA_POOLER, DATABASE_DIRECT_URL, WDA_ADMIN_KEY, WDA_CONSOLE_OIDC_CLIENT_SECRET],
    ['set', 'transaction', 'set', 'set', 'set'],
  );
  const without = shown({});
  assert.deepEqual([without.DATABASE_URL, without.WDA_ADMIN_KEY], ['not set', 'not set']);
});

// What a setting may be besides its default; of all that is no secret, what was given is what is shown.
const GIVEN: Readonly<Record<string, string>> = {
  HOST: '0.0.0.0',
  PUBLIC_URL: 'https://data.example.com',
  DATA_DIR: '/var/lib/data',
  WDA_DEMO: 'off',
  WDA_NODE_READS: 'off',
  LOG_LEVEL: 'warn',
  WDA_CORS_ORIGINS: 'https://a.example.com, https://b.example.com',
  WDA_MCP: 'off',
  WDA_CONSOLE: 'off',
  WDA_CONSOLE_OIDC_ISSUER: 'https://login.example.com',
  WDA_CONSOLE_OIDC_CLIENT_ID: 'console',
  WDA_CONSOLE_OIDC_NAME: 'Example',
  WDA_CONSOLE_OIDC_ROLE_CLAIM: 'realm_access.roles',
  WDA_CONSOLE_OIDC_OPERATOR_ROLE: 'operators',
  WDA_IDP_PRIVATE_NETWORK: '10.1.0.0/16, 192.168.7.4/32',
  WDA_WEBHOOKS: 'off',
  WDA_WEBHOOK_PRIVATE_NETWORK: 'allow',
  WDA_WEBHOOK_RETRY_SECONDS: '1,2',
  WDA_WORKERS: '1',
  WDA_BACKUP_DIR: '/var/backups/wda',
  WDA_BACKUP_AT: '23:30',
};
// Secrets, and what needs the URL of a database beside it.
const APART = ['DATABASE_URL', 'WDA_POOLER', 'DATABASE_DIRECT_URL', 'WDA_ADMIN_KEY', 'WDA_CONSOLE_OIDC_CLIENT_SECRET'];

const PEOPLE = { WDA_CONSOLE_OIDC_ISSUER: 'https://login.example.com', WDA_CONSOLE_OIDC_CLIENT_ID: 'console' };

/** What a setting is refused without. */
const NEEDED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  WDA_BACKUP_AT: { WDA_BACKUP_DIR: '/var/backups/wda' },
  WDA_CONSOLE_OIDC_ISSUER: PEOPLE,
  WDA_CONSOLE_OIDC_CLIENT_ID: PEOPLE,
  WDA_CONSOLE_OIDC_NAME: PEOPLE,
  WDA_CONSOLE_OIDC_ROLE_CLAIM: PEOPLE,
  WDA_CONSOLE_OIDC_OPERATOR_ROLE: { ...PEOPLE, WDA_CONSOLE_OIDC_ROLE_CLAIM: 'roles' },
};

for (const { name, default: standard } of SETTINGS) {
  if (APART.includes(name)) continue;
  test(`${name} is shown as it was given`, () => {
    const given = GIVEN[name] ?? String(Number(standard) + 1);
    assert.equal(shown({ ...NEEDED[name], [name]: given })[name], given);
  });
}

test('shares of workers are shown together, each rounded up', () => {
  const { WDA_READ_CONNECTIONS, WDA_SLOW_CONNECTIONS } = shown({ WDA_WORKERS: '3' });
  assert.deepEqual([WDA_READ_CONNECTIONS, WDA_SLOW_CONNECTIONS], ['6', '4']);
});
