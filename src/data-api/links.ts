// Executes writes with many-to-many relations in the body: in one transaction the ordinary write of the records, then the
// ordinary writes of the entity between the two. So permissions, row rules, grants, defaults and stored changes of that
// entity hold as in requests for it.
import type { Executor } from '../database/pool.ts';
import { ApiError, type Detail, validationFailed } from '../errors.ts';
import { runInSlices } from '../http/body.ts';
import { parseExact } from '../model/exact-json.ts';
import type { ManyToMany } from '../model/relation.ts';
import { getEntity } from '../model/workspace.ts';
import { IDS, planFind, planLock } from '../plan/bulk.ts';
import { type BodyParts, countIds, getKeys, hasLinks, type LinkChange, planLinks, splitLinks } from '../plan/links.ts';
import { admit } from '../plan/plan.ts';
import { makeCall } from '../request/call.ts';
import { isRecord } from '../request/members.ts';
import { parseQueryString } from '../request/query-string.ts';
import type { Reply } from '../response/reply.ts';
import { compile } from '../sql/compile.ts';
import { bulkCreate, removeAll, type WriteManyDeps } from './bulk.ts';
import { sortDetails } from './bulk-errors.ts';
import type { EntityContext } from './context.ts';
import { linksNotSkipped, tooManyLinks } from './errors.ts';
import { inTransaction } from './exchange.ts';
import { runLock } from './operators.ts';
import { runRead } from './reads.ts';
import { parseResponse } from './transaction.ts';
import { retryWrite } from './write-retry.ts';

/** Most links that one request makes or compares. */
const MAX_LINKS = 100_000;

/** Links of a record of a request. */
interface Item extends Pick<BodyParts, 'links' | 'details'> {
  /** Index of the record in the request. */
  readonly index: number;
}

/** Signals that the body has links, so that the write needs a transaction. */
export class WriteWithLinks extends Error {
  readonly body: unknown;
  readonly items: readonly Item[];

  constructor(body: unknown, items: readonly Item[]) {
    super('the body of the write has links');
    this.name = 'WriteWithLinks';
    this.body = body;
    this.items = items;
  }
}

/**
 * Runs a write of one record or many. When the body has links, `write` runs again in a transaction, with a body without
 * them. Throws WriteWithLinks when the call has a key that only a single statement stores.
 */
export async function writeLinked<C extends EntityContext>(
  deps: WriteManyDeps,
  context: C,
  write: (context: C) => Promise<Reply>,
): Promise<Reply> {
  const { call, entity, key } = context;
  if (!hasLinks(entity)) return write(context);
  const readBody: typeof call.body = async (form) => {
    const body = await call.body(form);
    const split = await splitBody(body, context);
    if (split !== undefined) throw split;
    return body;
  };
  try {
    return await write({ ...context, call: { ...call, body: readBody } });
  } catch (error) {
    if (!(error instanceof WriteWithLinks) || key !== undefined) throw error;
    return writeBoth(deps, context, error, write);
  }
}

async function splitBody(body: unknown, context: EntityContext): Promise<WriteWithLinks | undefined> {
  const { call, entity, request, signal } = context;
  if (!isOfMany(context)) {
    const parts = isRecord(body) ? splitLinks(body, entity, context, call.operation === 'update') : undefined;
    return parts && new WriteWithLinks(parts.members, [{ ...parts, index: 0 }]);
  }
  if (!isRecord(body) || !Array.isArray(body.data)) return undefined;
  const total = body.data.reduce((sum: number, one) => sum + (isRecord(one) ? countIds(one, entity) : 0), 0);
  if (total > MAX_LINKS) throw tooManyLinks(total, MAX_LINKS);
  const { data, items } = await runInSlices(splitRecords(body.data, context), request.slices, signal);
  if (items.length === 0) return undefined;
  if (getParameter(call.query, 'conflict') === 'skip') throw linksNotSkipped();
  return new WriteWithLinks({ ...body, data }, items);
}

/** Splits the records one by one, in slices. */
function* splitRecords(
  records: readonly unknown[],
  context: EntityContext,
): Generator<undefined, { readonly data: readonly unknown[]; readonly items: readonly Item[] }> {
  const items: Item[] = [];
  const data: unknown[] = [];
  const isUpdate = context.call.operation === 'bulkUpdate';
  for (const [index, record] of records.entries()) {
    yield undefined;
    const parts = isRecord(record) ? splitLinks(record, context.entity, context, isUpdate) : undefined;
    if (parts !== undefined) items.push({ ...parts, index });
    data.push(parts?.members ?? record);
  }
  return { data, items };
}

const isOfMany = ({ call }: EntityContext): boolean =>
  call.operation === 'bulkCreate' || call.operation === 'bulkUpdate';

const getParameter = (query: string, parameter: string): string | undefined =>
  parseQueryString(query).find(({ name }) => name === parameter)?.value;

async function writeBoth<C extends EntityContext>(
  deps: WriteManyDeps,
  context: C,
  { body, items }: WriteWithLinks,
  write: (context: C) => Promise<Reply>,
): Promise<Reply> {
  const { call } = context;
  const isMany = isOfMany(context);
  const locate = (index: number, detail: Detail): Detail => (isMany ? { index, ...detail } : detail);
  const run = async (executor: Executor): Promise<Reply> => {
    const inside: C = { ...context, executor, call: { ...call, body: async () => body } };
    const mistakes = await findLinkMistakes(deps, inside, items, locate);
    const reply = await write(inside).catch((error) => {
      throw addMistakes(error, mistakes);
    });
    if (mistakes.length > 0) throw validationFailed(mistakes);
    // An upsert that leaves an existing record as it is leaves its links, too.
    if (reply.status === 200 && getParameter(call.query, 'conflict') === 'skip') return reply;
    const ids = await readIds(reply, inside);
    const changed = items.map(({ index, links }) => ({
      id: ids[index] as string,
      links,
      name: (one: Detail) => locate(index, one),
    }));
    await changeLinks(deps, inside, changed, reply.status === 201 ? 'new' : 'free');
    return reply;
  };
  const isDryRun = getParameter(call.query, 'dryRun') === 'true';
  const attempt = () => retryWrite(context, () => inTransaction(deps, context, isDryRun, run));
  try {
    return await attempt();
  } catch (error) {
    // Another request may have linked the same records meanwhile, from the other side; the next attempt sees it.
    const isRace = error instanceof ApiError && error.reason === 'NOT_UNIQUE' && !context.executor.isTransaction;
    if (!isRace) throw error;
    return attempt();
  }
}

async function readIds({ body }: Reply, context: EntityContext): Promise<readonly string[]> {
  if (body.kind !== 'text') throw new TypeError('a write answers with text');
  const { data } = (await parseResponse(body.text, context)) as { readonly data: unknown };
  return [data].flat().map((record) => String((record as { readonly id: unknown }).id));
}

/** Returns the mistakes in the links, among them ids of no record that the principal sees. */
export async function findLinkMistakes(
  deps: WriteManyDeps,
  context: EntityContext,
  items: readonly Item[],
  locate: (index: number, detail: Detail) => Detail,
): Promise<readonly Detail[]> {
  const mistakes = items.flatMap(({ index, details }) => details.map((detail) => locate(index, detail)));
  const all = items.flatMap(({ index, links }) => links.map((link) => ({ index, link })));
  for (const { name } of new Set(all.map(({ link }) => link.relation))) {
    const some = all.filter(({ link }) => link.relation.name === name);
    const missing = await findMissing(
      deps,
      context,
      some.map(({ link }) => link),
    );
    for (const { index, link } of some) {
      const absent = link.add.filter((id) => missing.has(id));
      if (absent.length > 0) mistakes.push(locate(index, makeMissingDetail(name, absent)));
    }
  }
  return sortDetails(mistakes);
}

const LISTED_IDS = 10;

function makeMissingDetail(field: string, ids: readonly string[]): Detail {
  const more = ids.length > LISTED_IDS ? ` and ${ids.length - LISTED_IDS} more` : '';
  const message = `refers to a record that does not exist: ${ids.slice(0, LISTED_IDS).join(', ')}${more}`;
  return { field, code: 'REFERENCE_NOT_FOUND', message };
}

/** Returns the ids to add that lead to no record which the principal sees. `links`: of one relation. */
async function findMissing(
  { compileOptions }: WriteManyDeps,
  context: EntityContext,
  links: readonly LinkChange[],
): Promise<ReadonlySet<string>> {
  const ids = new Set(links.flatMap(({ add }) => add));
  const [link] = links;
  if (link === undefined || ids.size === 0) return ids;
  // The entity between the two, its permission and its gate come first, as in a request for it.
  admit(context.workspace, context.principal, link.relation.through, 'write');
  const target = getEntity(context.workspace, link.relation.entity);
  const statement = compile(planFind(target, context), compileOptions);
  const inputs = { principal: context.principal, lists: new Map([[IDS, [...ids]]]) };
  for (const { id } of await runRead({ ...context, entity: target }, statement, inputs, 'write')) ids.delete(id);
  return ids;
}

/** Returns the error of the write with the mistakes in its links. Errors of rights and of the database stay alone. */
function addMistakes(error: unknown, mistakes: readonly Detail[]): unknown {
  if (mistakes.length === 0 || !(error instanceof ApiError)) return error;
  if (error.reason === 'VALIDATION_FAILED')
    return validationFailed(sortDetails([...(error.details ?? []), ...mistakes]));
  return [404, 409, 412].includes(error.status) ? validationFailed(mistakes) : error;
}

/** A record and the changes of its links. `name`: adds to a mistake which record of the request has it. */
export interface LinkedRecord {
  readonly id: string;
  readonly links: readonly LinkChange[];
  readonly name: (detail: Detail) => Detail;
}

/** Whether others can reach the records: not yet, not any more, or still. */
export type RecordState = 'new' | 'locked' | 'free';

/**
 * Makes and removes links in the transaction of the context, and returns the ids of the records whose links have changed.
 * Locks the records that are free, so that no two requests make the same link.
 */
export async function changeLinks(
  deps: WriteManyDeps,
  context: EntityContext,
  records: readonly LinkedRecord[],
  state: RecordState,
): Promise<ReadonlySet<string>> {
  const changed = new Set<string>();
  if (state === 'free')
    await runLock(
      deps,
      context,
      planLock([], context.entity, context),
      records.map(({ id }) => id),
    );
  const relations = new Map(records.flatMap(({ links }) => links.map(({ relation }) => [relation.name, relation])));
  for (const relation of relations.values()) {
    const changes = records.flatMap((record) =>
      record.links.filter((link) => link.relation === relation).map((link) => ({ record, link })),
    );
    // Whichever of them are stored, these or the others would be too many: none is looked at.
    const total = changes.reduce((sum, { link }) => sum + link.add.length, 0);
    if (total > 2 * MAX_LINKS) throw tooManyLinks(total, MAX_LINKS);
    if (state !== 'new') await lockTargets(deps, context, relation, changes);
    for (const id of await changeRelation(deps, context, relation, changes)) changed.add(id);
  }
  return changed;
}

/**
 * Locks the records that the links to make lead to, from one of the two sides: so all writes of links lock the records of the
 * other side, and a pair is linked once from whichever side.
 */
async function lockTargets(
  deps: WriteManyDeps,
  context: EntityContext,
  relation: ManyToMany,
  changes: readonly RecordChange[],
): Promise<void> {
  const { fromField, toField } = getKeys(relation, context);
  const ids = [...new Set(changes.flatMap(({ link }) => link.add))];
  if (fromField.column < toField.column || ids.length === 0) return;
  const entity = getEntity(context.workspace, relation.entity);
  await runLock(deps, { ...context, entity }, planLock([], entity, context), ids);
}

/** A link to make or to remove. `id`: of the other record, or of the record between the two. */
interface Link {
  readonly record: LinkedRecord;
  readonly id: string;
}

interface RecordChange {
  readonly record: LinkedRecord;
  readonly link: LinkChange;
}

/** Changes the links of one relation; returns the ids of the records whose links have changed. */
async function changeRelation(
  deps: WriteManyDeps,
  context: EntityContext,
  relation: ManyToMany,
  changes: readonly RecordChange[],
): Promise<readonly string[]> {
  const entity = admit(context.workspace, context.principal, relation.through, 'write');
  const inside: EntityContext = { ...context, entity, key: undefined };
  const stored = await findLinks(deps, inside, relation, changes);
  const added: Link[] = [];
  const removed: Link[] = [];
  const changed: string[] = [];
  for (const { record, link } of changes) {
    const linked: Linked = stored.get(record.id) ?? new Map();
    const expected = new Set(link.add);
    const missing = link.add.filter((id) => !linked.has(id));
    const surplus = (link.remove ?? [...linked.keys()].filter((id) => !expected.has(id))).flatMap(
      (id) => linked.get(id) ?? [],
    );
    added.push(...missing.map((id) => ({ record, id })));
    removed.push(...surplus.map((id) => ({ record, id })));
    if (missing.length > 0 || surplus.length > 0) changed.push(record.id);
  }
  if (added.length > MAX_LINKS) throw tooManyLinks(added.length, MAX_LINKS);
  const { maxBulk } = deps.config;
  for (let from = 0; from < removed.length; from += maxBulk) {
    const links = removed.slice(from, from + maxBulk);
    const targets = links.map(({ id }) => ({ id, name: id, version: undefined }));
    await nameRecords(relation, links, context, () => removeAll(deps, inside, targets));
  }
  for (let from = 0; from < added.length; from += maxBulk) {
    const links = added.slice(from, from + maxBulk);
    await nameRecords(relation, links, context, () => createLinks(deps, inside, relation, links));
  }
  return changed;
}

/** Ids of the links of a record by the id of the other record. */
type Linked = Map<string, string[]>;

/** Finds the links of records that a change is about, and locks them. */
async function findLinks(
  deps: WriteManyDeps,
  context: EntityContext,
  relation: ManyToMany,
  changes: readonly RecordChange[],
): Promise<ReadonlyMap<string, Linked>> {
  const ids = changes.map(({ record }) => record.id);
  const isAll = changes.some(({ link }) => link.remove === null);
  const targets = isAll ? null : [...new Set(changes.flatMap(({ link }) => [...link.add, ...(link.remove ?? [])]))];
  const stored = new Map<string, Linked>();
  if (targets?.length === 0) return stored;
  const { match, lock } = planLinks(relation, ids, targets, MAX_LINKS, context);
  const { fromField, toField } = getKeys(relation, context);
  const matched = await runRead(
    context,
    compile(match, deps.compileOptions),
    { principal: context.principal },
    'write',
  );
  const total = matched[0]?.total ?? null;
  if (total !== null) throw tooManyLinks(total, MAX_LINKS);
  if (matched.length === 0) return stored;
  for (const { id, data } of await runLock(
    deps,
    context,
    lock,
    matched.map((row) => row.id),
  )) {
    const link = parseExact(data) as Readonly<Record<string, unknown>>;
    const linked = getOrAdd(stored, String(link[fromField.name]), (): Linked => new Map());
    getOrAdd(linked, String(link[toField.name]), (): string[] => []).push(id);
  }
  return stored;
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const present = map.get(key);
  if (present !== undefined) return present;
  const value = make();
  map.set(key, value);
  return value;
}

async function createLinks(
  deps: WriteManyDeps,
  context: EntityContext,
  relation: ManyToMany,
  links: readonly Link[],
): Promise<void> {
  const { fromField, toField } = getKeys(relation, context);
  const data = links.map(({ record, id }) => ({ [fromField.name]: Number(record.id), [toField.name]: Number(id) }));
  const call = makeCall('POST', relation.through, '_bulk', {
    query: 'return=minimal',
    conditions: {},
    body: async () => ({ data }),
  });
  await bulkCreate(deps, { ...context, call });
}

/** Runs a write of links; its refusals name the records of the request, and the relation as the field. */
async function nameRecords<T>(
  relation: ManyToMany,
  links: readonly Link[],
  context: EntityContext,
  write: () => Promise<T>,
): Promise<T> {
  const { fromField, toField } = getKeys(relation, context);
  const nameDetail = ({ index, field, ...detail }: Detail): Detail => {
    const isKey = field === null || field === fromField.name || field === toField.name;
    const message = isKey ? detail.message : `${field} of ${relation.through} ${detail.message}`;
    return (links[index ?? 0] as Link).record.name({ ...detail, field: relation.name, message });
  };
  try {
    return await write();
  } catch (error) {
    if (!(error instanceof ApiError) || error.details === undefined) throw error;
    const details = sortDetails(error.details.map(nameDetail));
    throw error.reason === 'VALIDATION_FAILED' ? validationFailed(details) : error.withDetails(details);
  }
}
