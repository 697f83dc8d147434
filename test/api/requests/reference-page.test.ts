// docs/reference/data-api.md: every request that it shows is made, in the order of the page, and answered as it says.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DEMO_RECORDS, DEMO_SCHEMA } from '../../../src/setup/demo.ts';
import { prepare, use, useServer } from '../../support/use.ts';

interface Example {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly status: number;
  readonly answer: string;
}

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'reference', 'data-api.md'), 'utf8');
const EXAMPLE =
  /^ {4}(GET|POST|PUT|PATCH|DELETE) \/(\S+)\n((?: {4}[A-Z][\w-]+: .*\n)*)((?: {4}.*\n)*)\n {4}(\d{3})(?: (.*\n(?: {4}.*\n)*))?/gm;

const EXAMPLES: readonly Example[] = [...PAGE.matchAll(EXAMPLE)].map(
  ([, method = '', path = '', headers = '', body = '', status, answer = '']) => ({
    method,
    path,
    headers: Object.fromEntries(
      [...headers.matchAll(/^ {4}([\w-]+): (.*)$/gm)].map(([, name, value]) => [name, value]),
    ),
    body,
    status: Number(status),
    answer,
  }),
);

/** JSON without the white space between its parts: every digit, and the order of members, stay. */
const packed = (text: string): string => text.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');

const server = useServer();
const shop = use(() => server.workspace('demo/shop', DEMO_SCHEMA));
prepare(async () => {
  for (const [entity, records] of DEMO_RECORDS) await shop.create(entity, records);
});

test('the page shows what requests are answered', async () => {
  const shown = PAGE.match(/^ {4}(?:GET|POST|PUT|PATCH|DELETE) \//gm) ?? [];
  assert.equal(EXAMPLES.length, shown.length, 'an example has another form than the others');
  assert.ok(EXAMPLES.length >= 15);
  // The page cannot know the number of the transaction in an entity tag.
  const [told = ''] = /"\d+\.\w+"/.exec(PAGE) ?? [];
  const etag = (await shop.call('orders/1')).headers.get('etag') ?? '';
  for (const { method, path, headers, body, status, answer } of EXAMPLES) {
    const found = await shop.call(path, {
      method,
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.replace(told, etag)])),
      ...(body === '' ? {} : { body }),
    });
    assert.equal(found.status, status, `${method} ${path}: ${found.text}`);
    assert.equal(packed(found.text), packed(answer), `${method} ${path}`);
  }
});
