// Random documents with grants, records, users and requests, whose answers and effects are compared with the model of
// grants-model.ts.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fc, { type GeneratorValue } from 'fast-check';
import { drawGrantedEntities, drawGrants, drawUser, makeCredential, withGrants } from './grants-arbitrary.ts';
import { type GrantDocument, GrantsModel } from './grants-model.ts';
import { drawTellingWrite } from './grants-telling.ts';
import type { Issuer } from './issuer.ts';
import { compareReads, type Ask as Read } from './read-comparison.ts';
import { type Drawn, drawRecords } from './row-rules-arbitrary.ts';
import type { Model, ModelEntity } from './row-rules-read-model.ts';
import { drawWish, type Wish } from './row-rules-requests.ts';
import type { Write } from './row-rules-write-model.ts';
import { drawWrites, type WriteWish } from './row-rules-writes.ts';
import { type Answer, type Call, send, type TestServer, type TestWorkspace } from './server.ts';
import { compareWrite, type Ask as Send } from './write-comparison.ts';

const DOCUMENTS = 3;
const USERS = 4;
const READS = 2;
const WRITES = 20;

/** How often a kind of request was answered with a status. */
export type Tally = Map<string, number>;

/** Sends about as many requests as `limit` says to one workspace that the seed draws; returns how many it sent. */
export async function fuzzGrants(
  server: TestServer,
  issuer: Issuer,
  { seed, limit, tally }: { readonly seed: number; readonly limit: number; readonly tally: Tally },
): Promise<number> {
  let sent = 0;
  const count = (answer: Answer, kind: string): Answer => {
    sent++;
    const name = `${kind} ${answer.status}`;
    tally.set(name, (tally.get(name) ?? 0) + 1);
    return answer;
  };
  const property = fc.asyncProperty(fc.gen(), async (g) => {
    const schema = drawGrantedEntities(g);
    const empty = Object.fromEntries([...schema.keys()].map((name) => [name, null]));
    const workspace = await server.workspace(`fuzz/g${seed}`, withGrants(schema, empty));
    let records = drawRecords(g, schema);
    await store(workspace, records);
    for (let document = 0; document < DOCUMENTS && sent < limit; document++) {
      const grants = drawGrants(g, schema, { isTelling: true });
      const accepted = await workspace.admin('schema', put(withGrants(schema, grants)));
      assert.equal(accepted.status, 200, `${accepted.text} ${JSON.stringify(grants)}`);
      for (let index = 0; index < USERS && sent < limit; index++) {
        const user = drawUser(g);
        const model = new GrantsModel(schema, grants, user);
        const credential = await makeCredential(workspace, issuer, user);
        // To compare an answer with the document costs more than the request; reads are described where a grant allows them.
        const isDescribed = (path: string, { method = 'GET' }: Call): boolean =>
          sent % 10 === 0 &&
          (method === 'GET' || path.includes('/_query')) &&
          model.getGrants(/^\w+/.exec(path)?.[0] ?? '', 'read').length > 0;
        const ask = (path: string, call: Call): Promise<Answer> =>
          isDescribed(path, call)
            ? workspace.call(path, { credential, ...call })
            : send(`${server.url}/api/v1/${workspace.path}/${path}`, { credential, ...call });
        try {
          records = await fuzzUser(g, { schema, model, records, ask, count, workspace });
        } catch (error) {
          const documents = [...schema].map(([name, { document, rules }]) => [name, { ...document, rules }]);
          const stored = Object.entries(records).map(([name, one]) => [name, one.records]);
          const parts = [{ user }, { grants }, Object.fromEntries(documents), Object.fromEntries(stored)];
          const lines = [`npm run access:fuzz -- --seed ${seed}`, ...parts.map((part) => JSON.stringify(part)), error];
          throw new Error(lines.join('\n'), { cause: error });
        }
      }
    }
  });
  const { errorInstance } = await fc.check(property, { numRuns: 1, seed, endOnFailure: true });
  if (errorInstance !== null) throw errorInstance;
  return sent;
}

const put = (body: object): Call => ({ method: 'PUT', body });

/** Stores the records as an owner; references once every record is there. */
export async function store(workspace: TestWorkspace, model: Model): Promise<void> {
  for (const [name, { records, relations }] of Object.entries(model)) {
    const columns = Object.values(relations).flatMap(({ by }) => ('own' in by ? [by.own] : []));
    const first = records.map(({ id, ...body }) =>
      name === 'link' ? body : { ...body, ...Object.fromEntries(columns.map((column) => [column, null])) },
    );
    const created = await workspace.call(`${name}/_bulk`, { method: 'POST', body: { data: first } });
    assert.equal(created.status, 201, created.text);
  }
  for (const [name, { records }] of Object.entries(model)) {
    const changed = await workspace.call(`${name}/_bulk`, { method: 'PATCH', body: { data: records } });
    assert.equal(changed.status, 200, changed.text);
    assert.deepEqual(changed.json.data, records);
  }
}

interface Setting {
  readonly schema: ReadonlyMap<string, Drawn>;
  readonly model: GrantsModel;
  readonly records: Model;
  readonly workspace: TestWorkspace;
  readonly ask: (path: string, call: Call) => Promise<Answer>;
  readonly count: (answer: Answer, kind: string) => Answer;
}

async function fuzzUser(g: GeneratorValue, setting: Setting): Promise<Model> {
  const { model, workspace, ask, count } = setting;
  let { records } = setting;
  const read: Read = async (path, body) =>
    count(await ask(path, body === undefined ? {} : { method: 'POST', body }), 'read');
  await compareAbsent(g, model, records, read);
  for (let index = 0; index < READS; index++) {
    const view = model.view(records);
    if (Object.keys(view).length === 0) break;
    const wish = drawReadable(g, view);
    try {
      await compareReads(view, {}, read, wish);
      await compareRecords(view, records, wish.entity, { ask, count });
    } catch (error) {
      throw new Error(`${JSON.stringify(wish)}\n${error}`, { cause: error });
    }
  }
  const chance = (share: number): boolean => g(() => fc.noBias(fc.integer({ min: 1, max: 100 }))) <= share;
  for (let index = 0; index < WRITES; index++) {
    const view = model.view(records);
    const telling = chance(40) ? drawTellingWrite(g, { ...setting, records, view }) : undefined;
    const wish = telling ?? drawGranted(g, setting, records, view);
    const [first] = wish.writes;
    if (wish.form === 'bulk' && chance(40) && (first?.kind === 'create' || first?.kind === 'upsert')) {
      // Whether a row that is skipped lacks what a new one needs is not looked at.
      const rows = first.kind === 'upsert' && first.entity === 'link' ? { ...first, skips: false } : first;
      records = await compareImport(setting, records, rows);
      continue;
    }
    const key = !wish.isDry && chance(15) ? randomUUID() : undefined;
    const write: Send = async (path, method, body) => {
      const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
      const call = { method, headers, ...(body === undefined ? {} : { body }) };
      const answer = count(await ask(path, call), wish.form);
      if (key === undefined) return answer;
      const replay = count(await ask(path, call), 'replay');
      assert.equal(replay.status, answer.status, `replay of ${JSON.stringify(wish)} ${replay.text}`);
      // Records that one operation of a batch has read, and a later one has changed, are replayed as they are now.
      if (wish.form !== 'batch') assert.deepEqual(replay.json, answer.json, `replay of ${JSON.stringify(wish)}`);
      return answer;
    };
    const run = model.run.bind(model);
    records = await compareWrite({ ask: write, workspace, run }, records, wish);
  }
  return records;
}

/** Imports the rows, which have the same members, and compares what is stored with the model. */
async function compareImport(
  { model, ask, count, workspace }: Setting,
  before: Model,
  write: Extract<Write, { kind: 'create' | 'upsert' }>,
): Promise<Model> {
  const { entity } = write;
  const names = Object.keys(write.bodies[0] ?? {});
  // A file may name a record twice if it is skipped.
  const bodies = write.bodies.filter(
    ({ code = null }, index) => code === null || write.bodies.findIndex((one) => one.code === code) === index,
  );
  const rows = bodies.map((body) => Object.fromEntries(names.map((name) => [name, body[name] ?? null])));
  const next = Math.max(0, ...Object.values(before).flatMap(({ records }) => records.map(({ id }) => id))) + 1_000_000;
  const ids = rows.map((_, index) => next + index);
  const expected = model.importRows(before, { ...write, bodies: rows }, ids);
  const query = write.kind === 'upsert' ? `?onConflict=${write.skips ? 'skip' : 'update'}&conflictOn=code` : '';
  const body = rows.map((row) => JSON.stringify(row)).join('\n');
  const headers = { 'content-type': 'application/x-ndjson' };
  const answer = count(await ask(`${entity}/_import${query}`, { method: 'POST', headers, body }), 'import');
  const note = JSON.stringify({ write: { ...write, bodies: rows }, answer: [answer.status, answer.text] });
  const stored = await loadRecords(workspace, before);
  // Nothing is imported where nothing can be created.
  if (expected.isRefused || (answer.status === 403 && !model.mayCreate(entity))) {
    assert.ok([400, 403, 404, 409].includes(answer.status), note);
    assert.deepEqual(stored, before, note);
    return before;
  }
  assert.equal(answer.status, 200, note);
  assert.deepEqual(answer.json.data, expected.data, note);
  const fresh = (state: Model): readonly number[] =>
    (state[entity] as ModelEntity).records
      .map(({ id }) => id)
      .filter((id) => !(before[entity] as ModelEntity).records.some((one) => one.id === id))
      .sort((a, b) => a - b);
  const real = new Map(fresh(expected.model).map((id, index) => [id, fresh(stored)[index]]));
  const after = Object.fromEntries(
    Object.entries(expected.model).map(([name, one]) => [
      name,
      {
        ...one,
        records: one.records
          .map((record) => ({ ...record, id: real.get(record.id) ?? record.id }))
          .sort((a, b) => a.id - b.id),
      },
    ]),
  ) as Model;
  assert.deepEqual(stored, after, note);
  return stored;
}

/** Reads all records as an owner. */
async function loadRecords(workspace: TestWorkspace, model: Model): Promise<Model> {
  const operations = Object.keys(model).map((entity) => ({ method: 'GET', entity, query: 'size=1000' }));
  const lists = await workspace.call('_batch', { method: 'POST', body: { operations } });
  return Object.fromEntries(
    Object.entries(model).map(([name, one], index) => [name, { ...one, records: lists.json.data[index].data }]),
  );
}

/** A wish about what there is for the user. */
function drawReadable(g: GeneratorValue, view: Model): Wish {
  const wish = drawWish(g, view);
  return view[wish.entity]?.fields.includes('word') === true ? wish : { ...wish, search: undefined };
}

/**
 * Writes; most of them name the fields of a grant alone, so that not all are refused. Those of entities without grants
 * are no upserts, which row-property-writes.test.ts compares.
 */
function drawGranted(g: GeneratorValue, { schema, model }: Setting, records: Model, view: Model): WriteWish {
  const chance = (share: number): boolean => g(() => fc.noBias(fc.integer({ min: 1, max: 100 }))) <= share;
  const draw = (): WriteWish =>
    drawWrites(g, schema, records, {
      visible: (entity) => view[entity]?.records ?? [],
      isStamped: (entity, column) => model.listStamped(entity).has(column),
    });
  const isHopeless = ({ kind, entity }: Write): boolean =>
    model.listUsable(entity, { list: 'read', upsert: 'create' }[kind as string] ?? kind).length === 0;
  let wish = draw();
  for (let times = 0; times < 5 && wish.writes.some(isHopeless); times++) wish = draw();
  const limit = (write: Write): Write => {
    const { entity, kind } = write;
    if (kind === 'upsert' && (model.grants[entity] ?? null) === null)
      return { kind: 'create', entity, bodies: write.bodies };
    const grants = 'bodies' in write ? model.listUsable(entity, kind === 'update' ? 'update' : 'create') : [];
    if (!('bodies' in write) || grants.length === 0 || !chance(75)) return write;
    const grant = g(fc.constantFrom, ...grants) as GrantDocument;
    const isNamed = ([name]: readonly [string, unknown]): boolean =>
      (name === 'id' && kind === 'update') ||
      (name === 'code' && kind === 'upsert') ||
      model.canWrite(entity, grant, name);
    return {
      ...write,
      bodies: write.bodies.map((body) => Object.fromEntries(Object.entries(body).filter(isNamed))),
    };
  };
  return { ...wish, writes: wish.writes.map(limit) };
}

/** What does not exist for the user is an unknown name: a field and a relation that are drawn of each entity. */
async function compareAbsent(g: GeneratorValue, model: GrantsModel, records: Model, read: Read): Promise<void> {
  const view = model.view(records);
  for (const [name, { fields, relations }] of Object.entries(records)) {
    const seen = view[name];
    const hidden = fields.filter((one) => !seen?.fields.includes(one));
    const unfollowed = Object.keys(relations).filter((one) => !Object.hasOwn(seen?.relations ?? {}, one));
    const paths =
      seen === undefined
        ? [['', '/1', '/_aggregate?select=count', '/_export?format=csv']]
        : [
            hidden.flatMap((one) => [
              ...[`?filter=${one},notNull`, `?sort=${one}`, `?fields=${one}`],
              ...[`/_aggregate?select=count&group=${one}`, `/_export?format=csv&fields=${one}`],
            ]),
            unfollowed.flatMap((one) => [`?expand=${one}`, `?filter=${one}.id,notNull`, `?sort=${one}.id`]),
          ];
    for (const some of paths.filter(({ length }) => length > 0)) {
      const path = g(fc.constantFrom, ...some) as string;
      const answer = await read(`${name}${path}`);
      assert.equal(answer.status, seen === undefined ? 404 : 400, `${name}${path} ${answer.text}`);
    }
  }
}

/** Hidden records are not there; entity tags of others are those of unchanged records. */
async function compareRecords(
  view: Model,
  records: Model,
  entity: string,
  { ask, count }: Pick<Setting, 'ask' | 'count'>,
): Promise<void> {
  const seen = new Map((view[entity] as ModelEntity).records.map((record) => [record.id, record]));
  let isTagged = false;
  let hidden = 2;
  for (const { id } of (records[entity] as ModelEntity).records) {
    if (seen.has(id) ? isTagged : --hidden < 0) continue;
    const answer = count(await ask(`${entity}/${id}`, {}), 'record');
    assert.equal(answer.status, seen.has(id) ? 200 : 404, answer.text);
    if (!seen.has(id)) continue;
    isTagged = true;
    assert.deepEqual(answer.json.data, seen.get(id));
    const headers = { 'if-none-match': answer.headers.get('etag') ?? '' };
    assert.equal(count(await ask(`${entity}/${id}`, { headers }), 'record').status, 304);
  }
}
