// The clients of a run: each does one thing again and again and tells the journal what it was answered. None is ever
// surprised by a refusal that a fault explains (503, a broken connection); anything else that is wrong is a violation.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answered, Ask, Caller, Outcome } from './caller.ts';
import type { Journal, Line } from './journal.ts';
import type { Random } from './random.ts';

export interface Field {
  readonly caller: Caller;
  readonly journal: Journal;
  readonly random: Random;
  readonly violation: (text: string) => void;
  /** True when the clients are to come to an end. */
  readonly isOver: () => boolean;
  /** Below /api/v1. */
  readonly path: string;
  readonly adminPath: string;
  readonly adminKey: string;
  readonly ownerKey: string;
  /** A token of the user, valid for some minutes. */
  readonly tokenOf: (user: string) => string;
  readonly done: Record<string, number>;
}

export const USERS = ['u1', 'u2', 'u3'] as const;

// Together some 100 requests a second, which leaves a machine of two cores time for the faults.
const PAUSE_MS = 25;
// An import or a change of the schema may take this long, and a fault on top of it.
export const LONG_MS = 40_000;

const isGood = (outcome: Outcome): outcome is Answered => outcome.status !== undefined && outcome.status < 300;
const isUnknown = ({ status }: Outcome): boolean => status === undefined || status >= 500;

function makeTell(field: Field): (what: string, outcome: Outcome) => void {
  return (what, outcome) => {
    const said = outcome.status === undefined ? outcome.reason : `${outcome.status} ${outcome.text.slice(0, 300)}`;
    field.violation(`${what}: ${said}`);
  };
}

async function loop(field: Field, what: string, turn: () => Promise<void>, pause = PAUSE_MS): Promise<void> {
  for (; !field.isOver(); await sleep(pause)) {
    await turn();
    field.done[what] = (field.done[what] ?? 0) + 1;
  }
}

let drawn = 0;
const nextToken = (owner: string): string => `${owner}:${++drawn}`;

interface Wish {
  readonly owner: string;
  readonly credential: string;
  /** Members of the body beside the usual ones. */
  readonly beside?: Readonly<Record<string, unknown>>;
  /** What is to be stored as its note. */
  readonly note?: string;
}

/** Tries to make a record; what is not known about it stays in the journal for ever. */
async function create(field: Field, { owner, credential, beside = {}, note }: Wish): Promise<Line | undefined> {
  const token = nextToken(owner);
  const amount = drawn * 3;
  const body = { token, value: 0, amount, boxId: 1 + (drawn % 3), ...beside };
  const ask = { method: 'POST', credential, body, fresh: note !== undefined };
  const outcome = await field.caller.ask(`${field.path}/entries`, ask);
  const line = { token, owner, amount, values: [0], deleted: 'no', ...(note === undefined ? {} : { note }) } as const;
  if (isGood(outcome)) {
    const made = { ...line, id: outcome.json.data.id as number };
    if (outcome.json.data.owner !== owner) field.violation(`${token} was made for ${outcome.json.data.owner}`);
    field.journal.lines.push(made);
    return made;
  }
  if (isUnknown(outcome)) field.journal.lines.push({ ...line, id: undefined });
  else {
    field.journal.refused.add(token);
    makeTell(field)(`create of ${token}`, outcome);
  }
  return undefined;
}

/**
 * Makes records, counts them up, reads them back and deletes some. A record with an update of which nobody knows the
 * outcome is left alone: a late one could overtake the next.
 */
export function writer(field: Field): Promise<void> {
  const tell = makeTell(field);
  const own: Line[] = [];
  const call = (line: Line, ask: Omit<Ask, 'credential'>): Promise<Outcome> =>
    field.caller.ask(`${field.path}/entries/${line.id}`, { credential: field.ownerKey, ...ask });
  const forget = (line: Line): void => void own.splice(own.indexOf(line), 1);
  return loop(field, 'writes', async () => {
    const owner = field.random.pick(USERS);
    const made = await create(field, { owner, credential: field.ownerKey, beside: { owner } });
    if (made !== undefined) own.push(made);
    if (own.length === 0) return;
    const line = field.random.pick(own);
    const [before] = line.values as [number];
    const updated = await call(line, { method: 'PUT', body: { value: before + 1 } });
    if (isGood(updated)) line.values = [before + 1];
    else if (isUnknown(updated)) {
      line.values = [before, before + 1];
      forget(line);
      return;
    } else tell(`update of ${line.token}`, updated);
    const read = await call(line, {});
    if (isGood(read)) {
      const { value, token } = read.json.data;
      if (token !== line.token || !line.values.includes(value))
        field.violation(`${line.token} reads ${token} with value ${value}, acknowledged was ${line.values.join()}`);
    } else if (!isUnknown(read)) tell(`read of ${line.token}`, read);
    if (own.length < 20) return;
    const gone = own.shift() as Line;
    const deleted = await call(gone, { method: 'DELETE' });
    if (isGood(deleted)) gone.deleted = 'yes';
    else if (isUnknown(deleted)) gone.deleted = 'maybe';
    else tell(`delete of ${gone.token}`, deleted);
  });
}

/** A user of the identity provider, who may see the own entries alone, by whatever way. */
export function user(field: Field, name: string): Promise<void> {
  const tell = makeTell(field);
  const others = new RegExp(`"(?!${name}:)u\\d+:\\d+"`);
  const ways = [
    'entries?size=50&sort=id,desc',
    'entries?size=10&expand=box.entries&sort=value',
    'boxes?expand=entries&entries.size=20',
    'boxes/1?expand=entries.box.entries&entries.size=5&entries.box.entries.size=5',
    'entries?filter=box.entries.token,contains,u&count=exact&size=5',
    'entries/_export?format=ndjson&filter=id,gt,0&sort=id',
  ];
  let credential = field.tokenOf(name);
  let turn = 0;
  return loop(field, 'reads of users', async () => {
    if (++turn % 200 === 0) credential = field.tokenOf(name);
    const way = ways[turn % ways.length] as string;
    const seen = await field.caller.ask(`${field.path}/${way}`, { credential, allowed: LONG_MS });
    if (isGood(seen)) {
      const foreign = others.exec(seen.text);
      if (foreign !== null) field.violation(`${name} sees ${foreign[0]} by ${way}`);
    } else if (!isUnknown(seen)) tell(`${name} reads ${way}`, seen);
    if (turn % 3 === 0) await create(field, { owner: name, credential });
    const foreign = field.journal.lines.at(-field.random.between(1, 40));
    if (turn % 2 === 1 || foreign?.id === undefined || foreign.owner === name) return;
    const path = `${field.path}/entries/${foreign.id}`;
    const method = field.random.pick(['GET', 'PUT', 'DELETE']);
    const body = method === 'PUT' ? { value: -1 } : undefined;
    const hidden = await field.caller.ask(path, { method, credential, body });
    if (hidden.status !== 404 && !isUnknown(hidden)) tell(`${name} on ${foreign.token} by ${method}`, hidden);
  });
}

/** Files of rows, of which all are there afterwards or none. */
export function importer(field: Field): Promise<void> {
  return loop(
    field,
    'imports',
    async () => {
      const name = `batch-${++drawn}`;
      const rows = field.random.between(1, 400);
      const body = `batch,number\n${Array.from({ length: rows }, (_, index) => `${name},${index}`).join('\n')}\n`;
      const ask = { method: 'POST', credential: field.ownerKey, body, allowed: LONG_MS };
      const outcome = await field.caller.ask(`${field.path}/parcels/_import`, ask);
      if (isGood(outcome) || isUnknown(outcome)) {
        field.journal.batches.push({ name, rows, acknowledged: isGood(outcome) });
        if (isGood(outcome)) field.done['acknowledged imports'] = (field.done['acknowledged imports'] ?? 0) + 1;
      } else makeTell(field)(`import of ${rows} rows`, outcome);
    },
    100,
  );
}

// An id that no record has.
const NOBODY = 2 ** 50;

/**
 * Batches: a parcel, others that refer to it, and a change of the first one, of which all is there afterwards or nothing. In
 * each fourth the last operation fails, so that nothing of it may be there.
 */
export function batcher(field: Field): Promise<void> {
  const tell = makeTell(field);
  return loop(field, 'batches', async () => {
    const name = `together-${++drawn}`;
    const rows = field.random.between(2, 40);
    const isGoodOne = field.random.between(1, 4) > 1;
    const others = Array.from({ length: rows - 1 }, (_, index) => ({
      method: 'POST',
      entity: 'parcels',
      body: { batch: name, number: index + 1, firstId: { $ref: 'first.id' } },
    }));
    const operations = [
      { method: 'POST', entity: 'parcels', ref: 'first', body: { batch: name, number: -1 } },
      ...others,
      { method: 'PATCH', entity: 'parcels', id: isGoodOne ? { $ref: 'first.id' } : NOBODY, body: { number: 0 } },
    ];
    const ask = { method: 'POST', credential: field.ownerKey, body: { operations }, allowed: LONG_MS };
    const outcome = await field.caller.ask(`${field.path}/_batch`, ask);
    if (isGoodOne && (isGood(outcome) || isUnknown(outcome))) {
      field.journal.batches.push({ name, rows, acknowledged: isGood(outcome) });
      if (isGood(outcome)) field.done['acknowledged batches'] = (field.done['acknowledged batches'] ?? 0) + 1;
    } else if (isGoodOne || (outcome.status !== 404 && !isUnknown(outcome))) tell(`batch of ${rows} parcels`, outcome);
  });
}

export const COUNTERS = 20;

/**
 * Transactions that mark several records, which other clients mark at the same time. In each fourth the last operation fails.
 */
export function marker(field: Field): Promise<void> {
  const tell = makeTell(field);
  return loop(
    field,
    'marks',
    async () => {
      const name = `mark-${++drawn}`;
      const isGoodOne = field.random.between(1, 4) > 1;
      const drawnIds = Array.from({ length: field.random.between(1, 4) }, () => field.random.between(1, COUNTERS));
      // In the order of their ids, so that no two of them wait for each other.
      const ids = [...new Set(drawnIds)].sort((a, b) => a - b);
      const operations = (isGoodOne ? ids : [...ids, NOBODY]).map((id) => ({
        method: 'PATCH',
        entity: 'counters',
        id,
        body: { mark: name },
      }));
      const ask = { method: 'POST', credential: field.ownerKey, body: { operations }, allowed: LONG_MS, fresh: true };
      const outcome = await field.caller.ask(`${field.path}/_batch`, ask);
      if (isGoodOne && (isGood(outcome) || isUnknown(outcome))) {
        field.journal.marks.push({ name, rows: ids.length, acknowledged: isGood(outcome) });
        if (isGood(outcome)) field.done['acknowledged marks'] = (field.done['acknowledged marks'] ?? 0) + 1;
      } else if (isGoodOne || (outcome.status !== 404 && !isUnknown(outcome))) tell(`marks of ${ids.length}`, outcome);
    },
    100,
  );
}

/** A key works from the moment in which it was given, and not once after the moment in which its end was acknowledged. */
export function keeper(field: Field): Promise<void> {
  const tell = makeTell(field);
  const use = (key: string): Promise<Outcome> =>
    field.caller.ask(`${field.path}/entries?size=1&count=none`, { credential: key, fresh: true });
  return loop(
    field,
    'keys',
    async () => {
      const made = await field.caller.ask(`${field.adminPath}/api-keys`, {
        method: 'POST',
        credential: field.adminKey,
        body: { name: 'short-lived', permissions: 'READ_ONLY' },
        allowed: LONG_MS,
      });
      if (!isGood(made)) {
        if (!isUnknown(made)) tell('a new key', made);
        return;
      }
      const { id, key } = made.json.data as { id: number; key: string };
      for (let time = 0; time < 4; time++) {
        const used = await use(key);
        if (!isGood(used) && !isUnknown(used)) tell('a key that was just made', used);
      }
      const path = `${field.adminPath}/api-keys/${id}`;
      const revoked = await field.caller.ask(path, { method: 'DELETE', credential: field.adminKey, allowed: LONG_MS });
      if (!isGood(revoked)) {
        if (!isUnknown(revoked) && revoked.status !== 404) tell('the end of a key', revoked);
        return;
      }
      field.done.revoked = (field.done.revoked ?? 0) + 1;
      const watch = async (pause: number): Promise<void> => {
        await sleep(pause);
        const used = await use(key);
        if (isGood(used)) field.violation(`a key answered ${used.status} ${pause} ms after its end was acknowledged`);
        else if (used.status !== 401 && !isUnknown(used)) tell('a key that has ended', used);
      };
      await Promise.all([0, 0, 0, 0, 20, 100, 300, 700, 1500].map(watch));
    },
    200,
  );
}

// biome-ignore lint/suspicious/noExplicitAny: documents are JSON that the changes edit
type Document = any;

const CHANGES: readonly ((entries: Document) => void)[] = [
  ({ fields }) => {
    fields.amount.type = fields.amount.type === 'integer' ? 'bigint' : 'integer';
  },
  ({ fields }) => {
    if (fields.extra === undefined) fields.extra = { type: 'string', required: true, default: 'x' };
    else delete fields.extra;
  },
  ({ fields }) => {
    fields.value.index = fields.value.index !== true;
  },
  ({ fields }) => {
    const [from, to] = fields.note === undefined ? ['remark', 'note'] : ['note', 'remark'];
    fields[to as string] = { ...fields[from as string], renamedFrom: from };
    delete fields[from as string];
  },
];

/** Changes the schema of the entries again and again. */
export function migrator(field: Field): Promise<void> {
  const tell = makeTell(field);
  const path = `${field.adminPath}/schema`;
  return loop(
    field,
    'changes of the schema',
    async () => {
      const ask = { credential: field.adminKey, allowed: LONG_MS };
      const read = await field.caller.ask(path, ask);
      if (!isGood(read)) {
        if (!isUnknown(read)) tell('the schema', read);
        return;
      }
      const document = read.json.data;
      field.random.pick(CHANGES)(document.entities.entries);
      const target = `${path}?wait=3&allowDestructive=true`;
      const put = await field.caller.ask(target, { ...ask, method: 'PUT', body: document });
      // Another one runs still, of which the answer was lost.
      if (!isGood(put) && !isUnknown(put) && put.status !== 409) tell('a change of the schema', put);
      if (!isGood(put) || put.json.data?.state !== 'succeeded') return;
      field.done['acknowledged changes of the schema'] = (field.done['acknowledged changes of the schema'] ?? 0) + 1;
      // It is in force in every process: none refuses a new name, or stores under it what it stored there before.
      const { fields } = document.entities.entries;
      for (let time = 0; time < 4; time++) {
        const note = `note ${++drawn}`;
        const beside = {
          owner: USERS[0],
          [fields.note === undefined ? 'remark' : 'note']: note,
          ...(fields.extra === undefined ? {} : { extra: 'given' }),
        };
        await create(field, { owner: USERS[0], credential: field.ownerKey, beside, note });
      }
    },
    700,
  );
}

/** Asks for much and leaves before the answer. */
export function leaver(field: Field): Promise<void> {
  return loop(field, 'clients that left', async () => {
    await field.caller.ask(`${field.path}/entries?sort=token&filter=token,contains,${field.random.between(1, 999)}`, {
      credential: field.ownerKey,
      leaveAfter: field.random.between(1, 30),
    });
    await sleep(100);
  });
}
