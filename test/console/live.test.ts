// Live rows: what others change is in the grid at once, without taking anything from whoever edits.
import assert from 'node:assert/strict';
import { type Page, violationsOf } from '../support/browser.ts';
import { type BrowserUser, consoleSkip, useConsole } from '../support/console.ts';
import { use } from '../support/resources.ts';
import { openSwitch, type Switch } from '../support/tcp-proxy.ts';
import { until } from '../support/wait-until.ts';

const { test, server, keys } = useConsole({ WDA_STREAMS_PER_CREDENTIAL: '2' });

const FIELDS = { text: { type: 'string' }, size: { type: 'integer' } };
const FOLLOWED = ['breaks', 'edits', 'meanwhile', 'given', 'totals', 'filters', 'stops', 'switched', 'limits', 'views'];
const shop = use(() =>
  server.workspace('acme/shop', {
    entities: {
      ...Object.fromEntries(FOLLOWED.map((name) => [name, { fields: FIELDS, settings: { changes: 'feed' } }])),
      plain: { fields: FIELDS },
    },
  }),
);

const getPort = (): number => Number(new URL(server.url).port);
const line =
  consoleSkip === false
    ? use(
        () => openSwitch(getPort()),
        (one) => one.close(),
      )
    : ({} as Switch);
// A port on which nothing listens.
const NOWHERE = 1;

const create = (entity: string, ...texts: string[]) =>
  shop.create(
    entity,
    texts.map((text) => ({ text, size: 1 })),
  );
const change = async (path: string, body: unknown): Promise<void> =>
  assert.equal((await shop.call(path, { method: 'PATCH', body })).status, 200);
const remove = async (path: string): Promise<void> =>
  assert.equal((await shop.call(path, { method: 'DELETE' })).status, 204);

const cell = (page: Page, text: string) => page.getByRole('gridcell', { name: text, exact: true });
const row = (page: Page, text: string) => page.getByRole('row').filter({ has: cell(page, text) });

/** Opens a grid, and waits until it follows. */
async function openGrid({ open }: BrowserUser, path: string, key = keys.admin, origin = server.url): Promise<Page> {
  const page = await open({ key, path: '/acme/shop', origin });
  const opened = page.waitForResponse((answer) => answer.url().includes('_changes') && answer.status() === 200);
  await page.goto(`${origin}/console/acme/shop/data/${path}`);
  await opened;
  await page.getByRole('switch', { name: 'Live' }).waitFor();
  return page;
}

// Notes go after two seconds, which a busy machine may take to look at them.
const COLLECT_NOTES = `globalThis.__notes = new Set();
new MutationObserver(() => {
  for (const note of document.querySelectorAll('.grid-note'))
    __notes.add(note.closest('[role=row]').querySelector('[aria-colindex="2"]').textContent + ' ' + note.textContent);
}).observe(document.body, { childList: true, subtree: true })`;
const readNotes = (page: Page) => page.evaluate<string[]>('[...globalThis.__notes].sort()');

test('a change by another one is shown and marked, our own is not', async (user) => {
  await create('edits', 'first', 'second');
  const page = await openGrid(user, 'edits');
  await cell(page, 'first').waitFor();
  await page.evaluate(COLLECT_NOTES);
  await cell(page, 'second').dblclick();
  await page.keyboard.type('of mine');
  await page.keyboard.press('Enter');
  await cell(page, 'of mine').waitFor();
  await change('edits/1', { text: 'changed' });
  await cell(page, 'changed').waitFor();
  assert.deepEqual(await violationsOf(page), []);
  await until('the mark was there, and is gone', async () => {
    const notes = await readNotes(page);
    return notes.length > 0 && (await page.locator('.grid-note').count()) === 0;
  });
  assert.deepEqual(
    (await readNotes(page)).map((note) => note.replaceAll(/\s+/g, ' ')),
    ['1 Changed'],
  );
});

test('an edited row is never replaced: it says that it changed meanwhile, and both changes are kept', async (user) => {
  await create('meanwhile', 'text');
  const page = await openGrid(user, 'meanwhile');
  await cell(page, 'text').dblclick();
  await page.keyboard.type('of mine');
  await change('meanwhile/1', { size: 7 });
  await page.getByText('Changed meanwhile').waitFor();
  assert.equal(await page.getByRole('textbox', { name: 'text of record 1' }).inputValue(), 'of mine');
  assert.deepEqual(await violationsOf(page), []);
  await page.keyboard.press('Enter');
  await page
    .getByRole('dialog', { name: 'Record changed meanwhile' })
    .getByRole('button', { name: 'Keep mine' })
    .click();
  await until('both changes are stored', async () => {
    const { text, size } = (await shop.call('meanwhile/1')).json.data;
    return text === 'of mine' && size === 7;
  });
  await row(page, 'of mine')
    .filter({ has: cell(page, '7') })
    .waitFor();
  await page.getByText('Changed meanwhile').waitFor({ state: 'detached' });
});

test('an edit that is given up shows what others have stored meanwhile', async (user) => {
  await create('given', 'text');
  const page = await openGrid(user, 'given');
  await cell(page, 'text').dblclick();
  await change('given/1', { text: 'by another one' });
  await page.getByText('Changed meanwhile').waitFor();
  await page.keyboard.press('Escape');
  await cell(page, 'by another one').waitFor();
});

test('new records are told and shown on click, removed ones are struck through, and the total follows', async (user) => {
  await create('totals', 'first', 'second');
  const page = await openGrid(user, 'totals');
  await page.getByText('2 records', { exact: true }).waitFor();
  await create('totals', 'third', 'fourth', 'fifth');
  await page.getByText('3 new records', { exact: true }).waitFor();
  await page.getByText('5 records', { exact: true }).waitFor();
  assert.equal(await cell(page, 'third').count(), 0);
  await remove('totals/1');
  await page.getByText('4 records', { exact: true }).waitFor();
  await row(page, 'first').getByText('Removed').waitFor();
  const line = await cell(page, 'first').evaluate(
    (one) => one.ownerDocument.defaultView.getComputedStyle(one).textDecorationLine,
  );
  assert.equal(line, 'line-through');
  assert.deepEqual(await violationsOf(page), []);
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await cell(page, 'fifth').waitFor();
  await cell(page, 'first').waitFor({ state: 'detached' });
  assert.equal(await page.getByText('3 new records').count(), 0);
});

test('a filtered list has the new records that match, and says of a changed one that it no longer does', async (user) => {
  await create('filters', 'first', 'second');
  const page = await openGrid(user, 'filters?filter=size,lt,5');
  await cell(page, 'second').waitFor();
  assert.equal((await shop.call('filters', { method: 'POST', body: { text: 'large', size: 9 } })).status, 201);
  await change('filters/1', { size: 6 });
  await row(page, 'first').getByText('No longer matches').waitFor();
  await create('filters', 'third');
  await page.getByText('1 new record', { exact: true }).waitFor();
  await change('filters/3', { size: 2 });
  await page.getByText('2 new records', { exact: true }).waitFor();
});

test('a stream that breaks goes on without a gap', async (user) => {
  await create('breaks', 'first', 'second');
  const page = await openGrid(user, 'breaks', keys.admin, `http://127.0.0.1:${line.port}`);
  await cell(page, 'second').waitFor();
  await change('breaks/1', { text: 'before' });
  await cell(page, 'before').waitFor();
  line.to(NOWHERE, true);
  await change('breaks/1', { text: 'meanwhile' });
  await change('breaks/2', { text: 'meanwhile, too' });
  await create('breaks', 'third');
  await page.getByText(/^Not live: /).waitFor();
  line.to(getPort(), false);
  await cell(page, 'meanwhile').waitFor();
  await cell(page, 'meanwhile, too').waitFor();
  await page.getByText('1 new record', { exact: true }).waitFor();
  await page.getByText(/^Not live: /).waitFor({ state: 'detached' });
});

test('without a stream the grid works as before, and says why it is not live', async (user) => {
  await create('plain', 'alone');
  const plain = await user.open({ key: keys.admin, path: '/acme/shop/data/plain' });
  await plain.getByText('Not live: plain keeps no changes').waitFor();
  assert.equal(await plain.getByRole('switch', { name: 'Live' }).count(), 0);

  await create('stops', 'first');
  const page = await openGrid(user, 'stops');
  const settings = { method: 'PUT', body: { changes: 'off' } };
  assert.equal((await shop.admin('entities/stops/settings', settings)).status, 200);
  await page.getByText(/^Not live: /).waitFor();
  await cell(page, 'first').dblclick();
  await page.keyboard.type('edited');
  await page.keyboard.press('Enter');
  await cell(page, 'edited').waitFor();
});

test('one stream a page, none while the switch is off, and the choice stays', async (user) => {
  await create('switched', 'first');
  const page = await openGrid(user, 'switched');
  const streams: string[] = [];
  page.on('request', (request) => void (request.url().includes('_changes') && streams.push(request.url())));
  const live = page.getByRole('switch', { name: 'Live' });
  await live.click();
  await change('switched/1', { text: 'unseen' });
  await page.getByRole('button', { name: 'Reload' }).click();
  await cell(page, 'unseen').waitFor();
  await page.reload();
  await cell(page, 'unseen').waitFor();
  assert.equal(await live.isChecked(), false);
  assert.deepEqual(streams, []);
  await live.click();
  await until('a stream is opened', () => streams.length === 1);
  assert.doesNotMatch(streams.join(), /key|token|authorization/i);
});

test('more streams than a key may have are not live, and the grid is there', async (user) => {
  await create('limits', 'first');
  const page = await openGrid(user, 'limits', shop.key);
  const second = await user.tab(page, '/acme/shop/data/limits');
  await cell(second, 'first').waitFor();
  await change('limits/1', { text: 'second' });
  await cell(second, 'second').waitFor();
  const other = await user.tab(page, '/acme/shop/data/limits');
  await other.getByText(/^Not live: /).waitFor();
  await cell(other, 'second').waitFor();
  await page.goto(`${server.url}/console/acme/shop`);
  // Retry-After is five seconds.
  await other.getByText(/^Not live: /).waitFor({ state: 'detached', timeout: 300_000 });
  await change('limits/1', { text: 'followed' });
  await cell(other, 'followed').waitFor();
});

test('as another user there is no stream', async (user) => {
  await create('views', 'first');
  const page = await openGrid(user, 'views');
  await page.getByRole('button', { name: 'View as' }).click();
  await page.getByLabel('Token or claims').fill('{"sub": "u"}');
  await page.getByRole('button', { name: 'View', exact: true }).click();
  await page.getByRole('switch', { name: 'Live' }).waitFor({ state: 'detached' });
  await cell(page, 'first').waitFor();
  assert.equal(await page.getByText(/Not live/).count(), 0);
});
