// Files into the console and out of it, and requests that are copied from it: each is run, against the API and with a key.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { Page } from '../support/browser.ts';
import { useConsole } from '../support/console.ts';

const { test, keys, server, shop } = useConsole({}, { isWhole: true });
const run = promisify(execFile);
const CLIENT = pathToFileURL(join(import.meta.dirname, '../../client/src/index.ts')).href;

/** What a click saves as a file. */
async function downloaded(page: Page, click: () => Promise<void>) {
  const [download] = await Promise.all([page.waitForEvent('download'), click()]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

test('an export has the bytes of the API, with filter, order and columns, and the page reads nothing of it', async ({
  open,
}) => {
  const query = 'filter=total,gte,40&sort=total,desc&fields=status,total';
  const page = await open({ key: keys.readOnly, path: `/demo/shop/data/orders?${query}` });
  const fetched: string[] = [];
  page.on('request', (request) => {
    if (request.resourceType() === 'fetch' && request.url().includes('_export')) fetched.push(request.url());
  });
  for (const format of ['csv', 'ndjson']) {
    await page.getByRole('button', { name: 'Export' }).click();
    const file = await downloaded(page, () =>
      page.getByRole('menuitem', { name: format.toUpperCase(), exact: true }).click(),
    );
    const answer = await fetch(`${server.url}/api/v1/demo/shop/orders/_export?format=${format}&${query}`, {
      headers: { authorization: `Bearer ${keys.readOnly}` },
    });
    assert.equal(answer.status, 200);
    assert.deepEqual(file, { name: `orders.${format}`, bytes: Buffer.from(await answer.arrayBuffer()) });
    assert.match(file.bytes.toString(), /^(?:status,total\r?\n\w+,|\{"status":"\w+","total":)95\.00/);
  }
  assert.deepEqual(fetched, []);
  // None of these columns leads to other records.
  await page.getByRole('button', { name: 'Export' }).click();
  await page.getByRole('menuitem').first().waitFor();
  assert.equal(await page.getByRole('menuitem').count(), 2);
  await page.goto(`${server.url}/console/demo/shop/data/orders?filter=total,gte,40&fields=customerId,total`);
  await page.getByRole('button', { name: 'Export' }).click();
  const { bytes } = await downloaded(page, () =>
    page.getByRole('menuitem', { name: 'CSV with names of related records' }).click(),
  );
  assert.match(bytes.toString(), /^customerId,customer,total\n\d+,[^,\d]+,/);
});

test('strange headers are mapped and tried; bad rows are a file, and a broken file leaves nothing', async ({
  open,
}) => {
  const page = await open({ key: keys.owner, path: '/demo/shop/data/products/import' });
  const total = async (): Promise<number> => (await shop.call('products?size=1')).json.meta.totalElements;
  const before = await total();
  const header = ' S.K.U. ,"Title, in full",The price';
  const good = Array.from({ length: 60 }, (_, at) => `STRANGE-${at},"Thing ""${at}""",${at}.50`);
  const bad = '"STRANGE-X","Too\ncheap",-1';
  const choose = async (name: string, lines: readonly string[]): Promise<void> => {
    const buffer = Buffer.from(`\uFEFF${[header, ...lines].join('\r\n')}\r\n`);
    await page.locator('input[type=file]').setInputFiles({ name, mimeType: 'text/csv', buffer });
    await page.getByRole('combobox', { name: 'Field for The price' }).waitFor();
    for (const [column, field] of [
      ['Title, in full', 'title'],
      ['The price', 'price'],
    ] as const) {
      await page.getByRole('combobox', { name: `Field for ${column}` }).click();
      await page.getByRole('option', { name: field }).click();
    }
    assert.equal(await page.getByRole('combobox', { name: 'Field for S.K.U.' }).inputValue(), 'sku');
  };
  await choose('things.csv', [...good, bad]);
  await page.getByRole('button', { name: 'Dry run' }).click();
  await page
    .getByRole('alert')
    .getByText(/row 61.*price.*must be at least 0/)
    .first()
    .waitFor();
  await page.getByText('Nothing was imported').waitFor();
  await page.getByRole('textbox', { name: 'Mistakes to list' }).fill('1000');
  const listed = page.waitForRequest((request) => request.url().includes('maxErrors=1000&dryRun=true'));
  await page.getByRole('button', { name: 'Dry run' }).click();
  await listed;
  await page.getByText('Nothing was imported').waitFor();
  const file = await downloaded(page, () => page.getByRole('button', { name: 'Download the bad rows' }).click());
  assert.deepEqual([file.name, file.bytes.toString()], ['things.bad.csv', [header, bad].join('\n')]);
  assert.equal(await total(), before);

  await page.getByRole('checkbox', { name: 'Leave out rows with mistakes' }).check();
  await page.getByRole('button', { name: 'Dry run' }).click();
  await page.getByText(/Nothing is stored.*60 records inserted, .*1 rejected/).waitFor();
  const rejected = await downloaded(page, () =>
    page.getByRole('button', { name: 'Download the rejected rows' }).click(),
  );
  assert.equal(
    rejected.bytes.toString(),
    `${header},_row,_reason\nSTRANGE-X,"Too\ncheap",-1,61,price: must be at least 0\n`,
  );
  assert.equal(await total(), before);

  await choose('broken.csv', [...good, 'STRANGE-Y,"never closed,1']);
  await page.getByRole('button', { name: 'Import' }).click();
  await page.getByText('Nothing was imported').waitFor();
  assert.equal(await total(), before);

  await choose('good.csv', good);
  await page.getByRole('button', { name: 'Dry run' }).click();
  await page.getByText(/Nothing is stored.*60 records inserted/).waitFor();
  assert.equal(await total(), before);
  await page.getByRole('button', { name: 'Import' }).click();
  await page.getByText(/^60 records inserted/).waitFor();
  assert.equal(await total(), before + 60);
});

test('a reference is looked up by a unique field, and dates and numbers of another country are read', async ({
  open,
}) => {
  const page = await open({ key: keys.owner, path: '/demo/shop/data/orders/import' });
  const [customer] = (await shop.call('customers?size=1&sort=id')).json.data;
  const csv = Buffer.from(`Customer E-Mail,status,total\n${customer.email},open,"1.234,50"\n`);
  await page.locator('input[type=file]').setInputFiles({ name: 'orders.csv', mimeType: 'text/csv', buffer: csv });
  const field = page.getByRole('combobox', { name: 'Field for Customer E-Mail' });
  await field.waitFor();
  assert.equal(await field.inputValue(), 'customer.email');
  await page.getByRole('combobox', { name: 'Numbers, by the example of 1234.5' }).fill('1.234,50');
  await page.getByRole('button', { name: 'Import' }).click();
  await page.getByText(/^1 record inserted/).waitFor();
  const [order] = (await shop.call('orders?sort=id,desc&size=1')).json.data;
  assert.deepEqual([order.customerId, order.status, Number(order.total)], [customer.id, 'open', 1234.5]);
});

test('what is copied runs with a key, gives the rows that are shown, and has no credential', async ({ open }) => {
  // More than a page has when no size is asked for.
  const data = Array.from({ length: 30 }, () => ({ customerId: 1, status: 'paid', total: '40.10' }));
  assert.equal((await shop.call('orders/_bulk', { method: 'POST', body: { data } })).status, 201);
  const page = await open({
    key: keys.readOnly,
    context: { permissions: ['clipboard-read', 'clipboard-write'], viewport: { width: 1280, height: 1800 } },
    path: '/demo/shop/data/orders?filter=total,gte,40&or=status,eq,paid;note,notNull&sort=total,desc&fields=id,status,total',
  });
  await page.getByRole('gridcell').first().waitFor();
  const count = Number(await page.getByRole('grid').getAttribute('aria-rowcount')) - 1;
  assert.ok(count > 30, String(count));
  const shown: (string | null)[][] = [];
  for (let row = 0; row < count; row++) {
    const cells = [0, 1, 2].map((column) => page.locator(`[data-spot="${row}:${column}"]`).textContent());
    shown.push(await Promise.all(cells));
  }
  const folder = mkdtempSync(join(tmpdir(), 'copied-'));
  const env = { ...process.env, WDA_KEY: keys.readOnly };
  try {
    const hasPython = spawnSync('python3', ['--version']).status === 0;
    for (const tool of ['curl', 'fetch', 'TypeScript', ...(hasPython ? ['Python'] : [])]) {
      await page.getByRole('button', { name: 'Copy as' }).click();
      await page.getByRole('menuitem', { name: tool, exact: true }).click();
      await page
        .getByRole('status')
        .filter({ hasText: `Copied as ${tool}` })
        .waitFor({ state: 'attached' });
      const text = await page.evaluate<string>('navigator.clipboard.readText()');
      assert.ok(!text.includes('wda_') && text.includes('WDA_KEY'), text);
      const program = join(folder, `${tool}.mts`);
      // The package as it stands in this repository, and the answer as JSON.
      writeFileSync(
        program,
        text
          .replace("'workspace-data-client'", JSON.stringify(CLIENT))
          .replace(/console\.log\((?:response\.status, )?(.*)\);$/, 'console.log(JSON.stringify($1));')
          .replace(/print\(response\.status, (.*)\)$/, 'print(json.dumps($1))'),
      );
      const { stdout } = await (tool === 'curl'
        ? run('sh', ['-c', `${text} -sS`], { env })
        : run(tool === 'Python' ? 'python3' : process.execPath, [program], { env }));
      const answer = JSON.parse(stdout);
      const rows = (answer.data ?? answer) as readonly Record<string, string | number>[];
      assert.deepEqual(
        rows.map(({ id, status, total }) => [String(id), status, Number(total)]),
        shown.map(([id, status, total]) => [id, status, Number(total)]),
        tool,
      );
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a file becomes a new entity with the types of its values', async ({ open }) => {
  const page = await open({ key: keys.owner, path: '/demo/shop/import' });
  await page
    .getByRole('textbox', { name: 'Or paste rows' })
    .fill('First name,born,points\nAda,1815-12-10,1.50\nGrace,1906-12-09,2');
  await page.getByRole('button', { name: 'Use these rows' }).click();
  await page.getByRole('textbox', { name: 'Name of the entity' }).fill('people');
  await page.getByRole('button', { name: 'Import' }).click();
  await page.getByText(/^2 records inserted/).waitFor();
  const { data } = (await shop.call('people?sort=id')).json;
  assert.deepEqual(data[0], { id: 1, firstName: 'Ada', born: '1815-12-10', points: 1.5 });
});
