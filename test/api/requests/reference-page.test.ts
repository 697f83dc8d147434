// The reference of the data API and the recipes: every request that a page shows is made, in the order of the page, over
// records of its own, and answered as it says.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DEMO_RECORDS, DEMO_SCHEMA } from '../../../src/bootstrap/demo.ts';
import { parseExamples, requestExamples } from '../../support/page-examples.ts';
import { prepare, use, useServer } from '../../support/resources.ts';

const DOCS = join(import.meta.dirname, '..', '..', '..', 'docs');
const read = (page: string): string => readFileSync(join(DOCS, page), 'utf8');
/** How many examples the page has at least. Recipes with commands have tests of their own, test/cli/*-pages. */
const PAGES: readonly (readonly [page: string, least: number])[] = [
  ['reference/data-api.md', 15],
  ...globSync('recipes/[0-9a-z]*.md', { cwd: DOCS })
    .filter((page) => !/examples\/helpdesk|^wda (?:changes|schema|workspace|backup) /m.test(read(page)))
    .sort()
    .map((page) => [page, 1] as const),
];

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
    const page = read(name);
    const examples = parseExamples(page);
    assert.ok(examples.length >= least);
    // The page cannot know the number of the transaction in an entity tag.
    const [told = 'no entity tag'] = /"\d+-\w+\.\w+"/.exec(page) ?? [];
    const etag = (await shop.call('orders/1')).headers.get('etag') ?? '';
    await requestExamples(examples, shop, (value) => value.replace(told, etag));
  });
});
