// Postman and Bruno import the document of the demo workspace, and their runners send what they made of it. Commands are
// those of the page; the tools are in a folder of their own: npm ci --prefix test/tools/importers
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { DEMO_RECORDS, DEMO_SCHEMA } from '../../src/bootstrap/demo.ts';
import { prepare, use, useServer } from '../support/resources.ts';
import { useFolder } from '../support/temporary-folder.ts';

const run = promisify(execFile);
const BIN = join(import.meta.dirname, '../tools/importers/node_modules/.bin');
const isInstalled = existsSync(BIN);
const skip = isInstalled ? false : 'the importers are not installed: npm ci --prefix test/tools/importers';
const PAGE = readFileSync(join(import.meta.dirname, '../../docs/clients/postman-bruno.md'), 'utf8');

/** What changes nothing, and creates, with the status that each is answered. */
const STATUSES: Readonly<Record<string, number>> = {
  List: 200,
  Read: 200,
  Query: 200,
  Aggregate: 200,
  Summarize: 200,
  Export: 200,
  Create: 201,
};
const ENTITIES = ['customers', 'products', 'orders', 'orderItems', 'tags', 'orderTags'];
const expected = (statuses: Readonly<Record<string, number>>): Readonly<Record<string, number>> =>
  Object.fromEntries(
    ENTITIES.flatMap((entity) => Object.entries(statuses).map(([verb, status]) => [`${verb} ${entity}`, status])),
  );
const EXPECTED = expected(STATUSES);

interface Item {
  readonly name: string;
  readonly item?: readonly Item[];
}
interface PostmanReport {
  readonly run: {
    readonly executions: readonly { readonly item: Item; readonly response: { readonly code: number } }[];
  };
}
interface BrunoReport {
  readonly results: readonly { readonly name: string; readonly response: { readonly status: number } }[];
}

if (isInstalled) {
  const server = useServer();
  // Each has its own: creates with the same unique value succeed once.
  const demos = {
    postman: use(() => server.workspace('demo/postman', DEMO_SCHEMA)),
    bruno: use(() => server.workspace('demo/bruno', DEMO_SCHEMA)),
  };
  const folder = useFolder();
  const read = (file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8'));

  /** Runs a command that the page has, in the folder of the tool. Runners fail for a status that is an error. */
  const command = async (tool: keyof typeof demos, text: string, added = '', where = '.'): Promise<void> => {
    assert.ok(PAGE.includes(`    ${text}\n`), `the page has no ${text}`);
    const PATH = [BIN, dirname(process.execPath), process.env.PATH].join(delimiter);
    const env = { ...process.env, PATH, KEY: demos[tool].key, NO_COLOR: '1' };
    await run('sh', ['-c', `${text} ${added} || true`], { cwd: join(folder, tool, where), env });
  };

  prepare(async () => {
    for (const [tool, workspace] of Object.entries(demos)) {
      for (const [entity, records] of DEMO_RECORDS) await workspace.create(entity, records);
      const { json } = await workspace.call('_openapi.json');
      const document = { ...json, servers: [{ url: `${server.url}/api/v1/${workspace.path}` }] };
      mkdirSync(join(folder, tool));
      writeFileSync(join(folder, tool, 'document.json'), JSON.stringify(document));
    }
  });

  test('Postman sends what it imports', async () => {
    await command(
      'postman',
      'openapi2postmanv2 -s document.json -o collection.json -O folderStrategy=Tags,parametersResolution=Example,enableOptionalParameters=false',
    );
    const collection = read('postman/collection.json');
    const folders: Item[] = collection.item.filter(({ name }: Item) => ENTITIES.includes(name));
    assert.equal(folders.length, ENTITIES.length);
    const item = folders.map((one) => ({ ...one, item: one.item?.filter(({ name }) => name in EXPECTED) }));
    writeFileSync(join(folder, 'postman/collection.json'), JSON.stringify({ ...collection, item }));
    const report = '-r json --reporter-json-export report.json';
    await command('postman', 'newman run collection.json --env-var "bearerToken=$KEY"', report);
    const { executions } = (read('postman/report.json') as PostmanReport).run;
    assert.deepEqual(Object.fromEntries(executions.map(({ item, response }) => [item.name, response.code])), EXPECTED);
  });

  test('Bruno sends what it imports', async () => {
    await command('bruno', 'bru import openapi -s document.json -o . -n shop');
    const files = globSync('shop/**/*.yml', { cwd: join(folder, 'bruno') });
    const requests = files.map((file) => basename(file, '.yml')).filter((name) => name in EXPECTED);
    assert.deepEqual(requests.sort(), Object.keys(EXPECTED).sort());
    // Names that are not unique would have a number.
    assert.deepEqual(
      files.filter((file) => file.includes('(')),
      [],
    );
    for (const file of files) {
      const isRequest = readFileSync(join(folder, 'bruno', file), 'utf8').includes('  type: http');
      if (isRequest && !(basename(file, '.yml') in EXPECTED)) rmSync(join(folder, 'bruno', file));
    }
    const report = '--reporter-json ../report.json';
    await command('bruno', 'bru run -r --env "Environment 1" --env-var "token=$KEY"', report, 'shop');
    // `bru run` leaves query parameters out, of which Aggregate needs one.
    const results = (read('bruno/report.json') as BrunoReport[]).flatMap((iteration) => iteration.results);
    assert.deepEqual(
      Object.fromEntries(results.map(({ name, response }) => [name, response.status])),
      expected({ ...STATUSES, Aggregate: 400 }),
    );
  });
} else {
  test('Postman and Bruno', { skip }, () => undefined);
}
