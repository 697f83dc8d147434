// Sign in and out, sessions that end, and what the page lets nobody do, in a browser.
import assert from 'node:assert/strict';
import { violationsOf } from '../support/browser.ts';
import { useConsole } from '../support/console.ts';
import { ADMIN_KEY } from '../support/server.ts';

const { test, keys, server } = useConsole();

test('signed out, the page asks for a key', async ({ open }) => {
  const page = await open();
  await page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor();
  assert.equal(await page.getByLabel('Key').getAttribute('type'), 'password');
  assert.deepEqual(await violationsOf(page), []);
});

test('a wrong key is refused in words, and stays to be mended', async ({ open }) => {
  const page = await open();
  const key = page.getByLabel('Key');
  await key.fill('wrong');
  await key.press('Enter');
  const alert = page.getByRole('alert');
  await alert.waitFor();
  assert.match((await alert.textContent()) ?? '', /not valid/);
  assert.equal(await key.inputValue(), 'wrong');
  assert.equal(await key.evaluate((element) => element === element.ownerDocument.activeElement), true);
});

test('the operator signs in, and the page keeps no part of the key', async ({ open }) => {
  const page = await open();
  const key = page.getByLabel('Key');
  await key.fill(ADMIN_KEY);
  await key.press('Enter');
  await page.getByRole('heading', { name: 'Organizations', level: 1 }).waitFor();
  const kept = await page.evaluate<string>(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, document.documentElement.outerHTML])',
  );
  assert.ok(!kept.includes(ADMIN_KEY.slice(0, 12)), kept);
  const [cookie] = await page.context().cookies();
  assert.deepEqual([cookie?.httpOnly, cookie?.sameSite], [true, 'Strict']);
});

test('an owner comes straight to the workspace', async ({ open }) => {
  const page = await open({ key: keys.owner });
  await page.waitForURL(`${server.url}/console/demo/shop`);
  await page.getByRole('main').getByText('demo/shop').first().waitFor();
});
