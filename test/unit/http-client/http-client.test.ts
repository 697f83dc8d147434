// Documents of identity providers are fetched over real sockets: what is refused, where names may lead, and what ends an
// answer that is none.
import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { HttpClientError } from '../../../src/http-client/errors.ts';
import { type HttpClient, type Lookup, makeHttpClient } from '../../../src/http-client/http-client.ts';
import { type KeyServer, startKeyServer } from '../../support/key-server.ts';

let server: KeyServer;
const opened: HttpClient[] = [];

before(async () => {
  server = await startKeyServer();
});
after(async () => {
  await Promise.all(opened.map((outbound) => outbound.close()));
  await server.stop();
});

const soon = (): AbortSignal => AbortSignal.timeout(60_000);

function outbound(
  allowPrivate: boolean | readonly string[],
  names: Readonly<Record<string, readonly string[]>> = {},
): HttpClient {
  const lookup: Lookup = (hostname, _options, callback) => {
    const addresses = names[hostname];
    if (addresses === undefined) callback(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), []);
    else
      callback(
        null,
        addresses.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
  };
  const made = makeHttpClient({ allowPrivate, setting: 'WDA_IDP_PRIVATE_NETWORK', lookup });
  opened.push(made);
  return made;
}

async function failureOf(promise: Promise<unknown>): Promise<HttpClientError> {
  const error = await promise.then(
    (value) => assert.fail(`answered ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof HttpClientError, String(error));
  return error;
}

const refusedUrls = [
  'http://idp.example.com/',
  'ftp://idp.example.com/',
  'file:///etc/passwd',
  'javascript:alert(1)',
  'https:idp.example.com',
  'https://user:secret@idp.example.com/',
  'https://user@idp.example.com/',
  'https://127.0.0.1/',
  'https://127.1/',
  'https://2130706433/',
  'https://0x7f.1/',
  'https://0177.0.0.1/',
  'https://127.0.0.1./',
  'https://[::1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:a9fe:a9fe]/',
  'https://10.1.2.3/',
  'https://192.168.0.1/',
  'https://169.254.169.254/latest/meta-data',
  'https://0.0.0.0/',
  'https://[fe80::1]/',
  'https://idp.example.com\\@127.0.0.1/',
  ' https://idp.example.com/',
  'https://idp.exam\tple.com/',
  'https://idp.example.com/ü',
  'not a url',
  '',
  `https://idp.example.com/${'a'.repeat(2048)}`,
];
for (const url of refusedUrls) {
  test(`${JSON.stringify(url.slice(0, 60))} is refused before anything is asked`, async () => {
    const guarded = outbound(false);
    assert.notEqual(guarded.findMistake(url), undefined);
    assert.equal((await failureOf(guarded.fetchJson(url, soon()))).kind, 'refused');
    assert.equal((await failureOf(guarded.resolve(url, soon()))).kind, 'refused');
  });
}

test('an https URL with a name, a port and a path is fine', () => {
  assert.equal(outbound(false).findMistake('https://idp.example.com:8443/realms/main?x=1'), undefined);
});

test('a public address is never connected to by plain http, not even in a private network', async () => {
  const open = outbound(true, { 'idp.example.com': ['93.184.216.34'] });
  assert.match(open.findMistake('http://8.8.8.8/') ?? '', /https/);
  assert.equal((await failureOf(open.fetchJson('http://idp.example.com/', soon()))).kind, 'refused');
  await open.resolve('https://idp.example.com/', soon());
});

test('link-local addresses are refused in a private network, too', async () => {
  const open = outbound(true, {
    'metadata.example.com': ['169.254.169.254'],
    'mapped.example.com': ['::ffff:169.254.169.254'],
  });
  assert.notEqual(open.findMistake('http://169.254.169.254/'), undefined);
  for (const host of ['metadata.example.com', 'mapped.example.com']) {
    assert.equal((await failureOf(open.fetchJson(`http://${host}/`, soon()))).kind, 'refused');
    assert.equal((await failureOf(open.resolve(`https://${host}/`, soon()))).kind, 'refused');
  }
});

for (const addresses of [
  ['127.0.0.1'],
  ['10.0.0.7'],
  ['::1'],
  ['::ffff:192.168.1.1'],
  ['93.184.216.34', '127.0.0.1'],
  ['fd00::1', '2606:4700::1111'],
]) {
  test(`a name that resolves to ${addresses.join(' and ')} is refused when the connection is made`, async () => {
    const guarded = outbound(false, { 'rebound.example.com': addresses });
    assert.equal(guarded.findMistake('https://rebound.example.com/'), undefined);
    const failure = await failureOf(guarded.fetchJson('https://rebound.example.com/', soon()));
    assert.equal(failure.kind, 'refused');
    assert.equal((await failureOf(guarded.resolve('https://rebound.example.com/', soon()))).message, failure.message);
  });
}

test('a name that resolves elsewhere the second time is judged a second time', async () => {
  let asked = 0;
  const rebinding = makeHttpClient({
    allowPrivate: false,
    setting: 'WDA_IDP_PRIVATE_NETWORK',
    lookup: (_hostname, _options, callback) =>
      callback(null, [{ address: asked++ === 0 ? '93.184.216.34' : '127.0.0.1', family: 4 }]),
  });
  opened.push(rebinding);
  await rebinding.resolve('https://idp.example.com/', soon());
  assert.equal((await failureOf(rebinding.fetchJson('https://idp.example.com/', soon()))).kind, 'refused');
  assert.equal(asked, 2);
});

test('a document is fetched by name and by address in a private network', async () => {
  server.serve('/document', { answer: 42 });
  const { port } = new URL(server.origin);
  const open = outbound(true, { 'idp.internal': ['127.0.0.1'] });
  assert.deepEqual(await open.fetchJson(`${server.origin}/document`, soon()), { answer: 42 });
  assert.deepEqual(await open.fetchJson(`http://idp.internal:${port}/document`, soon()), { answer: 42 });
});

test('only HTTP/1.1 is offered to a server with TLS', async () => {
  const hellos: Buffer[] = [];
  const listener = createServer((socket) =>
    socket.once('data', (hello) => socket.end(() => hellos.push(hello as Buffer))),
  );
  await once(listener.listen(0, '127.0.0.1'), 'listening');
  try {
    const { port } = listener.address() as AddressInfo;
    await failureOf(outbound(true).fetchJson(`https://127.0.0.1:${port}/`, soon()));
    assert.deepEqual(
      ['http/1.1', 'h2'].map((protocol) => hellos[0]?.includes(String.fromCharCode(protocol.length) + protocol)),
      [true, false],
    );
  } finally {
    listener.close();
  }
});

test('redirects are not followed', async () => {
  server.serve('/moved', (response) => response.writeHead(302, { location: '/document' }).end());
  const failure = await failureOf(outbound(true).fetchJson(`${server.origin}/moved`, soon()));
  assert.equal(failure.kind, 'failed');
  assert.match(failure.message, /^answered 302, and redirects are not followed$/);
});

test('more than 1 MiB is not read, announced or not', async () => {
  const megabyte = Buffer.alloc(1_048_577, ' ');
  server.serve('/announced', (response) =>
    response.writeHead(200, { 'content-length': megabyte.length }).end(megabyte),
  );
  server.serve('/endless', (response) => {
    response.writeHead(200);
    const more = (error?: Error | null): void => {
      if (!error && !response.destroyed) response.write(megabyte, more);
    };
    more();
  });
  for (const path of ['/announced', '/endless']) {
    const failure = await failureOf(outbound(true).fetchJson(`${server.origin}${path}`, soon()));
    assert.match(failure.message, /more than 1048576 bytes/);
  }
});

test('an answer that does not come, or does not end, is given up', async () => {
  server.serve('/silent', () => undefined);
  server.serve('/drops', (response) => {
    response.writeHead(200);
    const drop = setInterval(() => response.write(' '), 20);
    response.on('close', () => clearInterval(drop));
  });
  for (const path of ['/silent', '/drops']) {
    const failure = await failureOf(outbound(true).fetchJson(`${server.origin}${path}`, AbortSignal.timeout(200)));
    assert.equal(failure.message, 'did not answer in time');
  }
});

test('what is not JSON, not UTF-8, not there or cut off is a failure', async () => {
  server.serve('/html', (response) => response.writeHead(200).end('<html>'));
  server.serve('/latin', (response) => response.writeHead(200).end(Buffer.from([0x22, 0xe4, 0x22])));
  server.serve('/cut', (response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('{');
    setTimeout(() => response.destroy(), 20);
  });
  for (const [path, message] of [
    ['/html', /not JSON/],
    ['/latin', /not JSON/],
    ['/nothing', /answered 404/],
    ['/cut', /could not be reached/],
  ] as const) {
    const failure = await failureOf(outbound(true).fetchJson(`${server.origin}${path}`, soon()));
    assert.equal(failure.kind, 'failed');
    assert.match(failure.message, message);
  }
});

test('a name that does not exist and a port where nobody listens', async () => {
  const gone = await startKeyServer();
  await gone.stop();
  assert.match(
    (await failureOf(outbound(true).fetchJson('https://idp.example.com/', soon()))).message,
    /cannot be resolved/,
  );
  assert.match(
    (await failureOf(outbound(true).fetchJson(`${gone.origin}/`, soon()))).message,
    /refused the connection/,
  );
});

test('of private addresses those of the networks that are named may be connected to', async () => {
  server.serve('/named', { answer: 1 });
  const { port } = new URL(server.origin);
  const named = outbound(['10.0.0.0/8', '127.0.0.1/32', 'fd00::/8'], { 'two.internal': ['127.0.0.1', '192.168.0.1'] });
  assert.deepEqual(await named.fetchJson(`${server.origin}/named`, soon()), { answer: 1 });
  for (const url of [
    'http://192.168.0.1/',
    `http://two.internal:${port}/named`,
    'http://[::1]/',
    'http://127.0.0.2/',
  ]) {
    const failure = await failureOf(named.fetchJson(url, soon()));
    assert.deepEqual([failure.kind, /loopback or private/.test(failure.message)], ['refused', true], url);
  }
  assert.equal(named.findMistake('http://[::ffff:10.1.2.3]/'), undefined);
  // A network that is no private one opens nothing.
  const wide = outbound(['0.0.0.0/0', '::/0']);
  for (const url of ['http://93.184.216.34/', 'http://169.254.169.254/'])
    assert.notEqual(wide.findMistake(url), undefined);
});

test('a fetch notes that it led to a private address, also when it fails', async () => {
  server.serve('/noted', { answer: 1 });
  const { port } = new URL(server.origin);
  const open = outbound(true, { 'idp.internal': ['127.0.0.1'], 'idp.example.com': ['93.184.216.34'] });
  for (const url of [
    `${server.origin}/noted`,
    `http://idp.internal:${port}/noted`,
    `http://idp.internal:${port}/none`,
  ]) {
    const contact = { isPrivate: false };
    await open.fetchJson(url, soon(), contact).catch(() => undefined);
    assert.equal(contact.isPrivate, true, url);
  }
  const contact = { isPrivate: false };
  await failureOf(open.fetchJson('http://idp.example.com/', soon(), contact));
  assert.equal(contact.isPrivate, false);
});
