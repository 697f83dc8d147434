// `wda access test`: runs a file of access tests against a workspace. The server answers each request as it would
// answer a user with the claims of the case; the first record that is visible or hidden against the file ends the run.
import { numberText } from '../model/exact-json.ts';
import { type Check, type CheckAnswer, checksOf, type Expectation, type Way } from './access-checks.ts';
import { type AccessCase, readAccessFile } from './access-file.ts';
import type { AdminClient } from './admin-client.ts';
import {
  chosenWorkspace,
  connect,
  entityPath,
  type GlobalOptions,
  type WorkspaceAddress,
  workspacePath,
} from './connection.ts';
import { CommandFailure, failed } from './failure.ts';
import { printResult } from './io.ts';
import { readSchemaFile, refuseWithLines, type SchemaFile } from './schema-file.ts';

/** What the server takes in one call. */
const BATCH = 100;
/** For an entity with `only`, this many of its other records are asked for one by one. */
const OTHERS = 100;
const PAGE = 200;
const RULES = 'row rules: an object with a list for each entity';

interface Target {
  readonly client: AdminClient;
  readonly address: WorkspaceAddress;
  readonly relations: readonly RelationTo[];
  /** Row rules to try in place of those in force. */
  readonly rules: SchemaFile | undefined;
}

interface RelationTo {
  readonly from: string;
  readonly relation: string;
  readonly to: string;
  readonly isToOne: boolean;
}

/** Throws a failure that names the case, the record and the request of the first leak. */
export async function testAccess(path: string, options: GlobalOptions & { readonly rules?: string }): Promise<void> {
  const address = chosenWorkspace(options);
  const client = connect(options);
  const cases = await readAccessFile(options.io, path);
  const rules = options.rules === undefined ? undefined : await readSchemaFile(options.io, options.rules, RULES);
  const { data } = await client.send('GET', `${workspacePath(address)}/schema`);
  const target: Target = { client, address, relations: relationsOf(data), rules };
  let requests = 0;
  for (const one of cases) requests += await runCase(target, one);
  const done = { cases: cases.length, requests };
  await printResult(
    options,
    done,
    () => `${done.cases} cases, ${done.requests} requests: no leak, and nothing missing`,
  );
}

/** Gives the number of requests. */
async function runCase(target: Target, one: AccessCase): Promise<number> {
  let requests = 0;
  for (const expected of await expectationsOf(target, one)) {
    const checks = checksOf(expected);
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
  const tried = rules === undefined ? {} : { rules: rules.document };
  const { data } = await client
    .send('POST', `${workspacePath(address)}/access/test`, { body: { claims, requests, ...tried } })
    .catch((error) => refuseWithLines(error, rules, ['rules']));
  const answers = data as readonly CheckAnswer[];
  for (const [index, { path, body, judge }] of checks.entries()) {
    const { status, body: answered } = answers[index] as CheckAnswer;
    const wrong = judge({ status, body: answered });
    if (wrong === undefined) continue;
    const request = `${body === undefined ? 'GET' : 'POST'} ${entityPath(address, '')}${path}`;
    const facts = { case: name, entity, request, ...(body === undefined ? {} : { body }), claims };
    throw new CommandFailure({ kind: 'failed', message: `${name}: ${entity}: ${wrong}`, details: facts }, [
      `Request: ${request}${body === undefined ? '' : ` ${JSON.stringify(body)}`}`,
      `Claims:  ${JSON.stringify(claims)}`,
    ]);
  }
}

/** What the owner knows: that the records exist, the others of the entity, and which records are linked with them. */
async function expectationsOf(target: Target, { name, visible, hidden, only }: AccessCase): Promise<Expectation[]> {
  const found: Expectation[] = [];
  for (const entity of new Set([...visible.keys(), ...hidden.keys(), ...only.keys()])) {
    const exact = only.get(entity);
    const shown = exact ?? visible.get(entity) ?? [];
    const others = exact === undefined ? (hidden.get(entity) ?? []) : await othersOf(target, entity, exact);
    const all = [...shown, ...others];
    const there = await idsWhere(target, entity, 'id', all);
    const missing = all.find((id) => !there.includes(id));
    if (missing !== undefined)
      throw failed(`${name}: record ${missing} of ${entity} does not exist, so a test of it shows nothing`);
    const ways: Way[] = [];
    for (const { from, relation, to, isToOne } of target.relations) {
      if (to === entity)
        ways.push({ from, relation, isToOne, linked: await idsWhere(target, from, `${relation}.id`, all) });
    }
    found.push({ entity, visible: [...shown].sort(byNumber), hidden: others, ways, isAll: exact !== undefined });
  }
  return found;
}

/** Some records beside these, the first by id. */
async function othersOf(target: Target, entity: string, ids: readonly string[]): Promise<string[]> {
  const filter = ids.length === 0 ? [] : [['filter', `id,nin,${ids.slice(0, PAGE).join()}`] as const];
  const others = await readIds(target, entity, [...filter, ['size', OTHERS]]);
  return others.filter((id) => !ids.includes(id));
}

/** Ids of the records whose path has one of the values, one page for each chunk of values. */
async function idsWhere(target: Target, entity: string, path: string, values: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  for (let at = 0; at < values.length; at += PAGE) {
    const filter = `${path},in,${values.slice(at, at + PAGE).join()}`;
    for (const id of await readIds(target, entity, [
      ['filter', filter],
      ['size', PAGE],
    ]))
      found.add(id);
  }
  return [...found];
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

interface SchemaShape {
  readonly entities: Readonly<
    Record<
      string,
      { readonly relations?: Readonly<Record<string, { readonly kind: string; readonly entity: string }>> }
    >
  >;
}

function relationsOf(schema: unknown): RelationTo[] {
  return Object.entries((schema as SchemaShape).entities).flatMap(([from, { relations = {} }]) =>
    Object.entries(relations).map(([relation, { kind, entity }]) => ({
      from,
      relation,
      to: entity,
      isToOne: kind === 'belongsTo' || kind === 'hasOne',
    })),
  );
}

const byNumber = (a: string, b: string): number => Number(a) - Number(b);
