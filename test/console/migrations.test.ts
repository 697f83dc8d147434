// Migrations in the console: watched while they run, on every screen, and cancelled.
import assert from 'node:assert/strict';
import { type Page, violationsOf } from '../support/browser.ts';
import { consoleSkip, useConsole } from '../support/console.ts';
import { type Json, schemaOf } from '../support/migration.ts';
import { type Held, holdAt, holdRecord, prepareHolds } from '../support/paused-migration.ts';
import { prepare } from '../support/resources.ts';
import type { TestWorkspace } from '../support/server.ts';

const { test, keys, server } = useConsole();

const documentWith = (type: string) => ({ entities: { things: { fields: { n: { type } } }, others: { fields: {} } } });

let big: TestWorkspace;
if (consoleSkip === false)
  prepare(async () => {
    big = await server.workspace('t/big', documentWith('integer'));
    await big.create(
      'things',
      Array.from({ length: 50 }, (_, n) => ({ n })),
    );
    await prepareHolds(server.database);
    await holdRecord(server.database, `"${await schemaOf(server, big)}".things`, 40);
  });

/** Begins a change of type on the page, which stops at record 40. */
async function held(page: Page): Promise<Held> {
  await page.getByLabel('Type').selectOption('bigint');
  await page.getByRole('link', { name: 'Plan', exact: true }).click();
  const apply = page.getByRole('button', { name: 'Apply' });
  await apply.waitFor();
  return holdAt(server.database, { kind: 'record' }, () => apply.click());
}

const inForce = async (): Promise<Json> => (await big.admin('schema')).json.data;

test('a migration is seen on every screen, survives a reload, and is cancelled', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/t/big/schema?tab=entities&entity=things&open=fields.n' });
  const migration = await held(page);
  try {
    await page.getByRole('heading', { name: /^Migration \d+$/ }).waitFor();
    await page.getByRole('progressbar', { name: 'Total progress' }).waitFor();
    await page.reload();
    await page.getByRole('progressbar', { name: 'Total progress' }).waitFor();
    assert.deepEqual(await violationsOf(page), []);
    const [thing] = (await big.call('things?size=1')).json.data;
    assert.equal((await big.call(`things/${thing.id}`, { method: 'PUT', body: { n: 1000 } })).status, 200);
    await page.getByRole('navigation', { name: 'Workspace' }).getByRole('link', { name: 'Overview' }).click();
    const banner = page.getByRole('status', { name: 'A migration runs' });
    await banner.getByText('change field n of things').waitFor();
    await banner.getByRole('link', { name: 'Show' }).click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('main').getByText('cancelled', { exact: true }).first().waitFor();
    assert.deepEqual(await inForce(), documentWith('integer'));
    assert.equal((await big.call(`things/${thing.id}`)).json.data.n, 1000);
  } finally {
    await migration.release();
  }
  await page.getByRole('navigation', { name: 'Workspace' }).getByRole('link', { name: 'Migrations' }).click();
  await page.getByRole('table', { name: 'Migrations' }).getByText('cancelled').waitFor();
  assert.deepEqual(await violationsOf(page), []);
  // The draft is still there, to be applied again.
  await page.getByRole('navigation', { name: 'Workspace' }).getByRole('link', { name: 'Schema' }).click();
  await page.getByText('Draft, not applied').waitFor();
});

test('a failed migration shows the conflicting records', async ({ open }) => {
  const body = { entities: { things: { fields: { n: { type: 'integer', max: 10 } } }, others: { fields: {} } } };
  const { id } = (await big.admin('schema', { method: 'PUT', body })).json.data;
  const page = await open({ key: keys.admin, path: `/t/big/migrations/${id}` });
  const failure = page.getByRole('alert', { name: 'DATA_CONFLICT' });
  await failure.getByRole('link', { name: '40 records' }).click();
  await page.waitForURL(/\/data\/things\?filter=id,in,[\d,]+$/);
});
