// Roles and grants in the console, in a browser: the matrix, the editor, keys that act as a role, and "View as" with a
// role.
import assert from 'node:assert/strict';
import { type Page, violationsOf } from '../support/browser.ts';
import { consoleSkip, useConsole } from '../support/console.ts';
import type { Issuer } from '../support/issuer.ts';
import { prepare, useIssuer } from '../support/resources.ts';
import type { TestWorkspace } from '../support/server.ts';
import { LOCAL_PROVIDER } from '../support/users.ts';
import { until } from '../support/wait-until.ts';

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
  await button(page, 'Create API key').click();
  const dialog = page.getByRole('dialog', { name: 'Create API key' });
  await dialog.getByLabel('Name').fill('portal');
  await dialog.getByRole('combobox', { name: 'Permissions' }).click();
  await page.getByRole('option', { name: 'Grants: what the grants of its roles allow' }).click();
  await dialog.getByRole('combobox', { name: 'Roles' }).click();
  await page.getByRole('option', { name: 'customer' }).click();
  await dialog.getByLabel('Claims').fill('company_id');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.getByText('must be an object').waitFor();
  await dialog.getByLabel('Claims').fill('{"company_id": 1, "n": 9007199254740993}');
  await dialog.getByRole('button', { name: 'Create' }).click();
  const created = page.getByRole('dialog', { name: 'API key created' });
  const secret = await created.getByRole('textbox', { name: 'Key' }).inputValue();
  await created.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByText('GRANTS: customer, {"company_id":1,"n":9007199254740993}').waitFor();
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

const EDITOR = '/acme/desk/access/grants/tickets';
const grantsOf = async (entity: string) => (await desk.admin(`entities/${entity}/grants`)).json.data;
const restore = (entity: keyof typeof SCHEMA.entities) => {
  const { grants = null } = SCHEMA.entities[entity] as { readonly grants?: readonly object[] };
  return desk.admin(`entities/${entity}/grants`, { method: 'PUT', body: grants });
};
const grantForm = (page: Page, at: number) => page.getByRole('region', { name: `Grant ${at}`, exact: true });

test('the matrix shows what each role may do, and leads to the grants by keys', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/acme/desk/access/grants' });
  const cell = (name: string) => page.getByRole('link', { name, exact: true });
  await cell('tickets, agent: read all create all update all delete no').waitFor();
  await cell('tickets, customer: read some create some update no delete no').waitFor();
  await cell('tickets, No role: read no create no update no delete no').waitFor();
  await cell('rates, agent: read no create no update no delete no').waitFor();
  await page.getByText('1 entity has neither row rules nor grants').waitFor();
  await cell('companies, agent: read all create all update all delete all').focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Grants of tickets' }).waitFor();
});

test('grants are edited, said in words, and refused at the place of the mistake', async ({ open }) => {
  const page = await open({ key: keys.admin, path: EDITOR });
  const agent = grantForm(page, 1);
  await agent.getByText('Users with the role agent may read, create and update all records of tickets').waitFor();
  await agent.getByRole('button', { name: 'Add condition' }).click();
  await agent.getByRole('combobox', { name: 'Field', exact: true }).fill('company.nam');
  await agent.getByRole('combobox', { name: 'Value: claim' }).fill('company_names');
  await agent.getByRole('combobox', { name: 'Operator' }).selectOption('in');
  await button(page, 'Save grants').click();
  await agent.getByText('there is no field nam on entity companies. Did you mean name?').waitFor();
  assert.deepEqual(await grantsOf('tickets'), SCHEMA.entities.tickets.grants, 'nothing is in force');
  await agent.getByRole('combobox', { name: 'Field', exact: true }).fill('company.');
  await page.getByRole('option', { name: 'company.name' }).click();
  await agent.getByText('where company.name is one of the claim company_names').waitFor();
  await agent.getByRole('combobox', { name: 'Set a field' }).selectOption('status');
  await agent.getByRole('combobox', { name: 'Value of status', exact: true }).selectOption('open');
  await button(page, 'Move grant 1 down').click();
  await button(page, 'Save grants').click();
  await button(page, 'Save grants').waitFor({ state: 'hidden' });
  const [customer] = SCHEMA.entities.tickets.grants.slice(1);
  assert.deepEqual(await grantsOf('tickets'), [
    customer,
    {
      role: 'agent',
      can: ['read', 'create', 'update'],
      where: { field: 'company.name', op: 'in', value: { claim: 'company_names' } },
      set: { status: 'open' },
    },
  ]);
  await restore('tickets');
});

test('the preview shows the records and fields of a role, now and with the draft', async ({ open }) => {
  const page = await open({ key: keys.admin, path: EDITOR });
  await page.getByRole('combobox', { name: 'Roles of the user' }).fill('cust');
  await page.getByRole('option', { name: 'customer' }).click();
  await page.getByLabel('Claims of the user').fill('{"company_id": 2}');
  await button(page, 'Show records').click();
  const now = page.getByRole('region', { name: 'Now' });
  await now.getByText('Now: 2 records').waitFor();
  assert.equal(await now.getByRole('columnheader', { name: 'notes' }).count(), 0);
  const customer = grantForm(page, 2);
  await customer.getByRole('combobox', { name: 'Operator' }).selectOption('ne');
  const then = page.getByRole('region', { name: 'With the unsaved grants' });
  await then.getByText('With the unsaved grants: 1 record').waitFor();
  await then.getByText('would appear').waitFor();
  assert.equal(await now.getByText('would disappear').count(), 2);
  await page.getByRole('radio', { name: 'No user' }).check();
  await then.getByText('With the unsaved grants: 0 records').waitFor();
  assert.deepEqual(await grantsOf('tickets'), SCHEMA.entities.tickets.grants);
  await button(page, 'Discard changes').click();
});

test('no grants open an entity, which is asked before, and an empty list closes it', async ({ open }) => {
  const page = await open({ key: keys.admin, path: EDITOR });
  await page.getByRole('radio', { name: 'No user' }).check();
  await button(page, 'Save grants').click();
  await until('it is closed', async () => JSON.stringify(await grantsOf('tickets')) === '[]');
  await page.getByRole('radio', { name: 'Every user of the identity provider' }).check();
  await button(page, 'Save grants').click();
  const dialog = page.getByRole('dialog', { name: 'Open tickets to every user?' });
  assert.deepEqual(await grantsOf('tickets'), []);
  await dialog.getByRole('button', { name: 'Open to every user' }).click();
  await page.getByText('2 entities have neither row rules nor grants').waitFor();
  assert.equal(await grantsOf('tickets'), null);
  await page.getByRole('radio', { name: 'Users by their grants' }).check();
  await grantForm(page, 1).getByText('Users with the role agent may read').waitFor();
  await button(page, 'Discard changes').click();
  await restore('tickets');
});

test('grants that somebody else has changed meanwhile are not overwritten', async ({ open }) => {
  const page = await open({ key: keys.admin, path: EDITOR });
  await grantForm(page, 1).getByRole('checkbox', { name: 'delete' }).check();
  await desk.admin('entities/tickets/grants', { method: 'PUT', body: [{ can: ['read'] }] });
  await button(page, 'Save grants').click();
  const dialog = page.getByRole('dialog', { name: 'Conflicting changes' });
  assert.match(
    (await dialog.getByRole('region', { name: 'Current version' }).textContent()) ?? '',
    /Every user may read/,
  );
  assert.deepEqual(await grantsOf('tickets'), [{ can: ['read'] }]);
  await dialog.getByRole('button', { name: 'Take theirs' }).click();
  await grantForm(page, 1).getByText('Every user may read all records of tickets').waitFor();
  assert.equal(await button(page, 'Save grants').count(), 0);
  await restore('tickets');
});

test('what is changed while grants are being saved stays a draft', async ({ open }) => {
  const page = await open({ key: keys.admin, path: EDITOR });
  const answer = Promise.withResolvers<void>();
  await page.route(/\/tickets\/grants$/, async (route) => {
    if (route.request().method() === 'PUT') await answer.promise;
    await route.continue();
  });
  await page.getByRole('radio', { name: 'No user' }).check();
  await button(page, 'Save grants').click();
  await page.getByRole('radio', { name: 'Users by their grants' }).check();
  answer.resolve();
  await until('they are saved', async () => JSON.stringify(await grantsOf('tickets')) === '[]');
  await page.getByText('Grants saved').waitFor({ state: 'attached' });
  assert.equal(await page.getByRole('radio', { name: 'Users by their grants' }).isChecked(), true);
  await button(page, 'Discard changes').click();
  assert.equal(await page.getByRole('radio', { name: 'No user' }).isChecked(), true);
  await restore('tickets');
});

test('a role is added where it is needed', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/acme/desk/access/grants/rates' });
  await page.getByRole('radio', { name: 'Users by their grants' }).check();
  await button(page, 'New role').click();
  const dialog = page.getByRole('dialog', { name: 'New role' });
  await dialog.getByLabel('Name').fill('agent');
  await dialog.getByRole('button', { name: 'Add' }).click();
  await dialog.getByRole('alert').first().waitFor();
  await dialog.getByLabel('Name').fill('<b>boss</b>');
  await dialog.getByRole('button', { name: 'Add' }).click();
  await grantForm(page, 1).getByText('Users with the role <b>boss</b> may read all records of rates').waitFor();
  await button(page, 'Save grants').click();
  await button(page, 'Save grants').waitFor({ state: 'hidden' });
  assert.deepEqual(await grantsOf('rates'), [{ can: ['read'], role: '<b>boss</b>' }]);
  await restore('rates');
});

test('an entity that is renamed meanwhile keeps the form, and odd names are names', async ({ open }) => {
  const fields = { toString: { type: 'text' }, valueOf: { type: 'json' } };
  const odd = await server.workspace('t/odd-grants', {
    roles: ['constructor', '__proto__'],
    entities: {
      constructor: {
        fields,
        grants: [
          {
            role: ['constructor', '__proto__'],
            can: ['read', 'create'],
            where: {
              or: [{ not: { and: [{ field: 'valueOf', op: 'notNull' }] } }, { field: 'id', op: 'nin', value: [1] }],
            },
            fields: [],
            write: ['valueOf'],
            set: { toString: null },
          },
        ],
      },
    },
  });
  const page = await open({ key: keys.admin, path: '/t/odd-grants/access/grants' });
  await page.getByRole('link', { name: 'constructor, __proto__: read some create some update no delete no' }).click();
  await grantForm(page, 1).waitFor();
  const text = (await grantForm(page, 1).textContent()) ?? '';
  assert.match(text, /Users with the role constructor or __proto__ may read and create records of constructor where/);
  await grantForm(page, 1).getByRole('checkbox', { name: 'delete' }).check();
  await odd.admin('schema', { method: 'PUT', body: { entities: { renamed: { renamedFrom: 'constructor', fields } } } });
  await page.getByText('The entity constructor was renamed or dropped').waitFor();
  assert.equal(await grantForm(page, 1).getByRole('checkbox', { name: 'delete' }).isChecked(), true);
  await button(page, 'Save grants').click();
  await page.getByText('Entity constructor does not exist').waitFor();
  await button(page, 'Discard changes').click();
});

test('a workspace has origins of its own, those of the server, or none', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/acme/desk/settings' });
  const row = page.getByRole('row', { name: /^Origins of web pages/ });
  await row.getByText('those of the server').waitFor();
  const change = async (text: string): Promise<void> => {
    await page.getByRole('textbox', { name: 'Origins' }).fill(text);
    await button(page, 'Save').click();
  };
  await button(page, 'Change origins').click();
  await page.getByRole('checkbox', { name: /^The origins of the server/ }).click();
  await change('https://app.example.com/path');
  await page.getByRole('dialog').getByRole('alert').waitFor();
  await change('https://app.example.com\n\nhttps://b.example.com:8443\n');
  await row.getByText('https://app.example.com, https://b.example.com:8443').waitFor();
  await button(page, 'Change origins').click();
  await change('');
  await row.getByText('none').waitFor();
  await button(page, 'Change origins').click();
  await page.getByRole('checkbox', { name: /^The origins of the server/ }).click();
  await button(page, 'Save').click();
  await row.getByText('those of the server').waitFor();
});

test('a plan says new grants in words, and the migration which entities are open', async ({ open }) => {
  const page = await open({ key: keys.admin, path: '/acme/desk/schema?tab=document' });
  const { tickets, rates, ...others } = SCHEMA.entities;
  const entities = {
    ...others,
    tickets: { ...tickets, grants: null },
    rates: { ...rates, grants: [{ role: 'agent', can: ['read'] }] },
  };
  const editor = page.getByRole('textbox', { name: 'Schema document' });
  await editor.waitFor();
  await editor.press('Control+a');
  await page.evaluate(`{
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', ${JSON.stringify(JSON.stringify({ roles: SCHEMA.roles, entities }))});
    const paste = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true });
    document.querySelector('.cm-content').dispatchEvent(paste);
  }`);
  await page.getByRole('link', { name: 'Plan', exact: true }).click();
  await page.getByText('Users with the role agent may read all records of rates').waitFor();
  await page.getByText('opens to every user').waitFor();
  await button(page, 'Apply').click();
  await page.getByRole('heading', { level: 1, name: /^Migration/ }).waitFor();
  await page.getByText('2 entities have neither row rules nor grants').waitFor();
  await restore('tickets');
  await restore('rates');
});

for (const colorScheme of ['light', 'dark'] as const)
  test(`axe finds nothing on the matrix and the editor, ${colorScheme}`, async ({ open }) => {
    const page = await open({ key: keys.admin, path: '/acme/desk/access/grants', context: { colorScheme } });
    await page.getByRole('table', { name: 'Entities and roles' }).waitFor();
    assert.deepEqual(await violationsOf(page), []);
    await page.getByRole('link', { name: /^tickets, agent/ }).click();
    await grantForm(page, 2).getByRole('button', { name: 'And another condition' }).click();
    await grantForm(page, 2).getByRole('button', { name: 'Negate' }).first().click();
    assert.deepEqual(await violationsOf(page), []);
    await button(page, 'Discard changes').click();
  });
