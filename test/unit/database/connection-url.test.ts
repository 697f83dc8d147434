// DATABASE_URL: hosts, target, login, TLS and options, and every refusal in words that hold no password.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import {
  type DatabaseAddress,
  DatabaseUrlError,
  parseDatabaseUrl,
  resolveAddress,
} from '../../../src/database/connection-url.ts';

const readFile = (path: string): string => {
  if (path.startsWith('/missing')) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
  return `text of ${path}`;
};
const parse = (text: string): DatabaseAddress => parseDatabaseUrl(text, readFile);

function mistakes(text: string): readonly string[] {
  try {
    parse(text);
  } catch (error) {
    if (error instanceof DatabaseUrlError) return error.mistakes;
    throw error;
  }
  return [];
}

const HOSTS: readonly (readonly [string, string])[] = [
  ['postgres://db/app', 'db 5432'],
  ['postgres://db:/app', 'db 5432'],
  ['postgres://u:p@a:1,b:65535/app', 'a 1, b 65535'],
  ['postgres://[::1]/app', '::1 5432'],
  ['postgres://u@[::1]:5433,[fe80::1%25eth0]:5434,10.0.0.1/app', '::1 5433, fe80::1%eth0 5434, 10.0.0.1 5432'],
  ['postgres://%2Frun%2Fpostgresql/app', '/run/postgresql 5432'],
  ['postgres:///app?host=/run/postgresql', '/run/postgresql 5432'],
  ['postgres:///app?host=a,b&port=5433,', 'a 5433, b 5432'],
  ['postgres://u@/app?host=a,b&port=6000', 'a 6000, b 6000'],
  ['postgres://x:1/app?host=::1,[::2]', '::1 1, ::2 1'],
  ['postgres://u@localhost:54315/app?host=/run/postgresql', '/run/postgresql 54315'],
];

for (const [url, expected] of HOSTS) {
  test(`the hosts of ${url}`, () => {
    const { hosts, config } = parse(url);
    assert.equal(hosts.map(({ host, port }) => `${host} ${port}`).join(', '), expected);
    assert.deepEqual({ host: config.host, port: config.port }, hosts[0]);
    assert.equal(config.database, 'app');
  });
}

const LOGINS: readonly (readonly [string, string | undefined, string | undefined, string | undefined])[] = [
  ['postgres://db', undefined, undefined, undefined],
  ['postgres://me@db/app', 'me', undefined, 'app'],
  ['postgres://me:@db/app', 'me', undefined, 'app'],
  ['postgres://me:secret@db/app', 'me', 'secret', 'app'],
  ['postgres://me:p%40s%2Fs%3F%23%25%3A@db/app', 'me', 'p@s/s?#%:', 'app'],
  ['postgres://m%65:a:b@c#d&e=f+g!$()*@db/app', 'me', 'a:b@c#d&e=f+g!$()*', 'app'],
  ['postgres://me:%zz%C3%A9é @db/my%20app%2F1', 'me', '%zzéé ', 'my app/1'],
  ['postgres://a:b@db/app?user=me&password=p%26%2Bw&dbname=other', 'me', 'p&+w', 'other'],
];

for (const [url, user, password, database] of LOGINS) {
  test(`user, password and database of ${url}`, () => {
    const { config } = parse(url);
    assert.deepEqual([config.user, config.password, config.database], [user, password, database]);
  });
}

const TARGETS: readonly (readonly [string, string])[] = [
  ['postgres://a/app', 'any'],
  ['postgres://a,b/app', 'read-write'],
  ['postgres://a/app?target_session_attrs=read-write', 'read-write'],
  ['postgres://a,b/app?target_session_attrs=primary', 'primary'],
  ['postgres://a,b/app?target_session_attrs=any', 'any'],
  ['postgres://a,b/app?target_session_attrs=', 'read-write'],
];

for (const [url, expected] of TARGETS) {
  test(`which server will do for ${url}`, () => assert.equal(parse(url).target, expected));
}

const OPTIONS: readonly (readonly [string, string | undefined])[] = [
  ['postgres://a/app', undefined],
  ['postgres://a/app?options=', undefined],
  ['postgres://a/app?options=-c%20geqo%3Doff', '-c geqo=off'],
  ['postgres://a/app?options=-c+geqo%3Doff%20--search_path=x', '-c geqo=off --search_path=x'],
  ['postgres://a/app?options=endpoint%3Dep-cool-1', 'endpoint=ep-cool-1'],
];

for (const [url, expected] of OPTIONS) {
  test(`the options of ${url} are kept apart`, () => {
    const { options, config } = parse(url);
    assert.equal(options, expected);
    assert.ok(!('options' in config) && !('connectionString' in config));
  });
}

const checked = {};
const TLS: readonly (readonly [string, unknown])[] = [
  ['', undefined],
  ['sslmode=disable', false],
  ['ssl=false', false],
  ['ssl=true', checked],
  ['sslmode=require', checked],
  ['sslmode=verify-full', checked],
  ['sslmode=require&channel_binding=require', checked],
  ['sslnegotiation=direct', checked],
  ['sslmode=verify-full&sslrootcert=system', checked],
  ['sslmode=no-verify', { rejectUnauthorized: false }],
  ['ssl=true&sslmode=disable', false],
  ['sslrootcert=/ca.pem', { ca: 'text of /ca.pem' }],
  [
    'sslmode=verify-full&sslrootcert=/ca.pem&sslcert=/c.pem&sslkey=/k.pem',
    { ca: 'text of /ca.pem', cert: 'text of /c.pem', key: 'text of /k.pem' },
  ],
  ['sslmode=require&uselibpqcompat=true', { rejectUnauthorized: false }],
  ['sslmode=verify-full&uselibpqcompat=true', checked],
];

for (const [query, expected] of TLS) {
  test(`TLS by ${query === '' ? 'nothing' : query}`, () => {
    assert.deepEqual(parse(`postgres://a/app?${query}`).config.ssl, expected);
  });
}

test('an authority without a name to check, as libpq has it', () => {
  const { ssl } = parse('postgres://a/app?sslmode=verify-ca&uselibpqcompat=true&sslrootcert=/ca.pem').config;
  assert.ok(typeof ssl === 'object' && ssl.ca === 'text of /ca.pem' && ssl.checkServerIdentity !== undefined);
});

const REFUSALS: readonly (readonly [string, RegExp])[] = [
  ['', /must look like postgres:\/\/user:password@host:5432\/database/],
  ['mysql://a/app', /must look like/],
  ['a:5432', /must look like/],
  ['postgres://', /names no host/],
  ['postgres:///app', /names no host/],
  ['postgres://me:hunter2@/app', /names no host/],
  ['postgres://a,,b/app', /host without a name/],
  ['postgres:///app?host=a,,b', /host without a name/],
  ['postgres://a:x/app', /host that is not name, name:port/],
  ['postgres://[::1/app', /host that is not name, name:port/],
  ['postgres://a:0/app', /has the port 0; a port is a number from 1 to 65535/],
  ['postgres://a:65536/app', /has the port 65536/],
  ['postgres:///app?host=a&port=x', /has the port x/],
  ['postgres://a,b/app?port=1,2,3', /has 3 ports for 2 hosts; give one for all or one for each/],
  ['postgres:///app?host=a&port=1,2', /has 2 ports for 1 host;/],
  [
    'postgres://a,b/app?target_session_attrs=standby',
    /target_session_attrs=standby, which must be one of any, read-write, primary/,
  ],
  ['postgres://a/app?sslmode=allow', /sslmode=allow, which must be one of disable, prefer, require/],
  [
    'postgres://a/app?sslmod=require',
    /has the parameter sslmod, which does not exist; did you mean sslmode\? Known: host, port/,
  ],
  ['postgres://a/app?pgbouncer=true', /has the parameter pgbouncer, which does not exist\. Known: host, port/],
  ['postgres://a/app?user=a&user=b', /has the parameter user twice/],
  ['postgres://a/app?sslrootcert=/missing.pem', /has sslrootcert=\/missing\.pem, which cannot be read \(ENOENT\)/],
  ['postgres://a/app?sslmode=disable&sslnegotiation=direct', /needs TLS, and turns TLS off/],
  ['postgres://a/app?sslmode=verify-ca&uselibpqcompat=true', /needs sslrootcert/],
  ['postgres://a/a%00b', /zero byte in its database/],
  ['postgres://a/app?user=a%00b', /zero byte in user/],
  ['postgres://me:hunter2%ff@a/app', /a password that is not UTF-8 when decoded/],
  // A password with / or ? that was not encoded cuts the URL in two, and its end stands where other things are named.
  ['postgres://me:hunter2/x@a/app', /in user and password the characters .* are written/],
  ['postgres://me:1/hunter2@a/app', /in user and password the characters .* are written/],
  ['postgres://me:1?hunter2@a/app', /has a parameter, which does not exist/],
];

for (const [url, expected] of REFUSALS) {
  test(`${url} is refused in words`, () => {
    const lines = mistakes(url);
    assert.match(lines.join('\n'), expected);
    assert.doesNotMatch(lines.join('\n'), /hunter2/);
  });
}

test('all mistakes come at once', () => {
  assert.equal(mistakes('postgres://a:0,b/app?sslmode=x&foo=1&target_session_attrs=y').length, 4);
});

test('the driver takes the values as they are', () => {
  const { config } = parse('postgres://me:p%40w@[::1]:5433,b/app?sslmode=no-verify&application_name=mine');
  const client = new pg.Client(config);
  assert.deepEqual(
    [client.host, client.port, client.user, client.password, client.database, client.ssl],
    ['::1', 5433, 'me', 'p@w', 'app', { rejectUnauthorized: false }],
  );
});

test('a connection of the driver has an address, too: by its URL, or by its parts', () => {
  assert.deepEqual(
    resolveAddress({ connectionString: 'postgres://me:x@a,b:1/app?options=-c%20geqo%3Doff', keepAlive: true }),
    {
      hosts: [
        { host: 'a', port: 5432 },
        { host: 'b', port: 1 },
      ],
      target: 'read-write',
      config: { keepAlive: true, host: 'a', port: 5432, user: 'me', password: 'x', database: 'app' },
      options: '-c geqo=off',
    },
  );
  assert.deepEqual(resolveAddress({ host: '/run/x', port: 5433, user: 'me', password: 'x', options: '-c jit=on' }), {
    hosts: [{ host: '/run/x', port: 5433 }],
    target: 'any',
    config: { host: '/run/x', port: 5433, user: 'me', password: 'x' },
    options: '-c jit=on',
  });
  assert.deepEqual(resolveAddress({ user: 'me' }).hosts, [{ host: 'localhost', port: 5432 }]);
});
