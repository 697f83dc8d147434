// The fuzz of views: random rules or grants, users and writes. Each user follows feeds of random fields and filters, by pages
// and by streams. A model judges each change of the owner's feed on the record before and after; the user must have exactly
// these events, and with them applied the first list must be what a list shows now. History must tell the same.
import assert from 'node:assert/strict';
import fc, { type GeneratorValue } from 'fast-check';
import { readMessages } from './event-stream.ts';
import { applyFeed, type FeedEvent, keyOf, type Records } from './feed-journal.ts';
import { drawGrantedEntities, drawGrants, drawUser, makeCredential, withGrants } from './grants-arbitrary.ts';
import { store } from './grants-fuzz.ts';
import { type Grants, GrantsModel, type User, type Where } from './grants-model.ts';
import type { Issuer } from './issuer.ts';
import { type Drawn, drawClaims, drawRecords, drawSchema, VALUES, WORDS } from './row-rules-arbitrary.ts';
import { compare, type Model, type ModelEntity, type Rec, type Value } from './row-rules-read-model.ts';
import { drawWrites, requestOf } from './row-rules-writes.ts';
import { send, type TestServer, type TestWorkspace } from './server.ts';

/** How often each kind of event and of refusal was met. */
export type Tally = Map<string, number>;

const USERS = 3;
const PAUSES = 3;
const WRITES = 8;
const HISTORIES = 4;
// A stream that has not told by then never will.
const NEVER_MS = 60_000;

export interface ViewsOptions {
  readonly seed: number;
  readonly tally: Tally;
}

/** Two processes on the same database. */
export type Servers = readonly [TestServer, TestServer];

/** Draws a workspace from the seed, and follows it. */
export async function fuzzViews(servers: Servers, issuer: Issuer, options: ViewsOptions): Promise<void> {
  const property = fc.asyncProperty(fc.gen(), (g) => followViews(g, servers, issuer, options));
  const { errorInstance } = await fc.check(property, { numRuns: 1, seed: options.seed, endOnFailure: true });
  if (errorInstance !== null) throw errorInstance;
}

/* ---- feeds ---- */

interface Condition {
  readonly field: string;
  readonly op: 'eq' | 'ne' | 'gt' | 'isNull' | 'notNull';
  readonly value: Value;
}

interface View {
  readonly model: GrantsModel;
  readonly entity: string;
  /** Fields that events show; undefined: all, as the request names none. */
  readonly fields: readonly string[] | undefined;
  readonly condition: Condition | undefined;
}

/** A feed that a user follows. */
interface Followed extends View {
  readonly credential: string;
  /** Parameters of its list and of its feed. */
  readonly query: string;
  readonly size: number;
  /** Cursor at its beginning, and changes of the owner's feed before that. */
  readonly start: string;
  readonly skipped: number;
  readonly first: Records;
  cursor: string;
  readonly events: FeedEvent[];
}

/** A change as the owner sees it. */
interface Change {
  readonly event: FeedEvent & { readonly at: string; readonly version?: string };
  readonly before: Rec | undefined;
  readonly after: Rec | undefined;
}

/** Returns what a feed shows of a record, or undefined if the record is not in its view. */
function look({ model, entity, condition, fields }: View, record: Rec | undefined): Rec | undefined {
  const shown = record && model.show(entity, record, {});
  if (
    shown === undefined ||
    (condition !== undefined && !compare(shown[condition.field] ?? null, condition.op, condition.value))
  )
    return undefined;
  const names = fields === undefined ? Object.keys(shown) : fields;
  return Object.fromEntries(names.map((name) => [name, shown[name] ?? null])) as Rec;
}

/** Returns the event that the change is in a view, or undefined if it is none. */
function expectEvent(feed: View, { event, before, after }: Change): object | undefined {
  if (event.entity !== feed.entity) return undefined;
  const [old, now] = [look(feed, before), look(feed, after)];
  if (old === undefined && now === undefined) return undefined;
  const { id, entity, recordId, at, transaction, version } = event;
  const type = old === undefined ? 'created' : now === undefined ? 'removed' : 'updated';
  const made = now === undefined || version === undefined ? {} : { version };
  const common = { id, type, entity, recordId, at, transaction, ...made };
  if (old === undefined) return { ...common, record: now };
  if (now === undefined) return { ...common, previous: old };
  const changed = Object.keys(now)
    .filter((name) => old[name] !== now[name])
    .sort();
  if (changed.length === 0 && (feed.fields !== undefined || hidesFields(feed))) return undefined;
  return { ...common, changed, record: now, previous: Object.fromEntries(changed.map((name) => [name, old[name]])) };
}

const hidesFields = ({ model, entity }: View): boolean =>
  model
    .getGrants(entity, 'read')
    .some(({ fields }) =>
      fields === undefined
        ? false
        : !(model.schema.get(entity) as Drawn).fields.every((name) => name === 'id' || fields.includes(name)),
    );

/** Returns the event without what only some readers have, and with the changed fields in the order of the model. */
function strip({ cause: _cause, actor: _actor, ...event }: FeedEvent & { cause?: unknown; actor?: unknown }): object {
  return event.changed === undefined ? event : { ...event, changed: event.changed.toSorted() };
}

/* ---- following ---- */

async function followViews(
  g: GeneratorValue,
  servers: Servers,
  issuer: Issuer,
  { seed, tally }: ViewsOptions,
): Promise<void> {
  const chance = (share: number): boolean => g(() => fc.noBias(fc.integer({ min: 1, max: 100 }))) <= share;
  const pick = <T>(values: readonly T[]): T => g(fc.constantFrom, ...values) as T;
  const count = (name: string): void => void tally.set(name, (tally.get(name) ?? 0) + 1);
  const isGranted = seed % 3 !== 0;
  const schema = isGranted ? drawGrantedEntities(g) : drawSchema(g);
  const none: Grants = Object.fromEntries([...schema.keys()].map((name) => [name, null]));
  const grants = isGranted ? drawFollowable() : none;
  const workspace = await servers[0].workspace(`fuzz/v${seed}`, keepHistory(withGrants(schema, grants)));
  const urlOf = ({ url }: TestServer, path: string): string => `${url}/api/v1/${workspace.path}/${path}`;
  const names = [...schema.keys()];
  const drawn = drawRecords(g, schema);
  const [row] = await servers[0].database.query('select database_schema as name from wda.workspace where slug = $1', [
    `v${seed}`,
  ]);
  const schemaName = `"${row?.name}"`;
  const owner = await followOwner(workspace, names);
  const feeds: Followed[] = [];
  const users: { readonly user: User; readonly model: GrantsModel; readonly credential: string }[] = [];
  for (let index = 0; index < USERS; index++) {
    const user: User = isGranted ? drawUser(g) : { onlyGrants: false, roles: [], claims: drawClaims(g) };
    const model = new GrantsModel(schema, grants, user);
    users.push({ user, model, credential: await makeCredential(workspace, issuer, user) });
  }
  try {
    // Some feeds begin before the first record, others where a list ends.
    for (const { model, credential } of users) await open(model, credential, 30);
    await store(workspace, drawn);
    for (const { model, credential } of users) await open(model, credential, 60);
    for (let pause = 0; pause < PAUSES; pause++) {
      for (let index = 0; index < WRITES; index++) await write();
      await compareFeeds();
    }
    for (const feed of feeds) await compareStream(feed);
    for (const { model, credential } of users) await compareHistories(model, credential);
  } catch (error) {
    const documents = [...schema].map(([name, { document, rules }]) => [name, { ...document, rules }]);
    const parts = [{ users: users.map(({ user }) => user) }, { grants }, Object.fromEntries(documents)];
    const lines = [
      `npm run access:fuzz -- --seed ${seed}`,
      ...parts.map((part) => JSON.stringify(part)),
      (error as Error).stack,
    ];
    throw new Error(lines.join('\n'));
  }

  /** Grants of which few look at other records or at the time, as those make no feed. */
  function drawFollowable(): Grants {
    const all = Object.entries(drawGrants(g, schema, { isLocal: chance(80) }));
    const isKept = (grant: object): boolean => !JSON.stringify(grant).includes('"now"') || chance(15);
    return Object.fromEntries(all.map(([name, list]) => [name, list?.filter(isKept) ?? null]));
  }

  async function open(model: GrantsModel, credential: string, share: number): Promise<void> {
    for (const entity of names.filter(() => chance(share))) {
      const seen = model.exists(entity) ? model.listFields(entity) : ['id', 'word'];
      const others = seen.filter((name) => name !== 'id');
      const fields = chance(35) ? ['id', ...(g(fc.subarray, others) as string[])] : undefined;
      const condition = others.length > 0 && chance(40) ? drawCondition(others) : undefined;
      const parameters = new URLSearchParams();
      if (fields !== undefined) parameters.append('fields', fields.join());
      if (condition !== undefined)
        parameters.append(
          'filter',
          Object.values(condition)
            .filter((part) => part !== null)
            .join(),
        );
      const query = parameters.toString();
      const list = await send(urlOf(pick(servers), `${entity}?${query}&size=1000&changes=true`), { credential });
      if (list.status !== 200) {
        const isRefused = list.status === 409 ? isUnclear(model, entity) : list.status === 404 && !model.exists(entity);
        assert.ok(isRefused, `${entity}?${query}: ${list.status} ${list.text}`);
        count(`refused ${list.status}`);
        continue;
      }
      const first = toRecords(entity, list.json.data);
      const cursor = list.json.meta.changes;
      const skipped = (await owner.read()).length;
      const size = pick([1, 2, 7, 100]);
      feeds.push({
        model,
        credential,
        entity,
        fields,
        condition,
        query,
        size,
        skipped,
        first,
        start: cursor,
        cursor,
        events: [],
      });
    }
  }

  function drawCondition(fields: readonly string[]): Condition {
    const field = pick(fields);
    const op = pick<Condition['op']>([
      'eq',
      'eq',
      'ne',
      'isNull',
      'notNull',
      ...(field === 'word' || field === 'flag' ? [] : (['gt'] as const)),
    ]);
    if (op === 'isNull' || op === 'notNull') return { field, op, value: null };
    return { field, op, value: pick(field === 'word' ? WORDS : (VALUES[field] ?? [1, 2, 3])) };
  }

  /** One request of an owner or a user, or a statement of another program. */
  async function write(): Promise<void> {
    await owner.read();
    const records = owner.model(drawn);
    if (chance(10)) {
      const { entity, id } = pick(
        names.flatMap((name) =>
          (records[name] as ModelEntity).records.map((record) => ({ entity: name, id: record.id })),
        ),
      );
      const word = pick([...WORDS, null]);
      await servers[0].database.query(`update ${schemaName}."${entity}" set word = $1 where id = $2`, [word, id]);
      return;
    }
    const by = chance(40) ? pick(users) : undefined;
    const wish = drawWrites(g, schema, records, {
      visible: (entity) => (records[entity] as ModelEntity).records,
      isStamped: (entity, column) => by?.model.listStamped(entity).has(column) === true,
    });
    const { path, ...call } = requestOf(wish);
    const answer = await send(urlOf(pick(servers), path), { ...call, credential: by?.credential ?? workspace.key });
    assert.ok(answer.status < 500, `${path} ${JSON.stringify(call)}: ${answer.status} ${answer.text}`);
    count(`${by === undefined ? 'owner' : 'user'} ${answer.status < 300 ? 'wrote' : 'was refused'}`);
  }

  async function compareFeeds(): Promise<void> {
    const changes = await owner.read();
    for (const feed of feeds) {
      for (let more = true; more; ) {
        const parameters = `${feed.query}&previous=true&size=${feed.size}&after=${feed.cursor}`;
        const page = await send(urlOf(pick(servers), `${feed.entity}/_changes?${parameters}`), feed);
        assert.equal(page.status, 200, page.text);
        feed.events.push(...page.json.data);
        feed.cursor = page.json.meta.cursor;
        more = page.json.meta.more;
      }
      const note = JSON.stringify({ claims: feed.model.user, entity: feed.entity, query: feed.query });
      const expected = changes.slice(feed.skipped).flatMap((change) => expectEvent(feed, change) ?? []);
      assert.deepEqual(feed.events.map(strip), expected, note);
      for (const event of feed.events) assert.ok(!('actor' in event) && !(isLimited(feed) && 'cause' in event), note);
      const { records, wrong } = applyFeed(feed.events, { start: feed.first });
      assert.deepEqual(wrong, [], note);
      const list = await send(urlOf(pick(servers), `${feed.entity}?${feed.query}&size=1000`), feed);
      assert.equal(list.status, 200, list.text);
      assert.deepEqual(records, toRecords(feed.entity, list.json.data), note);
    }
  }

  /** A stream of all that was read in pages has the same events. */
  async function compareStream(feed: Followed): Promise<void> {
    const response = await fetch(urlOf(pick(servers), `${feed.entity}/_changes?${feed.query}&previous=true`), {
      headers: { authorization: `Bearer ${feed.credential}`, accept: 'text/event-stream', 'last-event-id': feed.start },
      signal: AbortSignal.timeout(NEVER_MS),
    });
    assert.equal(response.status, 200);
    const events: FeedEvent[] = [];
    for await (const { event, data } of readMessages(response.body as ReadableStream<Uint8Array>)) {
      if (event === 'caught-up') break;
      events.push(data);
    }
    assert.deepEqual(events, feed.events, `stream of ${feed.entity}?${feed.query}`);
    for (const { type } of events) count(type);
  }

  /** The history of a record that a user sees has the events of its feed, the last one first. */
  async function compareHistories(model: GrantsModel, credential: string): Promise<void> {
    const changes = await owner.read();
    for (let index = 0; index < HISTORIES; index++) {
      const { entity, recordId: id } = pick(changes).event;
      const answer = await send(urlOf(pick(servers), `${entity}/${id}/_history?size=200`), { credential });
      const view = { model, entity, fields: undefined, condition: undefined };
      const own = changes.filter(({ event }) => event.entity === entity && event.recordId === id);
      const note = `${entity}/${id}/_history: ${answer.status} ${answer.text}`;
      count(`history ${answer.status}`);
      const isGranted = (model.grants[entity] ?? null) === null || model.getGrants(entity, 'read').length > 0;
      if (model.exists(entity) && !isGranted) assert.equal(answer.status, 403, note);
      else if (model.exists(entity) && isUnclear(model, entity)) assert.ok([404, 409].includes(answer.status), note);
      else if (!model.exists(entity) || look(view, own.at(-1)?.after) === undefined)
        assert.equal(answer.status, 404, note);
      else {
        assert.equal(answer.status, 200, note);
        const expected = own.flatMap((change) => expectEvent(view, change) ?? []).reverse();
        assert.deepEqual(answer.json.data.map(strip), expected, note);
      }
    }
  }
}

/** Returns whether a read grant looks at other records or at the time, so that no image shows whether it holds. */
function isUnclear(model: GrantsModel, entity: string): boolean {
  const looks = (where: Where): boolean => {
    if ('and' in where) return where.and.some(looks);
    if ('or' in where) return where.or.some(looks);
    if ('not' in where) return looks(where.not);
    return where.field.includes('.') || JSON.stringify(where.value ?? null).includes('"now"');
  };
  return model.getGrants(entity, 'read').some(({ where }) => where !== undefined && looks(where));
}

const isLimited = ({ model, entity }: Followed): boolean =>
  (model.grants[entity] ?? null) !== null || (model.schema.get(entity) as Drawn).rules.some(({ enabled }) => enabled);

const toRecords = (entity: string, records: readonly Rec[]): Records =>
  new Map(records.map((record) => [keyOf(entity, record.id), record]));

type Grant = Readonly<Record<string, unknown>> & { readonly can: readonly string[] };
type KeptEntity = Readonly<Record<string, unknown>> & { readonly grants?: readonly Grant[] };

/** Returns the document with the history of all entities, which users may read where they read records. */
export function keepHistory(document: object): object {
  const { entities, ...rest } = document as { readonly entities: Readonly<Record<string, KeptEntity>> };
  const settings = { changes: 'history', historyForUsers: true };
  const addHistory = (grant: Grant): Grant =>
    grant.can.includes('read') ? { ...grant, can: [...grant.can, 'history'] } : grant;
  const kept = Object.entries(entities).map(([name, { grants, ...entity }]) => [
    name,
    { ...entity, settings, ...(grants ? { grants: grants.map(addHistory) } : {}) },
  ]);
  return { ...rest, entities: Object.fromEntries(kept) };
}

interface Owner {
  /** Reads on, and returns all changes from the beginning. */
  read(): Promise<readonly Change[]>;
  /** Returns the records as they are after the last change, with the definitions of `like`. */
  model(like: Model): Model;
}

/** Follows all entities from an empty workspace on. */
async function followOwner(workspace: TestWorkspace, names: readonly string[]): Promise<Owner> {
  const path = `_changes?previous=true&size=1000&entities=${names}`;
  let cursor: string | undefined;
  let records: Records = new Map();
  const changes: Change[] = [];
  async function read(): Promise<readonly Change[]> {
    for (let more = true; more; ) {
      const page = await workspace.call(`${path}${cursor === undefined ? '' : `&after=${cursor}`}`);
      assert.equal(page.status, 200, page.text);
      for (const event of page.json.data as Change['event'][]) {
        const key = keyOf(event.entity, event.recordId as number);
        const before = records.get(key) as Rec | undefined;
        const applied = applyFeed([event], { start: records });
        assert.deepEqual(applied.wrong, []);
        records = applied.records;
        changes.push({ event, before, after: records.get(key) as Rec | undefined });
      }
      cursor = page.json.meta.cursor as string;
      more = page.json.meta.more;
    }
    return changes;
  }
  await read();
  return {
    read,
    model(like) {
      const own = [...records].map(([key, record]) => [key.slice(0, key.indexOf(' ')), record as Rec] as const);
      return Object.fromEntries(
        Object.entries(like).map(([name, entity]) => [
          name,
          { ...entity, records: own.filter(([entityName]) => entityName === name).map(([, record]) => record) },
        ]),
      );
    },
  };
}
