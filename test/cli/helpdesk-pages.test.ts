// The page of grants and the recipes of the helpdesk: their commands are run and their requests made, in the order of the page, over a workspace of
// its own; and the grants that they show are those of the example.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { ROOT, runCommands } from '../support/page-commands.ts';
import { parseExamples, requestExamples } from '../support/page-examples.ts';
import { use, useIssuer, useServer } from '../support/resources.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { useFolder } from '../support/temporary-folder.ts';
import { LOCAL_PROVIDER, makeUsers } from '../support/users.ts';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const SCHEMA = parse(read('examples/helpdesk/schema.yaml'));
const ENTITIES = ['teams', 'companies', 'users', 'tickets', 'comments', 'services', 'incidents'];
const RECIPES = globSync('docs/recipes/[0-9a-z]*.md', { cwd: ROOT })
  .filter((page) => read(page).includes('examples/helpdesk'))
  .sort();
const PAGES = ['docs/reference/grants.md', ...RECIPES];

const EXAMPLES = join(ROOT, 'examples/');
const folder = useFolder();
const server = useServer(LOCAL_PROVIDER);
const issuer = useIssuer();
// The issuer of the pages is one of the test.
const ISSUER = 'https://login.example.com/';

test('the recipes of the helpdesk are all there', () => assert.ok(RECIPES.length >= 4));

PAGES.forEach((name, index) => {
  const organization = `acme${index}`;
  const helpdesk = use(() => server.workspace(`${organization}/helpdesk`, SCHEMA));
  const run = (commands: string) =>
    runCommands(
      commands.replaceAll('acme/', `${organization}/`).replaceAll(ISSUER, issuer.url).replaceAll('examples/', EXAMPLES),
      { WDA_URL: server.url, WDA_KEY: ADMIN_KEY },
      folder,
    );

  test(`${name} shows what happens`, async () => {
    for (const entity of ENTITIES)
      await run(`wda import ${entity} examples/helpdesk/data/${entity}.csv -w acme/helpdesk`);
    const tokenOf = await makeUsers(helpdesk, issuer);
    await run('wda idp set -w acme/helpdesk --role-claim roles');
    let key = '';
    // Blocks of commands, and the requests between them.
    for (const [part, language = '', block = ''] of read(name).matchAll(/```(\w+)\n([\s\S]*?)```|[\s\S]+?(?=```|$)/g)) {
      if (language === 'sh') {
        const { stdout } = await run(block);
        key = /^Key +(wda_\S+)$/m.exec(stdout)?.[1] ?? key;
      } else if (language === 'yaml') {
        const document = parse(block);
        for (const [entity, shown] of Object.entries<{ grants: unknown }>(document.entities ?? document))
          assert.deepEqual(shown.grants, SCHEMA.entities[entity].grants, entity);
      } else {
        await requestExamples(
          parseExamples(part),
          helpdesk,
          (value) => value.replace(/\{.*\}/, tokenOf).replace('wda_…', key),
          // Creates that an access test has rolled back have used ids.
          (answer) => answer.replace(/^\{"data":\{"id":[5-9],/, '{"data":{"id":5,'),
        );
      }
    }
  });
});
