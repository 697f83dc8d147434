// The command tree of `wda`: names, arguments, options, help. Each action loads the module of its command only when it
// runs, so that the server does not load the client, nor the client the server.
import { Command, InvalidArgumentError, Option } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import { addAgents } from './agent-commands.ts';
import { addCluster, addMove } from './cluster-commands.ts';
import { addConfig } from './config-commands.ts';
import { addIdentityProvider } from './identity-provider-commands.ts';
import type { Io } from './io.ts';
import { addOAuth } from './oauth-commands.ts';
import { addOpenapi } from './openapi-command.ts';
import { addServer } from './server-commands.ts';
import { addTypes } from './types-command.ts';

const URL_HELP = 'address of the server (env WDA_URL; default http://localhost:3000)';
const KEY_HELP =
  'credential (better in env WDA_KEY, else WDA_ADMIN_KEY: a command line can be seen in the process list)';
const WORKSPACE_HELP = 'workspace, such as acme/shop (env WDA_WORKSPACE)';

/** The whole program. Parse errors are thrown as CommanderError, never process.exit. */
export function makeProgram(io: Io): Command {
  const program = new Command('wda')
    .description('Workspace Data API: a REST API over PostgreSQL from the schema of a workspace')
    .version(manifest.version, '-V, --version', 'print the version')
    .option('--url <url>', URL_HELP)
    .option('--key <key>', KEY_HELP)
    .option('-w, --workspace <org/workspace>', WORKSPACE_HELP)
    .option('--json', 'one JSON document on stdout and nothing else; errors as JSON on stderr')
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError()
    // cli/run.ts prints errors itself, the same way for parsing and for commands.
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: () => {},
    })
    .exitOverride();
  // Actions find it among the options of their line.
  program.setOptionValue('io', io);
  addServer(program, examples);
  addCluster(program, examples);
  addOrganizations(program);
  addWorkspaces(program);
  addKeys(program);
  addOAuth(program, examples);
  addAgents(program, examples);
  addIdentityProvider(program, examples);
  addSchema(program);
  addMigrations(program);
  addTransfer(program);
  addSearch(program);
  addAggregate(program);
  addAccess(program);
  addConfig(program, examples);
  addOpenapi(program, examples);
  addTypes(program, examples);
  examples(program, [
    'wda serve',
    'wda org create acme',
    'wda workspace create acme/shop --schema schema.yaml',
    'wda key create website -w acme/shop --permissions read-only',
    'wda import customers customers.csv -w acme/shop',
    'wda export orders open-orders.csv -w acme/shop --filter status,eq,open',
  ]);
  program.addHelpText(
    'after',
    '\nCompletion at the tab key: wda completion bash|zsh|fish prints its script\nExit codes: 0 done, 1 refused by the server or failed, 2 wrong usage, 3 server not reachable, 4 drift',
  );
  return program;
}

function addOrganizations(program: Command): void {
  const group = program
    .command('org')
    .alias('organization')
    .description('organizations, which hold workspaces (needs the operator key)');
  group
    .command('create')
    .description('create an organization')
    .argument('<slug>', 'lower-case letters, digits and hyphens')
    .option('--name <name>', 'name for people (default: the slug)')
    .action(async (slug, _own, command: Command) =>
      (await import('./organization.ts')).createOrganization(slug, command.optsWithGlobals()),
    );
  group
    .command('list')
    .description('list the organizations')
    .action(async (_own, command: Command) =>
      (await import('./organization.ts')).listOrganizations(command.optsWithGlobals()),
    );
  group
    .command('delete')
    .description('delete an organization that has no workspaces')
    .argument('<slug>')
    .action(async (slug, _own, command: Command) =>
      (await import('./organization.ts')).deleteOrganization(slug, command.optsWithGlobals()),
    );
  examples(group, ['wda org create acme --name "Acme Ltd"', 'wda org list', 'wda org delete acme']);
}

function addWorkspaces(program: Command): void {
  const group = program
    .command('workspace')
    .alias('ws')
    .description('workspaces, each with a schema and records of its own');
  group
    .command('create')
    .description('create a workspace')
    .argument('<org/workspace>', 'its address, such as acme/shop')
    .option('--name <name>', 'name for people (default: the slug)')
    .option('--schema <file>', 'schema document, YAML or JSON, that it starts with')
    .action(async (address, _own, command: Command) =>
      (await import('./workspace.ts')).createWorkspace(address, command.optsWithGlobals()),
    );
  group
    .command('list')
    .description('list the workspaces of an organization')
    .argument('<org>')
    .action(async (organization, _own, command: Command) =>
      (await import('./workspace.ts')).listWorkspaces(organization, command.optsWithGlobals()),
    );
  group
    .command('statistics')
    .description('show how many records each entity has, and how much room they take')
    .action(async (_own, command: Command) =>
      (await import('./workspace.ts')).showStatistics(command.optsWithGlobals()),
    );
  group
    .command('delete')
    .description('delete a workspace and all of its records')
    .argument('<org/workspace>')
    .option('--confirm <slug>', "the workspace's slug once more: nothing brings the records back")
    .action(async (address, _own, command: Command) =>
      (await import('./workspace.ts')).deleteWorkspace(address, command.optsWithGlobals()),
    );
  addMove(group);
  examples(group, [
    'wda workspace create acme/shop --name "Shop" --schema schema.yaml',
    'wda workspace list acme',
    'wda workspace statistics -w acme/shop',
    'wda workspace delete acme/shop --confirm shop',
  ]);
}

function addKeys(program: Command): void {
  const group = program.command('key').description('API keys of a workspace');
  const creating = group
    .command('create')
    .description('create a key; it is printed this once')
    .argument('<name>', 'what it is for')
    .option('--permissions <permissions>', 'OWNER (default), READ_WRITE or READ_ONLY (the last two: data only)')
    .option(
      '--entities <names>',
      'the only entities that it reaches, separated by commas; needs READ_WRITE or READ_ONLY',
    )
    .option('--expires <when>', '30d, 12h or 15m from now, a date, or a date and time with Z or an offset')
    .action(async (name, _own, command: Command) =>
      (await import('./api-key.ts')).createKey(name, command.optsWithGlobals()),
    );
  examples(creating, [
    'wda key create website -w acme/shop --permissions READ_ONLY --expires 90d',
    'wda key create nightly -w acme/shop --permissions READ_ONLY --entities orders,customers',
    'WDA_KEY=$(wda key create ci -w acme/shop --json | jq -r .key)',
  ]);
  group
    .command('list')
    .description('list the keys: prefix, permissions, last use')
    .action(async (_own, command: Command) => (await import('./api-key.ts')).listKeys(command.optsWithGlobals()));
  group
    .command('update')
    .description('give a key another name or another end')
    .argument('<id>', 'id of the key, as key list shows it')
    .option('--name <name>', 'what it is for')
    .option('--expires <when>', '30d, 12h or 15m from now, a date, a date and time with Z or an offset, or never')
    .action(async (id, _own, command: Command) =>
      (await import('./api-key.ts')).updateKey(id, command.optsWithGlobals()),
    );
  group
    .command('revoke')
    .description('revoke a key; it stops working within a second')
    .argument('<id>', 'id of the key, as key list shows it')
    .action(async (id, _own, command: Command) =>
      (await import('./api-key.ts')).revokeKey(id, command.optsWithGlobals()),
    );
  examples(group, [
    'wda key create website -w acme/shop --permissions READ_ONLY --expires 90d',
    'wda key list -w acme/shop',
    'wda key update 3 -w acme/shop --expires 90d',
    'wda key revoke 3 -w acme/shop',
  ]);
}

function addSchema(program: Command): void {
  const group = program.command('schema').description('the schema document of a workspace');
  group
    .command('show')
    .description('print the schema in force, ready to be edited and applied')
    .addOption(new Option('--format <format>', 'yaml or json').choices(['yaml', 'json']).default('yaml'))
    .action(async (_own, command: Command) => (await import('./schema.ts')).showSchema(command.optsWithGlobals()));
  group
    .command('plan')
    .description('show what apply would do; changes nothing')
    .argument('<file>', 'schema document, YAML or JSON; - is stdin')
    .addOption(strategy())
    .option('--based-on <tag>', 'only if this document is in force, as a plan before has told it')
    .action(async (file, _own, command: Command) =>
      (await import('./schema.ts')).planSchema(file, command.optsWithGlobals()),
    );
  const applying = group
    .command('apply')
    .description('put a schema in force and watch the migration to its end')
    .argument('<file>', 'schema document, YAML or JSON; - is stdin')
    .addOption(strategy())
    .option('--based-on <tag>', 'only if the plan with this tag is still what would be done')
    .option('--allow-destructive', 'let it drop entities, fields or relations with their data')
    .option('--wait <seconds>', 'wait this long at most, 0 not at all (default: until it has ended)')
    .action(async (file, _own, command: Command) =>
      (await import('./schema.ts')).applySchema(file, command.optsWithGlobals()),
    );
  examples(applying, [
    'wda schema apply schema.yaml -w acme/shop',
    'wda schema apply schema.yaml -w acme/shop --allow-destructive',
    'wda schema apply schema.yaml -w acme/shop --wait 0 --json   # starts it, prints the migration',
    'generate-schema | wda schema apply - -w acme/shop',
  ]);
  examples(group, [
    'wda schema show -w acme/shop > schema.yaml',
    'wda schema plan schema.yaml -w acme/shop',
    'wda schema plan schema.yaml -w acme/shop --strategy blocking',
    'wda schema apply schema.yaml -w acme/shop',
    'wda schema apply schema.yaml -w acme/shop --allow-destructive --strategy blocking',
  ]);
}

const strategy = (): Option =>
  new Option(
    '--strategy <strategy>',
    'online (default): requests go on meanwhile; blocking: at once and quicker, requests get 503 meanwhile',
  ).choices(['online', 'blocking']);

function addMigrations(program: Command): void {
  const group = program.command('migration').description('schema changes of a workspace, running and past');
  group
    .command('list')
    .description('list the migrations')
    .action(async (_own, command: Command) =>
      (await import('./migration.ts')).listMigrations(command.optsWithGlobals()),
    );
  group
    .command('show')
    .description('show one with its steps')
    .argument('<id>')
    .option('--follow', 'watch it to its end first; exit code 1 when it fails')
    .action(async (id, _own, command: Command) =>
      (await import('./migration.ts')).showMigration(id, command.optsWithGlobals()),
    );
  group
    .command('cancel')
    .description('cancel one that has not ended')
    .argument('<id>')
    .action(async (id, _own, command: Command) =>
      (await import('./migration.ts')).cancelMigration(id, command.optsWithGlobals()),
    );
  examples(group, [
    'wda migration list -w acme/shop',
    'wda migration show 7 --follow -w acme/shop',
    'wda migration cancel 7 -w acme/shop',
  ]);
}

/** One of the words, or names of fields. */
function conflictChoice(text: string): string {
  if (/^[A-Za-z]\w*(,[A-Za-z]\w*)*$/.test(text)) return text;
  throw new InvalidArgumentError(
    'Allowed choices are fail, skip, update, or names of fields with commas between them.',
  );
}

function addTransfer(program: Command): void {
  const importing = program
    .command('import')
    .description('import a CSV or NDJSON file into an entity, all or nothing')
    .argument('<entity>')
    .argument('<file>', '.csv, .ndjson or .jsonl; - is stdin')
    .addOption(new Option('--format <format>', 'default: by the extension').choices(['csv', 'ndjson']))
    .option('--map <pairs>', 'Header:field,… where they differ; "Header:" alone skips that column')
    .addOption(
      new Option(
        '--on-conflict <what>',
        'what becomes of a record whose id is there already: fail, skip, update; or the fields (email) by which records are found and updated',
      ).argParser(conflictChoice),
    )
    .action(async (entity, file, _own, command: Command) =>
      (await import('./import.ts')).importFile(entity, file, command.optsWithGlobals()),
    );
  examples(importing, [
    'wda import customers customers.csv -w acme/shop',
    'wda import customers crm.csv -w acme/shop --map "Customer Name:name,Mail:email,Notes:"',
    'wda import orders orders.ndjson -w acme/shop --on-conflict update',
    'wda import customers crm.csv -w acme/shop --on-conflict email',
    'zcat orders.csv.gz | wda import orders - --format csv -w acme/shop',
  ]);
  const exporting = program
    .command('export')
    .description('export the records of an entity as CSV or NDJSON')
    .argument('<entity>')
    .argument('[file]', 'written whole or not at all; - or nothing is stdout', '-')
    .addOption(new Option('--format <format>', 'default: by the extension; csv on stdout').choices(['csv', 'ndjson']))
    .option('--filter <filter>', 'field,op[,value]; repeat it for more conditions, all of which must hold', collect)
    .option('--sort <sort>', 'field[,asc|desc]; repeat it for more keys', collect)
    .option('--fields <fields>', 'only these fields, separated by commas')
    .action(async (entity, file, _own, command: Command) =>
      (await import('./export.ts')).exportFile(entity, file, command.optsWithGlobals()),
    );
  examples(exporting, [
    'wda export customers customers.csv -w acme/shop',
    'wda export orders big.ndjson -w acme/shop --filter total,gte,100 --filter status,eq,paid --sort total,desc',
    'wda export customers -w acme/shop --fields id,email | head',
  ]);
}

function addSearch(program: Command): void {
  const command = program
    .command('search')
    .description('find the records of an entity by words, the best match first')
    .argument('<entity>')
    .argument('<words...>', 'as people type them: "a phrase", the last word as a beginning; after -- also -word')
    .option('--filter <filter>', 'field,op[,value]; repeat it for more conditions, all of which must hold', collect)
    .option('--sort <sort>', 'field[,asc|desc] instead of the best match first; repeat it for more keys', collect)
    .option('--fields <fields>', 'only these fields, separated by commas')
    .option('--first <number>', 'so many records, up to 1000', '20')
    .action(async (entity, words, _own, own: Command) =>
      (await import('./search.ts')).search(entity, words, own.optsWithGlobals()),
    );
  examples(command, [
    'wda search customers ann lee -w acme/shop',
    'wda search customers \'"ann lee" lon\' -w acme/shop --fields id,name,email --first 5',
    'wda search orders -w acme/shop --filter status,eq,open -- wrap -paper',
  ]);
}

function addAggregate(program: Command): void {
  const command = program
    .command('aggregate')
    .description('count and sum up the records of an entity, all of them or by groups')
    .argument('<entity>')
    .option('--select <functions>', 'count, or sum, avg, min, max, count, countDistinct of a field, by commas', 'count')
    .option('--group <groups>', 'fields, to-one paths, or parts of moments such as placedAt:month, by commas')
    .option('--tz <zone>', 'where days and months begin, such as Europe/Berlin (default: UTC)')
    .option('--filter <filter>', 'field,op[,value]; repeat it for more conditions, all of which must hold', collect)
    .option('--or <filters>', 'filter;filter: one of them must hold', collect)
    .option('--search <words>', 'only records in whose searchable fields these words stand')
    .option('--having <condition>', 'on what is selected, such as count,gte,5; repeat it for more', collect)
    .option('--sort <sort>', 'what is selected or a group[,asc|desc]; repeat it for more keys', collect)
    .option('--first <number>', 'only so many groups (default: all)')
    .action(async (entity, _own, own: Command) =>
      (await import('./aggregate.ts')).aggregate(entity, own.optsWithGlobals()),
    );
  examples(command, [
    'wda aggregate orders -w acme/shop',
    'wda aggregate orders -w acme/shop --select count,sum:total --group status',
    'wda aggregate orders -w acme/shop --select sum:total --group placedAt:month --tz Europe/Berlin',
    'wda aggregate orders -w acme/shop --group customer.name --having count,gte,5 --sort count,desc --first 10',
  ]);
}

function addAccess(program: Command): void {
  const group = program.command('access').description('what users of the identity provider may see');
  const explaining = group
    .command('explain')
    .description('take a token through every check, and show the records that its user sees')
    .argument('[file]', 'holds the token; - or nothing is stdin')
    .option('--token <token>', 'the token itself (better in a file: a command line can be seen in the process list)')
    .action(async (file, _own, command: Command) =>
      (await import('./access-explain.ts')).explainAccess(file, command.optsWithGlobals()),
    );
  examples(explaining, ['wda access explain token.txt -w acme/shop', 'get-token | wda access explain -w acme/shop']);
  const testing = group
    .command('test')
    .description('run a file of "with these claims, these records are visible, these are not"')
    .argument('<file>', 'YAML or JSON; - is stdin')
    .option('--rules <file>', 'row rules by entity, YAML or JSON, to try in place of those in force')
    .action(async (file, _own, command: Command) =>
      (await import('./access-test.ts')).testAccess(file, command.optsWithGlobals()),
    );
  examples(testing, [
    'wda access test access.yaml -w acme/shop   # exit code 1 at the first leak',
    'wda access test access.yaml -w acme/shop --rules new-rules.yaml',
  ]);
  examples(group, ['wda access explain token.txt -w acme/shop', 'wda access test access.yaml -w acme/shop']);
}

function examples(command: Command, lines: readonly string[]): void {
  command.addHelpText('after', `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`);
}

/** Gathers the values of an option that may be given several times. */
const collect = (value: string, earlier: readonly string[] | undefined): readonly string[] => [
  ...(earlier ?? []),
  value,
];
