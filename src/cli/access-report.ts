// `wda access report` and `wda access grants`: the rights of users by role as a table, and the grants of an entity as a file.
import type { Command } from 'commander';
import type { AccessReport, OperationAccess } from '../../admin-types/admin-api.d.ts';
import {
  action,
  connect,
  examples,
  type GlobalOptions,
  printWarnings,
  requireWorkspace,
  workspacePath,
} from './command.ts';
import { printResult, writeOut } from './io.ts';
import { readSchemaFile, rethrowWithLines, schemaAsYaml } from './schema-file.ts';
import { renderTable } from './table.ts';

export function registerReport(group: Command): void {
  const reporting = group
    .command('report')
    .description('show what users may do with each entity, by their roles')
    .action(action(report));
  examples(reporting, ['wda access report -w acme/shop']);
  const grants = group.command('grants').description('grants of an entity: the rights of users by role');
  grants
    .command('get')
    .description('print them as YAML, or as JSON with --json; null: the entity has none and is open')
    .argument('<entity>')
    .action(action(getGrants));
  grants
    .command('set')
    .description('replace them by those of a file: a list, or null; an empty list closes the entity to users')
    .argument('<entity>')
    .argument('[file]', 'YAML or JSON; - or nothing is stdin')
    .action(action(setGrants));
  examples(grants, [
    'wda access grants get tickets -w acme/desk > tickets.yaml',
    'wda access grants set tickets tickets.yaml -w acme/desk',
    'echo "[]" | wda access grants set tickets -w acme/desk   # closes it to users',
  ]);
}

async function report(options: GlobalOptions): Promise<void> {
  const { data } = await connect(options).send<AccessReport>(
    'GET',
    `${workspacePath(requireWorkspace(options))}/access/report`,
  );
  await printResult(options, data, () => describeReport(data));
}

const OPERATIONS = ['read', 'create', 'update', 'delete', 'history'] as const;
const PERMISSIONS = {
  READ_ONLY: 'READ_ONLY: users read, and every write is refused.',
  READ_WRITE: 'READ_WRITE: users read and write as the table says.',
} as const;

export function describeReport({ permission, entities }: AccessReport): string {
  const heading =
    permission === null
      ? 'There is no identity provider, so there are no users. With READ_WRITE they would have these rights:'
      : PERMISSIONS[permission];
  const rows = entities.flatMap(({ entity, access, rowRules, roles }) => {
    const rights = roles.map(({ role, ...operations }) => ({
      role: role ?? '(no role)',
      rows: groupOperations(operations, rowRules),
    }));
    const isSame = rights.every(({ rows }) => JSON.stringify(rows) === JSON.stringify(rights[0]?.rows));
    const visible = isSame ? rights.slice(0, 1).map(({ rows }) => ({ role: '(every user)', rows })) : rights;
    return visible.flatMap(({ role, rows }) => rows.map((cells) => [entity, access, role, ...cells]));
  });
  return `${heading}\n\n${renderTable(['ENTITY', 'LIMITED BY', 'ROLE', 'MAY', 'RECORDS', 'FIELDS'], rows)}`;
}

type Operations = Readonly<Partial<Record<(typeof OPERATIONS)[number], OperationAccess>>>;

/** Returns a row for each group of operations on the same records and fields: names, records and fields. */
function groupOperations(operations: Operations, rowRules: readonly string[]): readonly (readonly string[])[] {
  const groups = new Map<string, { readonly names: string[]; readonly cells: readonly string[] }>();
  for (const name of OPERATIONS) {
    const operation = operations[name];
    if (operation?.allowed !== true) continue;
    const { records, fields } = operation;
    const cells = [describeRecords(records, rowRules), fields === null ? 'all' : fields.join(', ') || 'none'];
    const key = JSON.stringify(cells);
    const group = groups.get(key) ?? { names: [], cells };
    group.names.push(name);
    groups.set(key, group);
  }
  if (groups.size === 0) return [['nothing', '-', '-']];
  // A delete has no fields.
  return [...groups.values()].map(({ names, cells: [records = '', fields = ''] }) => [
    names.join(', '),
    records,
    names.join() === 'delete' ? '-' : fields,
  ]);
}

function describeRecords(records: readonly string[], rowRules: readonly string[]): string {
  const choices = records.length > 1 ? records.map((words) => `(${words})`).join(' or ') : records.join();
  const granted = rowRules.length > 0 && choices !== '' ? `(${choices})` : choices;
  return [granted, ...rowRules].filter((words) => words !== '').join(' and ') || 'all';
}

const grantsPath = (entity: string, options: GlobalOptions): string =>
  `${workspacePath(requireWorkspace(options))}/entities/${encodeURIComponent(entity)}/grants`;

async function getGrants(entity: string, options: GlobalOptions): Promise<void> {
  const { data } = await connect(options).send('GET', grantsPath(entity, options));
  await writeOut(options.io, `${options.json ? JSON.stringify(data, null, 2) : schemaAsYaml(data)}\n`);
}

async function setGrants(entity: string, path: string | undefined, options: GlobalOptions): Promise<void> {
  const address = grantsPath(entity, options);
  const file = await readSchemaFile(options.io, path ?? '-', 'grants: a list, or null', isGrants);
  const response = await connect(options)
    .send('PUT', address, { body: file.document })
    .catch((error) => rethrowWithLines(error, file));
  printWarnings(options.io, response);
  await printResult(options, response.data, () => schemaAsYaml(response.data));
}

const isGrants = (document: unknown): boolean => document === null || Array.isArray(document);
