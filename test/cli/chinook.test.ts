// Real input: the Chinook music shop, loaded by the example's script from its 11 CSV files into a real server, then
// counted and added up through the API. The figures are those of the CSV files.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { ADMIN_KEY, startTestServer, type TestServer } from '../support/server.ts';
import { runNode } from './wda.ts';

const ROOT = join(import.meta.dirname, '../..');
// The CSV files are no part of the project; where they are not beside it, these tests are skipped.
const DATA = join(ROOT, '..', 'shared', 'data', 'chinook');
const skip = existsSync(DATA) ? false : `no CSV files in ${DATA}`;

type Row = Readonly<Record<string, string>>;
interface Listing {
  readonly data: readonly Record<string, unknown>[];
  readonly meta: { readonly totalElements: number; readonly nextCursor: string | null };
}

let server: TestServer;
let loaded = { stdout: '', stderr: '' };
let key = '';

before(async () => {
  if (skip) return;
  server = await startTestServer();
  const outcome = await load();
  assert.equal(outcome.code, 0, outcome.stderr);
  loaded = outcome;
  key = /API key .*: (wda_\S+)/.exec(outcome.stdout)?.[1] ?? '';
});
after(async () => {
  if (!skip) await server.stop();
});

const load = () =>
  runNode([join(ROOT, 'examples/chinook/load.ts'), DATA], {
    env: { WDA_URL: server.url, WDA_ADMIN_KEY: ADMIN_KEY },
  });

const rows = async (file: string): Promise<readonly Row[]> =>
  parse(await readFile(join(DATA, file)), { columns: true, bom: true }) as Row[];

async function get<T = Listing>(path: string): Promise<T> {
  const response = await fetch(`${server.url}/api/v1/chinook/music/${path}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  assert.equal(response.status, 200, `${path}: ${await response.clone().text()}`);
  return (await response.json()) as T;
}

/** Every record of an entity, page after page by cursor. */
async function all(entity: string, query: string): Promise<readonly Record<string, unknown>[]> {
  const found: Record<string, unknown>[] = [];
  for (let after: string | null = ''; after !== null; ) {
    const page: Listing = await get(
      `${entity}?size=1000&${query}${after === '' ? '' : `&after=${encodeURIComponent(after)}`}`,
    );
    found.push(...page.data);
    after = page.meta.nextCursor;
  }
  return found;
}

/** Money as whole cents: sums of floats are not money. */
const cents = (amount: unknown): number => Math.round(Number(amount) * 100);
const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);

test('the script reports every file, prints a key and a curl line', { skip }, () => {
  assert.match(loaded.stdout, /^artists: 275 inserted, 0 updated, 0 skipped$/m);
  assert.match(loaded.stdout, /^tracks: 3,503 inserted, 0 updated, 0 skipped$/m);
  assert.match(loaded.stdout, /^curl -H 'Authorization: Bearer wda_\S+' 'http/m);
  assert.equal(loaded.stderr, '');
});

test('the curl line works when pasted', { skip }, async () => {
  const line = /^curl -H 'Authorization: (Bearer \S+)' '(\S+)'$/m.exec(loaded.stdout);
  assert.ok(line?.[1] && line[2]);
  const response = await fetch(line[2], { headers: { authorization: line[1] } });
  assert.equal(response.status, 200);
  const { data } = (await response.json()) as { data: { title: string; artist: { name: string }; tracks: unknown[] } };
  assert.equal(data.title, 'For Those About To Rock We Salute You');
  assert.equal(data.artist.name, 'AC/DC');
  assert.equal(data.tracks.length, 10);
});

test('every entity holds as many records as its file', { skip }, async () => {
  const files: readonly (readonly [string, string, number])[] = [
    ['artists', 'Artist.csv', 275],
    ['albums', 'Album.csv', 347],
    ['genres', 'Genre.csv', 25],
    ['mediaTypes', 'MediaType.csv', 5],
    ['tracks', 'Track.csv', 3503],
    ['playlists', 'Playlist.csv', 18],
    ['playlistTracks', 'PlaylistTrack.csv', 8715],
    ['employees', 'Employee.csv', 8],
    ['customers', 'Customer.csv', 59],
    ['invoices', 'Invoice.csv', 412],
    ['invoiceLines', 'InvoiceLine.csv', 2240],
  ];
  for (const [entity, file, count] of files) {
    assert.equal((await rows(file)).length, count, file);
    assert.equal((await get(`${entity}?size=1`)).meta.totalElements, count, entity);
  }
});

test('the invoices add up to the cent, by themselves and by their lines', { skip }, async () => {
  const fromFile = sum((await rows('Invoice.csv')).map((row) => cents(row.Total)));
  const invoices = await all('invoices', 'fields=id,total');
  assert.equal(sum(invoices.map((invoice) => cents(invoice.total))), fromFile);
  assert.equal(fromFile, 232_860, '2,328.60');
  const lines = await all('invoiceLines', 'fields=unitPrice,quantity');
  assert.equal(sum(lines.map((line) => cents(line.unitPrice) * Number(line.quantity))), fromFile);
});

test('text, empty cells and dates are as in the file', { skip }, async () => {
  const { data } = await get<{ data: Record<string, unknown> }>('customers/2');
  assert.equal(data.firstName, 'Leonie');
  assert.equal(data.address, 'Theodor-Heuss-Straße 34');
  assert.equal(data.company, null);
  assert.equal((await get<{ data: Record<string, unknown> }>('invoices/1')).data.invoiceDate, '2021-01-01T00:00:00Z');
  const brazil = (await rows('Customer.csv')).filter((row) => row.Country === 'Brazil');
  assert.deepEqual(
    (await all('customers', 'filter=country,eq,Brazil')).map((customer) => customer.city),
    brazil.map((row) => row.City),
  );
});

test('the queries of the README give the answers of the README', { skip }, async () => {
  const readme = await readFile(join(ROOT, 'examples/chinook/README.md'), 'utf8');
  const pairs = [...readme.matchAll(/```sh\n(curl .+?)\n```\n\n```json\n(.+?)\n```/gs)];
  assert.equal(pairs.length, 5);
  for (const [, command = '', answer = ''] of pairs) {
    const path = /"\$API\/([^"]+)"/.exec(command)?.[1] ?? command;
    const body = / -d '(.+)'$/s.exec(command)?.[1];
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const url = `${server.url}/api/v1/chinook/music/${path}`;
    const response = await (body === undefined
      ? fetch(url, { headers })
      : fetch(url, { headers, method: 'POST', body }));
    // A cursor is opaque: the README says that there is one, not which.
    const found = JSON.parse(await response.text(), (name, value) =>
      name === 'nextCursor' && value !== null ? '…' : value,
    );
    assert.deepEqual(found, JSON.parse(answer), path);
  }
});

test('the script may run again: records are updated, none are doubled', { skip }, async () => {
  const { code, stdout, stderr } = await load();
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^tracks: 0 inserted, 3,503 updated, 0 skipped$/m);
  assert.match(stdout, /^playlistTracks: 8715 records are there already/m);
  assert.equal((await get('playlistTracks?size=1')).meta.totalElements, 8715);
  assert.equal((await get('tracks?size=1')).meta.totalElements, 3503);
});

test('a directory without the files is refused before anything is created', { skip }, async () => {
  const { code, stderr } = await runNode([join(ROOT, 'examples/chinook/load.ts'), join(ROOT, 'docs')], {
    env: { WDA_URL: server.url, WDA_ADMIN_KEY: ADMIN_KEY },
  });
  assert.equal(code, 1);
  assert.match(stderr, /lacks Artist\.csv, Album\.csv/);
});
