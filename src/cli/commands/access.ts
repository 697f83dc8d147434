// `wda access`: shows and tests access of users of the identity provider. `explain` runs a token through each check of a
// request. `test` runs a file of access tests: the server answers each request like a user with the claims of the case, and
// the first record that is visible or hidden against the file ends the run.
import type { Command } from 'commander';
import type { AccessTested, SchemaDocument, TokenExplained } from '../../../admin-types/admin-api.d.ts';
import { numberText } from '../../model/exact-json.ts';
import { buildChecks, type Check, type Expectation, type InboundRelation } from '../access-checks.ts';
import { registerReport } from '../access-report.ts';
import type { AdminClient } from '../admin-client.ts';
import {
  action,
  connect,
  entityPath,
  examples,
  type GlobalOptions,
  requireWorkspace,
  type WorkspaceAddress,
  workspacePath,
} from '../command.ts';
import { CommandFailure, runtimeFailure, usageFailure } from '../failure.ts';
import { type Io, printResult, readInput } from '../io.ts';
import {
  isObject,
  makeMistake,
  readSchemaFile,
  rethrowWithLines,
  type SchemaFile,
  throwMistakes,
} from '../schema-file.ts';
import { printable, renderTable } from '../table.ts';

export function register(program: Command): void {
  const group = program.command('access').description('what users of the identity provider may see and do');
  const explaining = group
    .command('explain')
    .description('take a token through every check, and show the records that its user sees')
    .argument('[file]', 'holds the token; - or nothing is stdin')
    .option('--token <token>', 'the token itself (better in a file: a command line can be seen in the process list)')
    .action(action(explainAccess));
  examples(explaining, ['wda access explain token.txt -w acme/shop', 'get-token | wda access explain -w acme/shop']);
  const testing = group
    .command('test')
    .description('run a file of "with these claims, these records are visible, these are not"')
    .argument('<file>', 'YAML or JSON; - is stdin')
    .option('--rules <file>', 'row rules by entity, YAML or JSON, to try in place of those in force')
    .action(action(testAccess));
  examples(testing, [
    'wda access test access.yaml -w acme/shop   # exit code 1 at the first leak',
    'wda access test access.yaml -w acme/shop --rules new-rules.yaml',
  ]);
  registerReport(group);
  examples(group, ['wda access explain token.txt -w acme/shop', 'wda access test access.yaml -w acme/shop']);
}

interface ExplainOptions extends GlobalOptions {
  readonly token?: string;
}

/** Explains a token from the file `path` (`-` is stdin). Prints why a token would be rejected, then fails. */
export async function explainAccess(path: string | undefined, options: ExplainOptions): Promise<void> {
  const address = requireWorkspace(options);
  const client = connect(options);
  const token = await readToken(options.io, path, options.token);
  const { data } = await client.send<TokenExplained>('POST', `${workspacePath(address)}/identity-provider/test`, {
    body: { token },
  });
  await printResult(options, data, () => describeExplanation(data));
  if (!data.accepted) {
    const message = data.checks.find(({ passed }) => passed === false)?.message;
    throw runtimeFailure(`The token is refused: ${message ?? 'a check did not pass'}`);
  }
}

function describeExplanation({ permissions, checks, entities, roles, unknownRoles }: TokenExplained): string {
  const rows = checks.map(({ check, passed, message }) => [
    check,
    passed === null ? 'skipped' : passed ? 'pass' : 'fail',
    passed === null ? 'an earlier check failed' : message,
  ]);
  const may = { READ_ONLY: 'reads; writes are refused', READ_WRITE: 'reads and writes' } as const;
  const permission =
    permissions === null
      ? ['permission', 'skipped', 'an earlier check failed']
      : ['permission', 'pass', `${permissions}: ${may[permissions]}`];
  const parts = [renderTable(['CHECK', 'RESULT', 'REASON'], [...rows, permission])];
  const unknown = unknownRoles.length === 0 ? '' : `; unknown here: ${unknownRoles.map(printable).join(', ')}`;
  if (roles.length + unknownRoles.length > 0)
    parts.push(`Roles: ${roles.map(printable).join(', ') || 'none'}${unknown}`);
  if (entities.length > 0) {
    const heading =
      permissions === null ? 'With its claims, if it were accepted, its user would see:' : 'Its user sees:';
    parts.push(
      heading,
      renderTable(
        ['ENTITY', 'RECORDS'],
        entities.map(({ entity, filter }) => [entity, filter]),
      ),
    );
  }
  const grants = entities.flatMap(({ entity, grants: all }) =>
    all.map(({ grant, reason }) => [entity, reason === null ? 'yes' : `no: ${reason}`, grant]),
  );
  if (grants.length > 0) parts.push('Grants:', renderTable(['ENTITY', 'APPLIES', 'GRANT'], grants));
  return parts.join('\n\n');
}

/** Reads a token, with or without the `Bearer` that people copy with it. */
async function readToken(io: Io, path: string | undefined, tokenOption: string | undefined): Promise<string> {
  if (tokenOption !== undefined && path !== undefined)
    throw usageFailure('Give the token by --token or in a file, not both');
  const text = tokenOption ?? (await readSource(io, path));
  const token = text.trim().replace(/^(Authorization:\s*)?Bearer\s+/i, '');
  if (token === '') throw usageFailure('The token is empty');
  return token;
}

async function readSource(io: Io, path: string | undefined): Promise<string> {
  if (path === undefined && io.stdin.isTTY) {
    throw usageFailure('A token is needed', [
      'Pass a file that holds it, or pipe it in: wda access explain < token.txt',
    ]);
  }
  return readInput(io, path ?? '-');
}

/** Limit of requests that the server takes in one call. */
const BATCH = 100;
/** Limit of other records of an entity with `only` that are requested one by one. */
const MAX_OTHER_IDS = 100;
const PAGE = 200;
const RULES = 'row rules: an object with a list for each entity';

interface Target {
  readonly client: AdminClient;
  readonly address: WorkspaceAddress;
  readonly relations: readonly RelationTo[];
  /** Row rules to test in place of those in force. */
  readonly rules: SchemaFile | undefined;
}

interface RelationTo {
  readonly from: string;
  readonly relation: string;
  readonly to: string;
  readonly isToOne: boolean;
}

/** Runs the cases; throws a failure that names the case, the record and the request of the first leak. */
async function testAccess(path: string, options: GlobalOptions & { readonly rules?: string }): Promise<void> {
  const address = requireWorkspace(options);
  const client = connect(options);
  const cases = await readAccessFile(options.io, path);
  const rules = options.rules === undefined ? undefined : await readSchemaFile(options.io, options.rules, RULES);
  const { data } = await client.send<SchemaDocument>('GET', `${workspacePath(address)}/schema`);
  const target: Target = { client, address, relations: listRelations(data), rules };
  let requests = 0;
  for (const one of cases) requests += await runCase(target, one);
  const result = { cases: cases.length, requests };
  await printResult(
    options,
    result,
    () => `${result.cases} cases, ${result.requests} requests: no leak, and nothing missing`,
  );
}

/** Runs a case; returns the number of its requests. */
async function runCase(target: Target, one: AccessCase): Promise<number> {
  let requests = 0;
  for (const expected of await loadExpectations(target, one)) {
    const checks = buildChecks(expected);
    for (let at = 0; at < checks.length; at += BATCH) {
      await runBatch(target, one, expected.entity, checks.slice(at, at + BATCH));
    }
    requests += checks.length;
  }
  return requests;
}

async function runBatch(
  { client, address, rules }: Target,
  { name, claims }: AccessCase,
  entity: string,
  checks: readonly Check[],
): Promise<void> {
  const requests = checks.map(({ path, body }) => ({ path, ...(body === undefined ? {} : { body }) }));
  const rulesMember = rules === undefined ? {} : { rules: rules.document };
  const { data } = await client
    .send<readonly AccessTested[]>('POST', `${workspacePath(address)}/access/test`, {
      body: { claims, requests, ...rulesMember },
    })
    .catch((error) => rethrowWithLines(error, rules, ['rules']));
  for (const [index, { path, body, judge }] of checks.entries()) {
    const { status, body: responseBody } = data[index] as AccessTested;
    const mistake = judge({ status, body: responseBody });
    if (mistake === undefined) continue;
    const request = `${body === undefined ? 'GET' : 'POST'} ${entityPath(address, '')}${path}`;
    const facts = { case: name, entity, request, ...(body === undefined ? {} : { body }), claims };
    throw new CommandFailure({ kind: 'failed', message: `${name}: ${entity}: ${mistake}`, details: facts }, [
      `Request: ${request}${body === undefined ? '' : ` ${JSON.stringify(body)}`}`,
      `Claims:  ${JSON.stringify(claims)}`,
    ]);
  }
}

/** Loads, as owner, the records of a case, other records of their entities and records that are linked with them. */
async function loadExpectations(target: Target, { name, visible, hidden, only }: AccessCase): Promise<Expectation[]> {
  const expectations: Expectation[] = [];
  for (const entity of new Set([...visible.keys(), ...hidden.keys(), ...only.keys()])) {
    const exact = only.get(entity);
    const visibleIds = exact ?? visible.get(entity) ?? [];
    const otherIds = exact === undefined ? (hidden.get(entity) ?? []) : await loadOtherIds(target, entity, exact);
    const all = [...visibleIds, ...otherIds];
    const existingIds = await findIds(target, entity, 'id', all);
    const missing = all.find((id) => !existingIds.includes(id));
    if (missing !== undefined)
      throw runtimeFailure(`${name}: record ${missing} of ${entity} does not exist, so a test of it shows nothing`);
    const inboundRelations: InboundRelation[] = [];
    for (const { from, relation, to, isToOne } of target.relations) {
      if (to === entity)
        inboundRelations.push({
          from,
          relation,
          isToOne,
          linkedIds: await findIds(target, from, `${relation}.id`, all),
        });
    }
    expectations.push({
      entity,
      visible: [...visibleIds].sort(byNumber),
      hidden: otherIds,
      inboundRelations,
      isAll: exact !== undefined,
    });
  }
  return expectations;
}

/** Loads ids of records other than `ids`, the first by id. */
async function loadOtherIds(target: Target, entity: string, ids: readonly string[]): Promise<string[]> {
  const filter = ids.length === 0 ? [] : [['filter', `id,nin,${ids.slice(0, PAGE).join()}`] as const];
  const otherIds = await readIds(target, entity, [...filter, ['size', MAX_OTHER_IDS]]);
  return otherIds.filter((id) => !ids.includes(id));
}

/** Loads the ids of records whose path has one of the values, one page per chunk of values. */
async function findIds(target: Target, entity: string, path: string, values: readonly string[]): Promise<string[]> {
  const ids = new Set<string>();
  for (let at = 0; at < values.length; at += PAGE) {
    const filter = `${path},in,${values.slice(at, at + PAGE).join()}`;
    for (const id of await readIds(target, entity, [
      ['filter', filter],
      ['size', PAGE],
    ]))
      ids.add(id);
  }
  return [...ids];
}

async function readIds(
  { client, address }: Target,
  entity: string,
  query: readonly (readonly [string, string | number])[],
): Promise<string[]> {
  const { data } = await client.send('GET', entityPath(address, entity), {
    query: [['fields', 'id'], ['expand', ''], ['count', 'none'], ...query],
  });
  return (data as readonly { readonly id: unknown }[]).map(({ id }) => numberText(id) ?? '');
}

function listRelations(schema: SchemaDocument): RelationTo[] {
  return Object.entries(schema.entities).flatMap(([from, { relations = {} }]) =>
    Object.entries(relations).map(([relation, { kind, entity }]) => ({
      from,
      relation,
      to: entity,
      isToOne: kind === 'belongsTo' || kind === 'hasOne',
    })),
  );
}

const byNumber = (a: string, b: string): number => Number(a) - Number(b);

/** Ids by entity. */
export type Records = ReadonlyMap<string, readonly string[]>;

interface AccessCase {
  readonly name: string;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly visible: Records;
  readonly hidden: Records;
  /** Records that are visible while every other record of their entity is hidden. */
  readonly only: Records;
}

const MEMBERS = ['name', 'claims', 'visible', 'hidden', 'only'];
// The largest id (2^53 - 1) has 16 digits.
const ID = /^[1-9]\d{0,15}$/;

async function readAccessFile(io: Io, path: string): Promise<readonly AccessCase[]> {
  const file = await readSchemaFile(io, path, 'access tests: an object with "cases"');
  const mistakes: CommandFailure[] = [];
  const report: Report = (location, message) => {
    mistakes.push(makeMistake(file, location, message));
  };
  const { cases, ...unknownMembers } = file.document as Record<string, unknown>;
  for (const name of Object.keys(unknownMembers)) report(name, `${name} means nothing here; known: cases`);
  const values = Array.isArray(cases) ? cases : [];
  if (values.length === 0) report('cases', 'cases must be a list with a case or more');
  const parsedCases = values.map((value, index) => parseCase(report, `cases.${index}`, value, index));
  throwMistakes(file, mistakes);
  return parsedCases.filter((parsed) => parsed !== undefined);
}

/** Reports a mistake at a path of the file. */
type Report = (path: string, message: string) => void;

/** Parses a case with the mistakes that it reports; returns undefined for a case that is no object or has no claims. */
function parseCase(report: Report, path: string, value: unknown, index: number): AccessCase | undefined {
  if (!isObject(value)) {
    report(path, 'a case must be an object with claims and records');
    return undefined;
  }
  const unknownNames = Object.keys(value).filter((member) => !MEMBERS.includes(member));
  for (const name of unknownNames)
    report(`${path}.${name}`, `${name} means nothing here; known: ${MEMBERS.join(', ')}`);
  const { name = `case ${index + 1}`, claims } = value;
  if (typeof name !== 'string') report(`${path}.name`, 'name must be text');
  if (!isObject(claims)) report(`${path}.claims`, 'claims must be an object ({} for a token without any)');
  const records = (member: string): Records => parseRecords(report, `${path}.${member}`, value[member]);
  const [visible, hidden, only] = [records('visible'), records('hidden'), records('only')];
  // A misspelt member may be the missing one.
  const isEmpty = ['visible', 'hidden', 'only'].every((member) => isWithoutRecords(value[member]));
  if (isEmpty && unknownNames.length === 0) report(path, 'a case without visible, hidden or only tests nothing');
  for (const [entity, ids] of visible) {
    const duplicate = ids.find((id) => hidden.get(entity)?.includes(id) === true);
    if (duplicate !== undefined)
      report(`${path}.hidden.${entity}`, `record ${duplicate} of ${entity} cannot be visible and hidden`);
  }
  for (const entity of only.keys()) {
    if (visible.has(entity) || hidden.has(entity))
      report(`${path}.only.${entity}`, `only says all about ${entity}: leave it out of visible and hidden`);
  }
  return isObject(claims) ? { name: String(name), claims, visible, hidden, only } : undefined;
}

/** Returns true for a missing member of a case and for one without entities. */
const isWithoutRecords = (value: unknown): boolean =>
  value === undefined || value === null || (isObject(value) && Object.keys(value).length === 0);

/** Parses ids by entity; leaves out what it reports. */
function parseRecords(report: Report, path: string, value: unknown): Records {
  if (value === undefined || value === null) return new Map();
  if (!isObject(value)) {
    report(path, 'must be an object: the ids of each entity');
    return new Map();
  }
  const records = new Map<string, readonly string[]>();
  for (const [entity, ids] of Object.entries(value)) {
    const texts = Array.isArray(ids) ? ids.map((id) => numberText(id) ?? String(id)) : undefined;
    if (texts?.every((text) => ID.test(text))) records.set(entity, [...new Set(texts)]);
    else report(`${path}.${entity}`, 'must be a list of ids such as [1, 2]');
  }
  return records;
}
