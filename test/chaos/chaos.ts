// A run: clients at work, one fault after the other, and after each the question how soon all is well; at the end what is
// stored is held against what the clients were told.
import { setTimeout as sleep } from 'node:timers/promises';
import { type FeedEvent, keyOf, type Records } from '../support/feed-journal.ts';
import { startIssuer } from '../support/issuer.ts';
import { ADMIN_KEY, clientOf, type TestWorkspace } from '../support/server.ts';
import { makeUsers } from '../support/users.ts';
import { type Answered, type Caller, makeCaller } from './caller.ts';
import {
  batcher,
  COUNTERS,
  type Field,
  importer,
  keeper,
  LONG_MS,
  leaver,
  marker,
  migrator,
  USERS,
  user,
  writer,
} from './clients.ts';
import { FAULTS, sequence } from './faults.ts';
import { compareMarks, type Feeds, startFeeds } from './feeds.ts';
import { type Ground, type GroundKind, prepareGround, STATEMENT_TIMEOUT_MS } from './ground.ts';
import { compare, compareBatches, makeJournal, type Parcel, type Stored } from './journal.ts';
import { makeRandom } from './random.ts';

export interface Wish {
  readonly kind: GroundKind;
  readonly seed: number;
  readonly seconds: number;
  /** How soon after a fault all must be well, in milliseconds. */
  readonly wellWithin: number;
  readonly say: (line: string) => void;
}

interface Report {
  /** Everything that must not be, each with when it was found. */
  readonly violations: readonly string[];
  readonly faults: number;
  /** Longest time from the end of a fault until all was well, in milliseconds. */
  readonly longest: number;
  /** How often the clients did what, and what they were answered. */
  readonly done: Readonly<Record<string, number>>;
  readonly answers: Readonly<Record<string, number>>;
}

const SCHEMA = {
  entities: {
    boxes: {
      fields: { name: { type: 'string' } },
      relations: { entries: { kind: 'hasMany', entity: 'entries', inverse: 'box' } },
    },
    entries: {
      fields: {
        token: { type: 'string', required: true, index: true },
        owner: { type: 'string', index: true },
        value: { type: 'integer' },
        amount: { type: 'integer' },
        note: { type: 'string' },
      },
      relations: { box: { kind: 'belongsTo', entity: 'boxes' } },
      rowRules: [{ column: 'owner', claim: 'sub', enabled: true }],
      settings: { changes: 'history' },
    },
    parcels: {
      fields: { batch: { type: 'string', index: true }, number: { type: 'integer' } },
      relations: { first: { kind: 'belongsTo', entity: 'parcels' } },
      settings: { changes: 'feed' },
    },
    counters: { fields: { mark: { type: 'string' } }, settings: { changes: 'feed' } },
  },
} as const;

// The deadline of a request, 2 s on top of it, the longest pause of a fault, and what a busy machine adds.
const ALLOWED_MS = STATEMENT_TIMEOUT_MS + 2000 + 2000 + 8000;
const MAX_VIOLATIONS = 50;
// A service that is not well by then is not waited for any longer.
const NEVER_MS = 60_000;
const WELL_ROUNDS = 3;
const MARKERS = 8;
const HISTORIES = 20;
const MAX_LINE = 2000;

/** Runs for so long and tells what was found. Whatever it starts it ends. */
export async function chaos({ kind, seed, seconds, wellWithin, say }: Wish): Promise<Report> {
  const violations: string[] = [];
  let started = performance.now();
  let now = 'at the start';
  const violation = (text: string): void => {
    if (violations.length >= MAX_VIOLATIONS) return;
    const line = `${((performance.now() - started) / 1000).toFixed(1)} s, ${now}: ${text}`;
    violations.push(line);
    say(`  VIOLATION ${line}`);
  };
  const ground = await prepareGround(kind, say);
  const issuer = await startIssuer();
  const caller = makeCaller({ port: ground.server.port, allowed: ALLOWED_MS, violation });
  let isOver = false;
  let clients: Promise<unknown> = Promise.resolve();
  let feeds: Feeds | undefined;
  try {
    const workspace = await clientOf(ground.server.url).workspace('chaos/main', SCHEMA);
    await workspace.create('boxes', [{ name: 'one' }, { name: 'two' }, { name: 'three' }]);
    const tokenOf = await makeUsers(workspace, issuer);
    const journal = makeJournal();
    const done: Record<string, number> = {};
    const field: Field = {
      caller,
      journal,
      random: makeRandom(seed + 1),
      violation,
      isOver: () => isOver,
      path: '/api/v1/chaos/main',
      adminPath: '/api/admin/v1/organizations/chaos/workspaces/main',
      adminKey: ADMIN_KEY,
      ownerKey: workspace.key,
      tokenOf: (sub) => tokenOf({ sub }),
      done,
    };
    feeds = await startFeeds(field, ground.server.url);
    await workspace.create(
      'counters',
      Array.from({ length: COUNTERS }, () => ({ mark: null })),
    );
    clients = Promise.all([
      writer(field),
      writer(field),
      ...USERS.map((name) => user(field, name)),
      importer(field),
      batcher(field),
      ...Array.from({ length: MARKERS }, () => marker(field)),
      keeper(field),
      migrator(field),
      leaver(field),
    ]);
    clients.catch((error) => violation(`a client gave up: ${(error as Error).stack}`));
    await sleep(1500);
    started = performance.now();

    const possible = FAULTS.filter(({ isPossible }) => isPossible(ground));
    let faults = 0;
    let killed = 0;
    let longest = 0;
    for (const draw of sequence(seed, possible)) {
      if (performance.now() - started > seconds * 1000 || violations.length >= MAX_VIOLATIONS) break;
      faults++;
      now = `fault ${faults}, ${draw.fault.name}`;
      if (draw.fault.name === 'a worker is killed') killed++;
      await draw.fault.run(ground, draw);
      const took = await wellAfter(ground, field);
      longest = Math.max(longest, took);
      say(
        `${((performance.now() - started) / 1000).toFixed(0).padStart(4)} s  ${draw.fault.name}: well after ${took.toFixed(0)} ms`,
      );
      if (took > wellWithin) violation(`all was well only ${took.toFixed(0)} ms after its end`);
      if (took >= NEVER_MS) break;
      await sleep(draw.rest);
    }
    now = 'afterwards';
    isOver = true;
    await clients;
    await migrationsEnd(field, workspace);
    await sleep(STATEMENT_TIMEOUT_MS);
    const { wrong: mistakes, ...read } = await feeds.finish();
    for (const wrong of [...mistakes, ...(await disagreements(field, read))]) violation(wrong);
    for (const wrong of deaths(ground, killed)) violation(wrong);
    if (violations.some((line) => line.includes('INTERNAL_ERROR')))
      for (const line of ground.server.log) if (line.includes('"level":50')) say(line.slice(0, MAX_LINE));
    return { violations, faults, longest, done, answers: caller.counts };
  } finally {
    isOver = true;
    await clients.catch(() => undefined);
    await feeds?.stop();
    caller.close();
    await issuer.stop();
    await ground.close();
  }
}

/** Milliseconds from now until every kind of request works, several times in a row. */
async function wellAfter(ground: Ground, field: Field): Promise<number> {
  const end = performance.now();
  const { path, adminPath, ownerKey, adminKey } = field;
  const owner = { credential: ownerKey, fresh: true };
  const requests: readonly (() => Promise<number | undefined>)[] = [
    async () => (await field.caller.ask(`${path}/boxes/1`, owner)).status,
    async () => (await field.caller.ask(`${path}/entries?size=5&sort=id,desc`, owner)).status,
    async () => (await field.caller.ask(`${path}/boxes`, { ...owner, method: 'POST', body: { name: 'probe' } })).status,
    async () => (await field.caller.ask(`${adminPath}/schema`, { credential: adminKey, fresh: true })).status,
    async () =>
      (await field.caller.ask(`${path}/entries?size=1`, { credential: field.tokenOf('u1'), fresh: true })).status,
    async () => ground.server.status('/readyz'),
  ];
  let since: number | undefined;
  for (let good = 0; good < WELL_ROUNDS; ) {
    const began = performance.now();
    if (began - end > NEVER_MS) return NEVER_MS;
    const statuses = await Promise.all(requests.map((ask) => ask()));
    if (statuses.every((status) => status !== undefined && status < 300)) {
      since ??= began;
      good++;
    } else {
      since = undefined;
      good = 0;
      await sleep(50);
    }
  }
  return (since ?? end) - end;
}

/** Asks until there is an answer. */
async function insist(caller: Caller, path: string, credential: string): Promise<Answered> {
  const limit = performance.now() + NEVER_MS;
  for (;;) {
    const outcome = await caller.ask(path, { credential, allowed: LONG_MS });
    if (outcome.status === 200) return outcome;
    if (performance.now() > limit) throw new Error(`${path} never answered: ${JSON.stringify(outcome)}`);
    await sleep(100);
  }
}

async function migrationsEnd(field: Field, workspace: TestWorkspace): Promise<void> {
  const limit = performance.now() + NEVER_MS;
  for (;;) {
    const { json } = await insist(field.caller, `${field.adminPath}/migrations`, field.adminKey);
    const open = json.data.filter(({ state }: { state: string }) => state === 'running' || state === 'pending');
    if (open.length === 0) break;
    if (performance.now() > limit) {
      field.violation(`a migration has not ended: ${JSON.stringify(open[0])}`);
      return;
    }
    await sleep(200);
  }
  // No gate is left closed.
  const body = { token: 'u1:last', owner: 'u1', value: 0, amount: 0 };
  const made = await workspace.call('entries', { method: 'POST', body });
  if (made.status !== 201) field.violation(`a create when all was over: ${made.status} ${made.text}`);
  else {
    const line = { token: body.token, owner: 'u1', amount: 0, id: made.json.data.id, values: [0], deleted: 'no' };
    field.journal.lines.push(line as (typeof field.journal.lines)[number]);
  }
}

async function all(field: Field, entity: string, fields: string): Promise<Record<string, unknown>[]> {
  const records: Record<string, unknown>[] = [];
  let after = '';
  do {
    const path = `${field.path}/${entity}?size=1000&count=none&fields=${fields}${after}`;
    const { json } = await insist(field.caller, path, field.ownerKey);
    records.push(...json.data);
    after = json.meta.nextCursor === null ? '' : `&after=${encodeURIComponent(json.meta.nextCursor)}`;
  } while (after !== '');
  return records;
}

interface ReadFeed {
  readonly events: readonly FeedEvent[];
  readonly records: Records;
}

async function disagreements(field: Field, { events, records: read }: ReadFeed): Promise<string[]> {
  const { json: schema } = await insist(field.caller, `${field.adminPath}/schema`, field.adminKey);
  const note = schema.data.entities.entries.fields.note === undefined ? 'remark' : 'note';
  const records = await all(field, 'entries', `id,token,owner,value,amount,${note}`);
  const stored = records.map(({ [note]: text, ...record }) => ({ ...record, note: text })) as unknown as Stored[];
  const parcels = await all(field, 'parcels', 'id,batch,number,firstId');
  const counters = await all(field, 'counters', 'id,mark');
  const wrong = [
    ...compare(field.journal, stored),
    ...compareBatches(field.journal, parcels as unknown as Parcel[]),
    ...compareMarks(field.journal.marks, events),
    ...compareRecords(read, { entries: records, parcels, counters }, ['value', 'token', 'number', 'firstId', 'mark']),
    ...(await compareHistories(field, events)),
  ];
  for (const [entity, count] of [
    ['entries', stored.length],
    ['parcels', parcels.length],
  ] as const) {
    const { json } = await insist(field.caller, `${field.path}/${entity}?size=1`, field.ownerKey);
    if (json.meta.totalElements !== count)
      wrong.push(`the total of ${entity} says ${json.meta.totalElements}, there are ${count}`);
  }
  return wrong;
}

/** Everything in which the records that result from a feed are not those that are stored, by the values of the fields. */
function compareRecords(
  read: Records,
  stored: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>,
  fields: readonly string[],
): string[] {
  const left = new Map(read);
  const wrong: string[] = [];
  for (const [entity, records] of Object.entries(stored))
    for (const record of records) {
      const key = keyOf(entity, Number(record.id));
      const own = left.get(key);
      left.delete(key);
      const other = fields.filter((name) => name in record && own?.[name] !== record[name]);
      if (own === undefined) wrong.push(`${key} is stored, and no event tells of it`);
      else if (other.length > 0) wrong.push(`${key} is stored with another ${other.join()} than its events tell`);
    }
  return [...wrong, ...[...left.keys()].map((key) => `${key} is not stored, and no event tells that it was removed`)];
}

/** The history of a record has the events of the feed, the last one first. */
async function compareHistories(field: Field, events: readonly FeedEvent[]): Promise<string[]> {
  const wrong: string[] = [];
  const byRecord = Map.groupBy(
    events.filter(({ entity, recordId }) => entity === 'entries' && recordId !== undefined),
    ({ recordId }) => recordId,
  );
  const ids = [...byRecord.keys()];
  for (let count = 0; count < Math.min(HISTORIES, ids.length); count++) {
    const id = field.random.pick(ids);
    const path = `${field.path}/entries/${id}/_history?size=200`;
    const { json } = await insist(field.caller, path, field.ownerKey);
    const history = json.data.map((event: FeedEvent) => event.id).join();
    const feed = (byRecord.get(id) ?? []).map((event) => event.id).reverse();
    if (history !== feed.slice(0, 200).join())
      wrong.push(`the history of entries ${id} is ${history}, its feed ${feed}`);
  }
  return wrong;
}

/** The first process must have lived through all of it, and no worker may have ended but those that were killed. */
function deaths({ server }: Ground, killed: number): string[] {
  const died = server.log.filter((line) => /a worker has died/.test(line));
  const wrong = died.filter((line) => !/SIGKILL/.test(line)).map((line) => `a worker ended by itself: ${line}`);
  if (died.length > killed) wrong.push(`${died.length} workers have died, ${killed} were killed`);
  if (server.child.exitCode !== null || server.child.signalCode !== null) wrong.push('the server has ended');
  for (const line of server.log) if (/unhandled|uncaught/i.test(line)) wrong.push(line.slice(0, 1000));
  return wrong;
}
