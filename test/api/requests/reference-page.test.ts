// The reference of the data API and the recipes: every request that a page shows is made, in the order of the page, over
// records of its own, and answered as it says.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DEMO_RECORDS, DEMO_SCHEMA } from '../../../src/bootstrap/demo.ts';
import { prepare, use, useServer } from '../../support/resources.ts';

interface Example {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly status: number;
  readonly answer: string;
}

const DOCS = join(import.meta.dirname, '..', '..', '..', 'docs');
/** How many examples the page has at least. */
const PAGES: readonly (readonly [page: string, least: number])[] = [
  ['reference/data-api.md', 15],
  ...globSync('recipes/*.md', { cwd: DOCS })
    .sort()
    .map((page) => [page, 1] as const),
];
const EXAMPLE =
  /^ {4}(GET|POST|PUT|PATCH|DELETE) \/(\S+)\n((?: {4}[A-Z][\w-]+: .*\n)*)((?: {4}.*\n)*)\n {4}(\d{3})(?: (.*\n(?: {4}.*\n)*))?/gm;

const examplesOf = (page: string): readonly Example[] =>
  [...page.matchAll(EXAMPLE)].map(([, method = '', path = '', headers = '', body = '', status, answer = '']) => ({
    method,
    path,
    headers: Object.fromEntries(
      [...headers.matchAll(/^ {4}([\w-]+): (.*)$/gm)].map(([, name, value]) => [name, value]),
    ),
    body,
    status: Number(status),
    answer,
  }));

/** JSON without the white space between its parts: every digit, and the order of members, stay. */
const packed = (text: string): string => text.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');

const CURSOR = /"nextCursor":"([\w-]+)"/;
/** What a cursor says without the epoch of the workspace, which the page cannot know. */
const saidBy = (cursor: string): string =>
  Buffer.from(cursor, 'base64url')
    .toString()
    .replace(/;[0-9a-f]{8}"/, '"');

const server = useServer();
// With searchable titles, as the page of the data API says.
const schema = structuredClone(DEMO_SCHEMA);
Object.assign(schema.entities.products.fields.title, { searchable: true });

PAGES.forEach(([name, least], index) => {
  const shop = use(() => server.workspace(`demo/shop${index === 0 ? '' : `-${index}`}`, schema));
  prepare(async () => {
    for (const [entity, records] of DEMO_RECORDS) await shop.create(entity, records);
  });

  test(`${name} shows what requests are answered`, async () => {
    const page = readFileSync(join(DOCS, name), 'utf8');
    const examples = examplesOf(page);
    const shown = page.match(/^ {4}(?:GET|POST|PUT|PATCH|DELETE) \//gm) ?? [];
    assert.equal(examples.length, shown.length, 'an example has another form than the others');
    assert.ok(examples.length >= least);
    // The page cannot know the number of the transaction in an entity tag.
    const [told = 'no entity tag'] = /"\d+-\w+\.\w+"/.exec(page) ?? [];
    /** Cursors of this workspace, by those of the page. */
    const cursors = new Map<string, string>();
    const etag = (await shop.call('orders/1')).headers.get('etag') ?? '';
    for (const { method, path, headers, body, status, answer } of examples) {
      const asked = path.replace(/after=([\w-]+)/, (after, cursor) =>
        cursors.has(cursor) ? `after=${cursors.get(cursor)}` : after,
      );
      const found = await shop.call(asked, {
        method,
        headers: Object.fromEntries(
          Object.entries(headers).map(([header, value]) => [header, value.replace(told, etag)]),
        ),
        ...(body === '' ? {} : { body }),
      });
      assert.equal(found.status, status, `${method} ${path}: ${found.text}`);
      const [shown, text] = [packed(answer), packed(found.text)];
      const [before, after] = [shown, text].map((one) => CURSOR.exec(one)?.[1]);
      if (before === undefined || after === undefined) {
        assert.equal(text, shown, `${method} ${path}`);
        continue;
      }
      cursors.set(before, after);
      assert.equal(saidBy(after), saidBy(before), `${method} ${path}`);
      assert.equal(text.replace(after, before), shown, `${method} ${path}`);
    }
  });
});
