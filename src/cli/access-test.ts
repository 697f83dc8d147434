// Runs a file of access tests: the server answers each request like a user with the claims of the case, and the first record,
// field or write that is against the file ends the run.
import type { AccessTested, SchemaDocument } from '../../admin-types/admin-api.d.ts';
import { numberText } from '../model/exact-json.ts';
import {
  buildChecks,
  buildFieldChecks,
  buildWriteCheck,
  type Check,
  type Expectation,
  type InboundRelation,
  type OwnerRefusal,
} from './access-checks.ts';
import { type AccessCase, readAccessFile } from './access-file.ts';
import type { AdminClient } from './admin-client.ts';
import {
  connect,
  entityPath,
  type GlobalOptions,
  requireWorkspace,
  type WorkspaceAddress,
  workspacePath,
} from './command.ts';
import { CommandFailure, runtimeFailure } from './failure.ts';
import { type Io, printResult } from './io.ts';
import {
  isObject,
  makeMistake,
  readSchemaFile,
  rethrowWithLines,
  type SchemaFile,
  throwMistakes,
} from './schema-file.ts';

/** Limit of requests that the server takes in one call. */
const BATCH = 100;
/** Limit of other records of an entity with `only` that are requested one by one. */
const MAX_OTHER_IDS = 100;
const PAGE = 200;
const RULES = 'row rules: an object with a list for each entity';
const TRIAL_MEMBERS = ['rules', 'grants', 'roles'];

interface Target {
  readonly client: AdminClient;
  readonly address: WorkspaceAddress;
  readonly schema: SchemaDocument;
  readonly relations: readonly RelationTo[];
  /** Row rules and grants to test in place of those in force. */
  readonly trial: Trial | undefined;
}

interface Trial {
  readonly file: SchemaFile;
  /** Members of the body of a request. */
  readonly body: object;
  /** Path of the file in the body. */
  readonly prefix: readonly string[];
}

interface RelationTo {
  readonly from: string;
  readonly relation: string;
  readonly to: string;
  readonly isToOne: boolean;
}

/** Runs the cases; throws a failure that names the case, the record and the request of the first leak. */
export async function testAccess(path: string, options: GlobalOptions & { readonly rules?: string }): Promise<void> {
  const address = requireWorkspace(options);
  const client = connect(options);
  const cases = await readAccessFile(options.io, path);
  const trial = options.rules === undefined ? undefined : await readTrial(options.io, options.rules);
  const { data: schema } = await client.send<SchemaDocument>('GET', `${workspacePath(address)}/schema`);
  const target: Target = { client, address, schema, relations: listRelations(schema), trial };
  let requests = 0;
  for (const one of cases) requests += await runCase(target, one);
  const result = { cases: cases.length, requests };
  await printResult(
    options,
    result,
    () => `${result.cases} cases, ${result.requests} requests: no leak, and nothing missing`,
  );
}

/** Reads row rules by entity, or an object with rules, grants and roles, which are no lists of rules. */
async function readTrial(io: Io, path: string): Promise<Trial> {
  const file = await readSchemaFile(io, path, RULES);
  const document = file.document as Readonly<Record<string, unknown>>;
  const isWhole = isObject(document.rules) || isObject(document.grants);
  if (!isWhole) return { file, body: { rules: document }, prefix: ['rules'] };
  const mistakes = Object.keys(document)
    .filter((name) => !TRIAL_MEMBERS.includes(name))
    .map((name) => makeMistake(file, name, `${name} means nothing here; known: ${TRIAL_MEMBERS.join(', ')}`));
  throwMistakes(file, mistakes);
  return { file, body: document, prefix: [] };
}

/** Runs a case; returns the number of its requests. */
async function runCase(target: Target, one: AccessCase): Promise<number> {
  const { schema } = target;
  const parts: (readonly [string, readonly Check[]])[] = [
    ...[...one.fields].map(
      ([entity, names]) => [entity, buildFieldChecks(entity, names, listFields(one, entity, schema))] as const,
    ),
    ...(await loadExpectations(target, one)).map((expected) => [expected.entity, buildChecks(expected)] as const),
  ];
  for (const write of one.writes) {
    listFields(one, write.entity, schema);
    if (write.id !== undefined) await requireRecords(target, one, write.entity, [write.id]);
    parts.push([write.entity, [buildWriteCheck(write)]]);
  }
  let requests = 0;
  for (const [entity, checks] of parts) {
    for (let at = 0; at < checks.length; at += BATCH) await runBatch(target, one, entity, checks.slice(at, at + BATCH));
    requests += checks.length;
  }
  return requests;
}

/** Returns the names of all fields of an entity. Throws for an entity that does not exist. */
function listFields({ name }: AccessCase, entity: string, { entities }: SchemaDocument): readonly string[] {
  if (!Object.hasOwn(entities, entity)) throw runtimeFailure(`${name}: there is no entity ${entity}`);
  const { fields = {}, relations = {}, timestamps = false } = entities[entity] as SchemaDocument['entities'][string];
  const keys = Object.entries(relations).flatMap(([relation, { kind, column }]) =>
    kind === 'belongsTo' ? [column ?? `${relation}Id`] : [],
  );
  return ['id', ...Object.keys(fields), ...keys, ...(timestamps ? ['createdAt', 'updatedAt'] : [])];
}

async function runBatch(target: Target, { name, claims }: AccessCase, entity: string, checks: readonly Check[]) {
  const { client, address, trial } = target;
  const requests = checks.map(({ path, method, body }) => ({ path, method, body }));
  const { data } = await client
    .send<readonly AccessTested[]>('POST', `${workspacePath(address)}/access/test`, {
      body: { claims, requests, ...trial?.body },
    })
    .catch((error) => rethrowWithLines(error, trial?.file, trial?.prefix));
  for (const [index, check] of checks.entries()) {
    const { path, method, body, judge, judgeForAll } = check;
    const { status, body: responseBody } = data[index] as AccessTested;
    const response = { status, body: responseBody };
    const mistake = judge(response) ?? (await judgeForAll?.(response, (operation) => tryAsOwner(target, operation)));
    if (mistake === undefined) continue;
    const request = `${method ?? (body === undefined ? 'GET' : 'POST')} ${entityPath(address, '')}${path}`;
    const facts = { case: name, entity, request, ...(body === undefined ? {} : { body }), claims };
    throw new CommandFailure({ kind: 'failed', message: `${name}: ${entity}: ${mistake}`, details: facts }, [
      `Request: ${request}${body === undefined ? '' : ` ${JSON.stringify(body)}`}`,
      `Claims:  ${JSON.stringify(claims)}`,
    ]);
  }
}

/** Loads, as owner, the records of a case, other records of their entities and records that are linked with them. */
async function loadExpectations(target: Target, one: AccessCase): Promise<Expectation[]> {
  const { visible, hidden, only } = one;
  const expectations: Expectation[] = [];
  for (const entity of new Set([...visible.keys(), ...hidden.keys(), ...only.keys()])) {
    const exact = only.get(entity);
    const visibleIds = exact ?? visible.get(entity) ?? [];
    const otherIds = exact === undefined ? (hidden.get(entity) ?? []) : await loadOtherIds(target, entity, exact);
    const all = [...visibleIds, ...otherIds];
    await requireRecords(target, one, entity, all);
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

/** Throws if one of the records does not exist. */
async function requireRecords(
  target: Target,
  { name }: AccessCase,
  entity: string,
  ids: readonly string[],
): Promise<void> {
  const existingIds = await findIds(target, entity, 'id', ids);
  const missing = ids.find((id) => !existingIds.includes(id));
  if (missing !== undefined)
    throw runtimeFailure(`${name}: record ${missing} of ${entity} does not exist, so a test of it shows nothing`);
}

/** Tries a write as the owner, without making it; returns its refusal, or undefined. */
async function tryAsOwner({ client, address }: Target, operation: object): Promise<OwnerRefusal | undefined> {
  try {
    const query = [['dryRun', 'true']] as const;
    await client.send('POST', entityPath(address, '_batch'), { query, body: { operations: [operation] } });
    return undefined;
  } catch (error) {
    if (!(error instanceof CommandFailure && error.failure.kind === 'refused')) throw error;
    const { message, details = [] } = error.failure.error;
    return { message, details };
  }
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
