// Roles and grants in the console, in a browser: keys that act as a role, and "View as" with a role.
import assert from 'node:assert/strict';
import type { Page } from '../support/browser.ts';
import { consoleSkip, useConsole } from '../support/console.ts';
import type { Issuer } from '../support/issuer.ts';
import { prepare, useIssuer } from '../support/resources.ts';
import type { TestWorkspace } from '../support/server.ts';
import { LOCAL_PROVIDER } from '../support/users.ts';

const { test, keys, server } = useConsole(LOCAL_PROVIDER);
const issuer: Issuer = consoleSkip === false ? useIssuer() : ({} as Issuer);

const SCHEMA = {
  roles: ['agent', 'customer'],
  entities: {
    companies: { fields: { name: { type: 'string' } } },
    tickets: {
      fields: {
        subject: { type: 'string' },
        status: { type: 'enum', values: ['open', 'solved'] },
        notes: { type: 'text' },
      },
      relations: { company: { kind: 'belongsTo', entity: 'companies' } },
      grants: [
        { role: 'agent', can: ['read', 'create', 'update'] },
        {
          role: 'customer',
          can: ['read', 'create'],
          where: { field: 'companyId', op: 'eq', value: { claim: 'company_id' } },
          fields: ['id', 'subject', 'status', 'companyId'],
          write: ['subject', 'companyId'],
          set: { status: 'open' },
        },
      ],
    },
    rates: { fields: { hourly: { type: 'integer' } }, grants: [] },
  },
};

let desk: TestWorkspace;
if (consoleSkip === false)
  prepare(async () => {
    desk = await server.workspace('acme/desk', SCHEMA);
    await desk.create('companies', [{ name: 'Ada & Co' }, { name: 'Bolt' }]);
    await desk.create('tickets', [
      { subject: 'Printer', status: 'open', companyId: 1, notes: 'secret' },
      { subject: 'Screen', status: 'solved', companyId: 2 },
      { subject: 'Mouse', status: 'open', companyId: 2 },
    ]);
    const body = { issuerUrl: issuer.url, defaultPermissions: 'READ_WRITE', enabled: true, roleClaim: 'app.roles' };
    await desk.admin('identity-provider', { method: 'PUT', body });
  });

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

test('a key acts as a role with claims', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/acme/desk/access/keys' });
  await button(page, 'New key').click();
  const dialog = page.getByRole('dialog', { name: 'New key' });
  await dialog.getByLabel('Name').fill('portal');
  await dialog.getByRole('combobox', { name: 'Permissions' }).click();
  await page.getByRole('option', { name: 'Grants: what the grants of its roles allow' }).click();
  await dialog.getByRole('combobox', { name: 'Roles' }).click();
  await page.getByRole('option', { name: 'customer' }).click();
  await dialog.getByLabel('Claims').fill('company_id');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.getByText('must be an object').waitFor();
  await dialog.getByLabel('Claims').fill('{"company_id": 1}');
  await dialog.getByRole('button', { name: 'Create' }).click();
  const created = page.getByRole('dialog', { name: 'New key' });
  const secret = await created.getByRole('textbox', { name: 'Key' }).inputValue();
  await created.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByText('GRANTS: customer, {"company_id":1}').waitFor();
  const { json } = await desk.call('tickets?fields=subject', { credential: secret });
  assert.deepEqual(json.data, [{ subject: 'Printer' }]);
});

test('the page shows the entities, fields and records of a role', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/acme/desk/data/tickets' });
  await page.locator('[role="grid"][aria-rowcount="4"]').waitFor();
  await button(page, 'View as').click();
  await page.getByLabel('Token or claims').fill('{"company_id": 2, "sub": "u1"}');
  await page.getByRole('combobox', { name: 'Roles' }).click();
  await page.getByRole('option', { name: 'customer' }).click();
  await button(page, 'View').click();
  await page.getByRole('banner').getByText('u1 with customer').waitFor();
  await page.locator('[role="grid"][aria-rowcount="3"]').waitFor();
  assert.equal(await page.getByRole('columnheader', { name: 'notes' }).count(), 0);
  const navigation = page.getByRole('navigation', { name: 'Workspace' });
  await navigation.getByRole('link', { name: 'companies' }).waitFor();
  assert.equal(await navigation.getByRole('link', { name: 'rates' }).count(), 0);
  await button(page, 'Leave').click();
  await page.locator('[role="grid"][aria-rowcount="4"]').waitFor();
  await navigation.getByRole('link', { name: 'rates' }).waitFor();
});
