// Finds mistakes in the links of the records of a request, and makes and removes links by the ordinary writes of the entity
// between the two. So permissions, row rules, grants, defaults and stored changes of that entity hold as in requests for it.
import { ApiError, type Detail, validationFailed } from '../errors.ts';
import { parseExact } from '../model/exact-json.ts';
import type { ManyToMany } from '../model/relation.ts';
import { getEntity } from '../model/workspace.ts';
import { IDS, planFind, planLock } from '../plan/bulk.ts';
import { type BodyParts, getKeys, type LinkChange, planLinks } from '../plan/links.ts';
import { admit } from '../plan/plan.ts';
import { makeCall } from '../request/call.ts';
import { compile } from '../sql/compile.ts';
import { bulkCreate, removeAll, type WriteManyDeps } from './bulk.ts';
import { sortDetails } from './bulk-errors.ts';
import type { EntityContext } from './context.ts';
import { tooManyLinks } from './errors.ts';
import { runLock } from './operators.ts';
import { runRead } from './reads.ts';

/** Most links that one request makes or compares. */
export const MAX_LINKS = 100_000;

/** Links of a record of a request. */
export interface RecordLinks extends Pick<BodyParts, 'links' | 'details'> {
  /** Index of the record in the request. */
  readonly index: number;
}

/** Returns the mistakes in the links, among them ids of no record that the principal sees. */
export async function findLinkMistakes(
  deps: WriteManyDeps,
  context: EntityContext,
  items: readonly RecordLinks[],
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
