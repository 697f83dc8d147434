// Shared schemas in the console: versions in words and as differences, workspaces that follow, rollouts with their waves.
import assert from 'node:assert/strict';
import { type Page, violationsOf } from '../support/browser.ts';
import { consoleSkip, useConsole } from '../support/console.ts';
import { use } from '../support/resources.ts';
import { makeFleet, type TestFleet } from '../support/shared-schema.ts';

const { test, server, keys } = useConsole();

const STRING = { type: 'string' };
const toDocument = (fields: object) => ({ entities: { tickets: { fields } } });
const VERSIONS = [
  toDocument({ title: STRING, note: STRING }),
  toDocument({ title: STRING, remark: { ...STRING, renamedFrom: 'note' } }),
  toDocument({ title: { ...STRING, required: true }, remark: STRING }),
];

interface Fleet extends TestFleet {
  /** Key of an owner of workspace `a`. */
  readonly owner: string;
  /** Rollout to version 3, paused after the first wave, in which `a` has failed. */
  readonly rollout: number;
}

/** Workspaces `a` to `e` at version 2; a ticket of `a` has no title, which version 3 needs. */
const fleet =
  consoleSkip === false
    ? use(async (): Promise<Fleet> => {
        const fleet = await makeFleet(server, 'acme', VERSIONS);
        await fleet.follow([...'abcde'], 2);
        const key = await fleet.organization('/workspaces/a/api-keys', 'POST', { name: 'owner', permissions: 'OWNER' });
        const owner = key.json.data.key;
        const ticket = { method: 'POST', credential: owner, body: { remark: 'no title' } };
        assert.equal((await server.call('/api/v1/acme/a/tickets', ticket)).status, 201);
        const rollout = await fleet.start({ version: 3, waves: [2, 2, 'rest'], pause: 'confirm' });
        await fleet.waitFor(rollout, 'paused');
        return { ...fleet, owner, rollout };
      })
    : ({} as Fleet);

/** Workspaces `x` and `y` at the only version. */
const forms =
  consoleSkip === false
    ? use(async () => {
        const fleet = await makeFleet(server, 'other', [VERSIONS[0]], 'forms');
        await fleet.follow(['x', 'y']);
        return fleet;
      })
    : ({} as TestFleet);

/** Workspace `z` before a version that drops a field. */
const lossy =
  consoleSkip === false
    ? use(async () => {
        const fleet = await makeFleet(server, 'third', [VERSIONS[0], toDocument({ title: STRING })], 'lossy');
        await fleet.follow(['z'], 1);
        return fleet;
      })
    : ({} as TestFleet);

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const SCHEMA = '/acme/-/schemas/desk';

test('the list leads to a schema with its versions in words, and to their differences', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/acme' });
  await page.getByRole('link', { name: 'Shared schemas' }).click();
  await page.getByRole('row', { name: /^desk 3 5$/ }).waitFor();
  assert.deepEqual(await violationsOf(page), []);
  await page.getByRole('link', { name: 'desk' }).click();
  const versions = page.getByRole('table', { name: 'Versions' });
  await versions.getByText('rename field note of tickets to remark').waitFor();
  assert.deepEqual(await violationsOf(page), []);
  await versions.getByRole('link', { name: '2', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Version 2 of desk' }).waitFor();
  await page.getByRole('list', { name: 'Steps' }).getByText('rename field note of tickets to remark').waitFor();
  await page.getByRole('tab', { name: 'Difference' }).click();
  const difference = page.getByRole('region', { name: 'Difference of version 1 and version 2' });
  await difference.getByText('+       remark:').waitFor();
  await page.getByLabel('Compared with version').selectOption('3');
  await page.getByRole('region', { name: 'Difference of version 3 and version 2' }).waitFor();
  assert.deepEqual(await violationsOf(page), []);
  await page.getByRole('tab', { name: 'Document' }).click();
  await page.getByRole('region', { name: 'Document' }).getByText('remark').waitFor();
  assert.deepEqual(await violationsOf(page), []);
});

test('workspaces that follow are listed, and say so on their schema screen', async ({ open }) => {
  const page = await open({ key: keys.admin, path: `${SCHEMA}?tab=workspaces` });
  const table = page.getByRole('table', { name: 'Workspaces that follow' });
  await table.getByRole('row', { name: /^e e 2 of 3$/ }).waitFor();
  assert.equal(await table.getByRole('row').count(), 6);
  const owners = await open({ key: fleet.owner, path: '/acme/a/schema' });
  await owners.getByText(/follows version 2 of the shared schema/).waitFor();
  await owners.getByRole('link', { name: 'desk' }).click();
  await owners.getByRole('table', { name: 'Versions' }).waitFor();
  for (const name of ['Publish a version', 'Start a rollout', 'Delete'])
    assert.equal(await owners.getByText(name, { exact: true }).count(), 0, name);
  assert.equal(await owners.getByRole('tab', { name: 'Rollouts' }).count(), 0);
});

test('a rollout shows its waves, the conflicting records, and what its state allows', async ({ open }) => {
  const page = await open({
    key: keys.admin,
    path: `${SCHEMA}?tab=rollouts`,
    context: { viewport: { width: 390, height: 800 } },
  });
  await page.getByRole('link', { name: String(fleet.rollout), exact: true }).click();
  const bar = page.getByRole('progressbar', { name: 'Progress of the rollout' });
  await bar.waitFor();
  assert.equal(await bar.getAttribute('aria-valuetext'), '2 of 5 workspaces');
  await page.getByRole('row', { name: /^1, the current one 1 0 0 1 0 0$/ }).waitFor();
  await page.getByRole('status').filter({ hasText: 'Resume continues with wave 2' }).waitFor();
  assert.equal(await button(page, 'Pause').count(), 0);
  assert.deepEqual(await violationsOf(page), []);
  assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
  const dark = await open({
    key: keys.admin,
    path: new URL(page.url()).pathname.replace('/console', ''),
    context: { viewport: { width: 390, height: 800 }, colorScheme: 'dark' },
  });
  await dark.getByRole('link', { name: '1 record', exact: true }).waitFor();
  assert.deepEqual(await violationsOf(dark), []);
  const failed = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'a', exact: true }) });
  await failed.getByRole('link', { name: '1 record', exact: true }).click();
  await page.getByRole('gridcell', { name: 'no title' }).waitFor();
  assert.match(page.url(), /\/acme\/a\/data\/tickets\?filter=id,in,/);
  await page.goBack();

  await button(page, 'Resume').click();
  await page.getByRole('row', { name: /^2, the current one 2 / }).waitFor();
  await button(page, 'Cancel the rollout').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel the rollout' }).click();
  await page.getByRole('row', { name: /^3 0 0 1 0 0 0$/ }).waitFor();
  assert.deepEqual(await fleet.states(fleet.rollout), {
    a: 'failed',
    b: 'succeeded',
    c: 'succeeded',
    d: 'succeeded',
    e: 'skipped',
  });
  for (const name of ['Pause', 'Resume', 'Retry the failed ones', 'Cancel the rollout'])
    assert.equal(await button(page, name).count(), 0, name);

  await page.goto(`${server.url}/console${SCHEMA}/rollouts/new`);
  await button(page, 'Plan').click();
  const inTheWay = page.getByRole('table', { name: 'Conflicts' });
  await inTheWay.getByText('tickets.title').waitFor();
  await inTheWay.getByRole('link', { name: '1 record', exact: true }).waitFor();
  assert.deepEqual(await violationsOf(page), []);
});

test('a loss is confirmed by the name of the schema before a rollout starts', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/third/-/schemas/lossy/rollouts/new' });
  await button(page, 'Plan').click();
  await page.getByText(/1 workspace loses something\.$/).waitFor();
  assert.equal(await button(page, 'Start').getAttribute('disabled'), '');
  await page.getByLabel('Type lossy to drop what version 2 does not have').fill('lossy');
  await button(page, 'Start').click();
  await page.getByRole('row', { name: /^1(, the current one)? 1 / }).waitFor();
  assert.deepEqual(await lossy.versions(), { z: 2 });
});

test('a version is published after its steps are shown, then planned and started', async ({ open }) => {
  const page = await open({
    key: keys.admin,
    path: '/other/-/schemas/forms',
    context: { viewport: { width: 390, height: 800 } },
  });
  await page.getByRole('link', { name: 'Publish a version' }).click();
  await page.getByText('The draft has no changes.').waitFor();
  await page.getByRole('tab', { name: 'Entities' }).click();
  await button(page, 'New entity').click();
  const version = page.getByRole('region', { name: 'Version 2' });
  await version.getByText('create entity entity').waitFor();
  assert.deepEqual(await violationsOf(page), []);
  assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
  await version.getByRole('button', { name: 'Publish version 2' }).click();
  await page.getByRole('heading', { level: 1, name: 'Version 2 of forms' }).waitFor();

  await page.getByRole('link', { name: 'forms' }).click();
  await page.getByRole('link', { name: 'Start a rollout' }).click();
  await page.getByLabel('Waves').fill('nonsense');
  await button(page, 'Plan').click();
  await page.getByText(/^2 workspaces can be changed, 0 unchanged, 0 with/).waitFor();
  await button(page, 'Start').click();
  await page.getByText(/a number of workspaces, or a percentage/).waitFor();
  assert.deepEqual(await violationsOf(page), []);
  assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
  await page.getByLabel('Waves').fill('50%');
  await button(page, 'Start').click();
  await page.getByRole('status').filter({ hasText: 'Wave 1 has ended.' }).waitFor();
  await button(page, 'Resume').click();
  await page.getByRole('row', { name: /^2(, the current one)? 1 / }).waitFor();
  assert.deepEqual(await forms.versions(), { x: 2, y: 2 });
});
