// People in a browser: they sign in with the provider, see what their role lets them do, and owners add others.
import assert from 'node:assert/strict';
import { type Page, violationsOf } from '../support/browser.ts';
import { consoleSkip, useConsole } from '../support/console.ts';
import { findFreePort, startPeopleProvider } from '../support/people-provider.ts';
import { use } from '../support/resources.ts';

const place = consoleSkip === false ? use(async () => ({ port: await findFreePort() })) : { port: 0 };
const publicUrl = (): string => `http://127.0.0.1:${place.port}`;
const provider =
  consoleSkip === false
    ? use(
        () => startPeopleProvider(publicUrl()),
        (started) => started.stop(),
      )
    : ({} as Awaited<ReturnType<typeof startPeopleProvider>>);
const { test, keys, server, shop } = useConsole(() => ({ ...provider.settings, PORT: String(place.port) }));

const member = (sub: string, name: string) => ({ sub, name, email: `${sub}@example.com`, email_verified: true });
const invite = (email: string, role: string): Promise<unknown> =>
  shop.admin('members', { method: 'POST', body: { email, role } });

/** Signs in by the button of the page. */
async function signInAs(page: Page, account: ReturnType<typeof member>): Promise<void> {
  provider.choose(account);
  await page.getByRole('link', { name: 'Sign in with Acme' }).click();
}

test('an owner signs in with the provider, comes back to the address, and adds and removes members', async ({
  open,
}) => {
  await invite('ada@example.com', 'owner');
  const page = await open({ path: '/demo/shop/access/members', elsewhere: provider.url });
  await page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor();
  assert.deepEqual(await violationsOf(page), []);
  await signInAs(page, member('ada', 'Ada Lovelace'));
  await page.waitForURL(`${server.url}/console/demo/shop/access/members`);
  await page.getByRole('heading', { name: 'Members', level: 1 }).waitFor();
  await page.getByRole('rowheader', { name: 'ada@example.com' }).waitFor();
  await page.getByRole('button', { name: 'Add member' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add member' });
  await dialog.getByRole('textbox').fill('grace');
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  await dialog.getByText('must be a mail address').waitFor();
  await dialog.getByRole('textbox').fill('Grace@example.com');
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('rowheader', { name: 'grace@example.com' }).waitFor();
  assert.deepEqual(await violationsOf(page), []);
  await page.getByLabel('Role of ada@example.com').selectOption('viewer');
  await page.getByText('There is no other owner').waitFor();
  await page.getByRole('button', { name: 'Account' }).click();
  await page.getByText('Ada Lovelace').first().waitFor();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor();
});

test('a viewer has no controls that write, and no screens of administration', async ({ open }) => {
  await invite('vera@example.com', 'viewer');
  const page = await open({ path: '/demo/shop/data/orders', elsewhere: provider.url });
  await signInAs(page, member('vera', 'Vera'));
  await page.getByRole('grid', { name: 'Records of orders' }).waitFor();
  await page.getByText('Read only').first().waitFor();
  assert.equal(await page.getByRole('link', { name: 'New record' }).count(), 0);
  assert.equal(await page.getByRole('link', { name: 'Access' }).count(), 0);
  await page.goto(`${server.url}/console/demo/shop/access/members`);
  await page.getByText('This needs owner permissions').waitFor();
});

test('the operator adds members of an organization, and sees who is signed in', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/demo' });
  await page.getByRole('link', { name: 'Members' }).click();
  await page.getByText('No members yet').waitFor();
  await page.getByRole('button', { name: 'Add member' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add member' });
  await dialog.getByText('Claim', { exact: true }).click();
  await dialog.getByRole('textbox').fill('staff');
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByText('All with this claim').waitFor();
  await page.goto(`${server.url}/console/server?tab=sessions`);
  await page.getByText('Vera (vera@example.com)').first().waitFor();
});
