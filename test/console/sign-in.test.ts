// Sign in and out, sessions that end, and what the page lets nobody do, in a browser.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Page, PLAIN_HOST, violationsOf } from '../support/browser.ts';
import { consoleSkip, useConsole } from '../support/console.ts';
import { use } from '../support/resources.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { until } from '../support/wait-until.ts';

const { test, keys, server, shop, browser } = useConsole();

/** A page of another origin on the same host: to cookies it is the same site. */
const stranger: Server =
  consoleSkip === false
    ? use(
        async () => {
          const pages = createServer((_, response) => {
            response.setHeader('content-type', 'text/html').end('<!doctype html><title>stranger</title>');
          });
          await new Promise<void>((resolve) => void pages.listen(0, '127.0.0.1', resolve));
          return pages;
        },
        (pages) => pages.close(),
      )
    : ({} as Server);
const strangerUrl = (): string => `http://127.0.0.1:${(stranger.address() as AddressInfo).port}/`;

async function typeKey(page: Page, key: string): Promise<void> {
  const field = page.getByLabel('Key');
  await field.fill(key);
  await field.press('Enter');
}

const isFocused = (page: Page, label: string): Promise<boolean> =>
  page.getByLabel(label).evaluate((element) => element === element.ownerDocument.activeElement);

/** Goes to another screen by the page's own links, which asks the server. */
const goOn = (page: Page): Promise<void> =>
  page.getByRole('navigation', { name: 'Workspace' }).getByRole('link', { name: 'Migrations' }).click();

const dialogOf = (page: Page) => page.getByRole('dialog', { name: 'Sign in again' });

test('signed out, the page asks for a key', async ({ open }) => {
  const page = await open();
  await page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor();
  assert.equal(await page.getByLabel('Key').getAttribute('type'), 'password');
  assert.deepEqual(await violationsOf(page), []);
});

test('a wrong key is refused in words, and stays to be mended', async ({ open }) => {
  const page = await open();
  await typeKey(page, 'wrong');
  const alert = page.getByRole('alert');
  await alert.waitFor();
  assert.match((await alert.textContent()) ?? '', /not valid/);
  assert.equal(await page.getByLabel('Key').inputValue(), 'wrong');
  assert.ok(await isFocused(page, 'Key'));
});

test('the operator signs in, and the page keeps no part of the key', async ({ open }) => {
  const page = await open();
  await typeKey(page, ADMIN_KEY);
  await page.getByRole('heading', { name: 'Organizations', level: 1 }).waitFor();
  const kept = await page.evaluate<string>(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, document.documentElement.outerHTML])',
  );
  assert.ok(!kept.includes(ADMIN_KEY.slice(0, 12)), kept);
  const [cookie] = await page.context().cookies();
  assert.deepEqual([cookie?.httpOnly, cookie?.sameSite], [true, 'Strict']);
});

test('an owner comes straight to the workspace, and to no other', async ({ open }) => {
  await server.workspace('t/other', { entities: {} });
  const page = await open({ key: keys.owner });
  await page.waitForURL(`${server.url}/console/demo/shop`);
  await page.getByRole('main').getByRole('link', { name: 'orders' }).waitFor();
  assert.equal(await page.getByRole('link', { name: 'Organizations' }).count(), 0);
  await page.goto(`${server.url}/console/t/other`);
  await page.getByText('You have no access').waitFor();
  await page.getByRole('main').getByRole('link').first().click();
  await page.waitForURL(`${server.url}/console/demo/shop`);
});

test('a one-time link signs in once, and leaves no code in the address', async ({ open }) => {
  const { json } = await server.call('/api/admin/v1/console-links', { method: 'POST', credential: ADMIN_KEY });
  const path = `/login${new URL(json.data.url).hash}`;
  const page = await open({ path });
  await page.getByRole('heading', { name: 'Organizations', level: 1 }).waitFor();
  assert.ok(!page.url().includes('#'), page.url());
  const late = await open({ path });
  await late.getByRole('alert').waitFor();
  assert.match((await late.getByRole('alert').textContent()) ?? '', /used before or has expired/);
});

test('signed out, nothing comes back', async ({ open }) => {
  const page = await open({ key: keys.owner });
  await page.getByRole('main').getByRole('link', { name: 'orders' }).waitFor();
  await goOn(page);
  await page.getByRole('heading', { name: 'Migrations', level: 1 }).waitFor();
  const [cookie] = await page.context().cookies();
  await signOut(page);
  await page.goBack();
  await page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor();
  assert.equal(await page.getByText('orders').count(), 0);
  const answer = await server.call('/console/api/admin/v1/session', {
    headers: { 'sec-fetch-site': 'same-origin', cookie: `${cookie?.name}=${cookie?.value}` },
  });
  assert.equal(answer.status, 401);
});

test('who signs out in one tab is asked in the other', async ({ open, tab }) => {
  const page = await open({ key: keys.owner, path: '/demo/shop' });
  await page.getByRole('main').getByRole('link', { name: 'orders' }).waitFor();
  const other = await tab(page, '/demo/shop');
  await other.getByRole('main').getByRole('link', { name: 'orders' }).waitFor();
  await signOut(other);
  await goOn(page);
  await dialogOf(page).waitFor();
});

test('a key that is revoked ends its session, and opens none', async ({ open }) => {
  const { json } = await shop.admin('api-keys', { method: 'POST', body: { name: 'short', permissions: 'OWNER' } });
  const { id, key } = json.data;
  const page = await open({ key, path: '/demo/shop' });
  await page.getByRole('main').getByRole('link', { name: 'orders' }).waitFor();
  await shop.admin(`api-keys/${id}`, { method: 'DELETE' });
  // A request in the background may have opened the dialog, which covers the link.
  await page
    .getByRole('link', { name: 'Migrations' })
    .first()
    .evaluate((link) => link.click());
  await dialogOf(page).waitFor();
  await typeKey(page, key);
  await page.getByRole('alert').getByText('not valid').waitFor();
  await typeKey(page, keys.owner);
  await dialogOf(page).waitFor({ state: 'hidden' });
  await page.getByRole('heading', { name: 'Migrations', level: 1 }).waitFor();
});

test('what was typed outlives the session, and is saved once somebody is signed in again', async ({ open }) => {
  const page = await open({ key: keys.owner, path: '/demo/shop/data/customers/2' });
  const country = page.getByRole('textbox', { name: 'country' });
  await country.fill('NO');
  const { data } = (await server.call('/api/admin/v1/sessions?size=1000', { credential: ADMIN_KEY })).json;
  for (const { id } of data) {
    await server.call(`/api/admin/v1/sessions/${id}`, { method: 'DELETE', credential: ADMIN_KEY });
  }
  await page.getByRole('button', { name: 'Save' }).click();
  await dialogOf(page).waitFor();
  await typeKey(page, keys.owner);
  await page.getByRole('status').filter({ hasText: 'Saved' }).waitFor({ state: 'attached' });
  assert.equal(page.url(), `${server.url}/console/demo/shop/data/customers/2`);
  assert.equal(await country.inputValue(), 'NO');
  assert.equal((await shop.call('customers/2')).json.data.country, 'NO');
});

test('a page of another port reaches nothing, by script or by form', async ({ open }) => {
  const page = await open({ key: keys.admin });
  await page.getByRole('heading', { name: 'Organizations', level: 1 }).waitFor();
  const evil = await page.context().newPage();
  await evil.goto(strangerUrl());
  const target = `${server.url}/console/api/admin/v1/organizations`;
  const seen = await evil.evaluate<string>(`fetch('${target}', {
    credentials: 'include', method: 'POST', body: '{"slug":"evil","name":"Evil"}', headers: { 'content-type': 'text/plain' },
  }).then((answer) => answer.text(), (error) => 'refused: ' + error.message)`);
  assert.match(seen, /^refused/);
  const read = await evil.evaluate<string>(
    `fetch('${target}', { credentials: 'include', mode: 'no-cors' }).then((answer) => answer.text(), () => 'refused')`,
  );
  assert.ok(read === '' || read === 'refused', read);
  const answered = evil.waitForResponse(target);
  await evil.evaluate(`(() => {
    const form = document.createElement('form');
    form.action = '${target}';
    form.method = 'post';
    form.enctype = 'text/plain';
    const field = document.createElement('input');
    field.name = '{"slug":"evil","name":"';
    field.value = '"}';
    form.append(field);
    document.body.append(form);
    form.submit();
  })()`);
  assert.equal((await answered).status(), 403);
  const { json } = await server.call('/api/admin/v1/organizations', { credential: ADMIN_KEY });
  assert.ok(!json.data.some(({ slug }: { slug: string }) => slug === 'evil'));
});

test('no other page can frame it', async () => {
  const context = await browser.newContext();
  const evil = await context.newPage();
  await evil.goto(strangerUrl());
  const messages: string[] = [];
  evil.on('console', (message) => messages.push(message.text()));
  await evil.evaluate(`(() => {
    const frame = document.createElement('iframe');
    frame.src = '${server.url}/console/';
    document.body.append(frame);
  })()`);
  await until('the browser refuses', () => messages.some((text) => text.includes('frame-ancestors')));
  await context.close();
});

test('two loads have two nonces', async ({ open }) => {
  const page = await open();
  const noncesOf = async (): Promise<string> => {
    const answer = await page.goto(`${server.url}/console/`);
    return /'nonce-([\w-]+)'/.exec(answer?.headers()['content-security-policy'] ?? '')?.[1] ?? '';
  };
  const [one, two] = [await noncesOf(), await noncesOf()];
  assert.ok(one.length > 20 && one !== two, `${one} ${two}`);
});

test('over plain http elsewhere than on localhost all of it works, downloads too', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`http://${PLAIN_HOST}:${new URL(server.url).port}/console/`);
  assert.equal(await page.evaluate('isSecureContext'), false);
  await typeKey(page, keys.owner);
  await page.getByRole('main').getByRole('link', { name: 'orders' }).click();
  await page.getByRole('grid', { name: 'Records of orders' }).waitFor();
  await page.getByRole('button', { name: 'Export' }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('menuitem', { name: 'CSV', exact: true }).click();
  assert.match(readFileSync(await (await download).path(), 'utf8'), /^\w+(,\w+)*\r?\n/);
  await context.close();
});

test('a page that stayed open over an upgrade loads itself anew', async ({ open }) => {
  const page = await open({ key: keys.owner, path: '/demo/shop' });
  await page.getByRole('main').getByRole('link', { name: 'orders' }).waitFor();
  let missing = 0;
  // The files of the page that is open are gone; those of the page that it loads are there.
  await page.route(/\/console\/assets\/.*\.js$/, (route) =>
    missing++ === 0 ? route.fulfill({ status: 404, body: 'gone' }) : route.continue(),
  );
  let loads = 0;
  page.on('request', (request) => {
    if (request.url().endsWith('/console/demo/shop/migrations')) loads++;
  });
  await goOn(page);
  await page.getByRole('heading', { name: 'Migrations', level: 1 }).waitFor();
  assert.ok(missing > 0);
  assert.equal(loads, 1, 'the page itself was loaded');
});

test('with a draft that page asks before it loads itself anew, and a link that is pointed at loads nothing', async ({
  open,
}) => {
  const page = await open({ key: keys.owner, path: '/demo/shop/data/customers/2' });
  const country = page.getByRole('textbox', { name: 'country' });
  await country.fill('draft');
  let isGone = true;
  let loads = 0;
  page.on('request', (request) => {
    if (!request.url().endsWith('/console/demo/shop/schema')) return;
    loads++;
    isGone = false;
  });
  await page.route(/\/console\/assets\/.*\.js$/, (route) =>
    isGone ? route.fulfill({ status: 404, body: 'gone' }) : route.continue(),
  );
  const dialogs: unknown[] = [];
  page.on('dialog', (dialog) => {
    dialogs.push(dialog);
    void dialog.dismiss();
  });
  const schema = page.getByRole('navigation', { name: 'Workspace' }).getByRole('link', { name: 'Schema' });
  const missed = page.waitForResponse((response) => response.status() === 404);
  await schema.hover();
  await missed;
  await schema.click();
  const asked = page.getByRole('dialog', { name: 'Discard changes?' });
  await asked.getByRole('button', { name: 'Keep editing' }).click();
  assert.equal(await country.inputValue(), 'draft');
  assert.equal(loads, 0);
  await schema.click();
  await asked.getByRole('button', { name: 'Discard' }).click();
  await page.getByRole('heading', { name: 'Schema', level: 1 }).waitFor();
  assert.deepEqual([loads, dialogs.length], [1, 0], 'loaded once, and asked once');
});

async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Account' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor();
}
