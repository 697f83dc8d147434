// A single call with an Idempotency-Key: what is one statement stores its key in that statement, everything else in a
// transaction of its own. So do all writes on a Citus cluster: of a statement that writes to two tables it copies the rows
// between them to all workers, also to one that is down and has nothing to do with the workspace.
import type { KeptAnswer } from '../beside/keys.ts';
import { recordNotFound, replayTooLarge } from '../errors.ts';
import { admit } from '../plan/plan.ts';
import { type Call, callAt } from '../request/call.ts';
import { OPERATIONS } from '../request/operations.ts';
import { writtenEnvelope } from '../response/envelope.ts';
import { jsonText, noContent, type Reply } from '../response/reply.ts';
import { withFreshSnapshot } from './again.ts';
import type { BatchRooms } from './batch.ts';
import { readAnswer } from './batch-operations.ts';
import type { Visitor } from './enter.ts';
import type { Journey } from './journey.ts';
import { type KeyOfTransaction, REPLAYED, wholeRecordQuery } from './keyed.ts';
import { together } from './together.ts';
import type { KeyOfWrite, RequestClock, Sender } from './visit.ts';

export interface KeyedJourney extends Journey {
  readonly clock: RequestClock;
}

/** True for a call whose write is one statement that a key can be added to. */
const isOneStatement = ({ operation, query }: Call): boolean =>
  operation === 'update' || operation === 'delete' || (operation === 'create' && query === '');

/** The answer of the call, stored under its key. Without `single` the key is taken before the write. */
export async function writeKeyed(
  rooms: BatchRooms,
  journey: KeyedJourney,
  single: KeyOfWrite | undefined,
  several: KeyOfTransaction,
): Promise<Reply> {
  const { call, visitor } = journey;
  const isDistributed = visitor.workspace.entities.get(call.entity)?.isDistributed === true;
  if (single !== undefined && isOneStatement(call) && !isDistributed) return rooms.travel({ ...journey, key: single });
  await admitted(rooms, journey);
  await several.arrive();
  return together(rooms, { ...journey, isDryRun: false, isRepeatable: true }, async (executor, visitor) => {
    await several.begin(executor);
    const reply = await rooms.travel({ ...journey, executor, visitor });
    await several.finish(executor, reply, await recordsOf(reply, journey.sender));
    return reply;
  });
}

/** Throws what refuses the call whatever its body says, so that nobody waits for that. */
async function admitted(
  { snapshots }: BatchRooms,
  { call, executor, clock, again, visitor }: KeyedJourney,
): Promise<void> {
  const { access } = OPERATIONS[call.operation];
  await withFreshSnapshot(snapshots, { call, executor, clock, again }, visitor, async ({ workspace, principal }) => {
    admit(workspace, principal, call.entity, access);
  });
}

type Meta = Readonly<Record<string, unknown>>;

/** What a replay asks for when the answer is too long to be kept: its ids as JSON, with `meta` when it has any. */
async function recordsOf({ body }: Reply, sender: Sender): Promise<string> {
  if (body.kind !== 'text') return '[]';
  const { data, meta } = (await readAnswer(body.text, sender)) as Answered;
  const ids = [data].flat().map(({ id }) => id);
  return JSON.stringify(meta === undefined ? ids : { ids, meta });
}

interface Answered {
  readonly data: { readonly id: unknown } | readonly { readonly id: unknown }[];
  readonly meta?: Meta;
}

function parseRecords(text: string): { readonly ids: readonly number[]; readonly meta: Meta } {
  const kept = JSON.parse(text) as readonly number[] | { ids: readonly number[]; meta: Meta };
  return 'ids' in kept ? kept : { ids: kept, meta: {} };
}

/** The answer again, for who may still write and, if it holds records, see them all. */
export async function replayCall(rooms: BatchRooms, journey: KeyedJourney, kept: KeptAnswer): Promise<Reply> {
  const { call, again } = journey;
  const visitor = await again();
  const { workspace, principal } = visitor;
  const entity = admit(workspace, principal, call.entity, OPERATIONS[call.operation].access);
  const said = { [REPLAYED]: 'true' };
  if (kept.status === 204) return noContent(said);
  const { ids, meta } = parseRecords(kept.records ?? '[]');
  const headers = {
    ...(kept.etag === null ? {} : { ETag: kept.etag }),
    ...(kept.location === null ? {} : { Location: kept.location }),
  };
  if (kept.body !== null) {
    if (principal.kind === 'external') await seeAll(rooms, journey, visitor, ids);
    return jsonText(kept.status, kept.body, { ...headers, ...said });
  }
  const read = { [REPLAYED]: 'read' };
  if (call.operation === 'create' || call.operation === 'update') {
    const query = wholeRecordQuery(entity);
    const { text, etag } = await readFor(rooms, journey, visitor, { segment: String(ids[0]), query });
    return jsonText(kept.status, text, { ...headers, ...(etag === undefined ? {} : { ETag: etag }), ...read });
  }
  if (asksForIds(call)) await seeAll(rooms, journey, visitor, ids);
  const records = asksForIds(call)
    ? ids.map((id) => `{"id":${id}}`)
    : await readAll(rooms, journey, visitor, { ids, query: wholeRecordQuery(entity) });
  return jsonText(kept.status, writtenEnvelope(`[${records.join()}]`, meta), { ...headers, ...read });
}

// Reads that are under way together, so that a database far away is not waited for a thousand times.
const READS_AT_ONCE = 8;

/** The records as they are now; 404 when one is not there for the visitor, 400 when they have grown too large together. */
async function readAll(
  rooms: BatchRooms,
  journey: KeyedJourney,
  visitor: Visitor,
  { ids, query }: { readonly ids: readonly number[]; readonly query: string },
): Promise<string[]> {
  const records: string[] = [];
  const { maxResponseBytes } = rooms.config;
  let bytes = 0;
  for (let from = 0; from < ids.length; from += READS_AT_ONCE) {
    const some = ids.slice(from, from + READS_AT_ONCE);
    const answers = await Promise.all(
      some.map((id) => readFor(rooms, journey, visitor, { segment: String(id), query })),
    );
    for (const { text } of answers) {
      bytes += Buffer.byteLength(text);
      if (bytes > maxResponseBytes) throw replayTooLarge(maxResponseBytes);
      records.push(text.slice('{"data":'.length, -1));
    }
  }
  return records;
}

const asksForIds = ({ query }: Call): boolean => new URLSearchParams(query).get('return') === 'minimal';

// The most that `in` takes.
const AT_ONCE = 1000;

/** 404 when one of the records is not there for the visitor: a statement for each thousand. */
async function seeAll(
  rooms: BatchRooms,
  journey: KeyedJourney,
  visitor: Visitor,
  ids: readonly number[],
): Promise<void> {
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    const some = new Set(ids.slice(from, from + AT_ONCE));
    const query = `select=count&filter=id,in,${[...some].join()}`;
    const { text } = await readFor(rooms, journey, visitor, { segment: '_aggregate', query });
    const { data } = JSON.parse(text) as { readonly data: readonly { readonly count: number }[] };
    if (data[0]?.count !== some.size) throw recordNotFound();
  }
}

/** What the visitor is answered who reads from the entity of the call; `etag`: of a record. */
async function readFor(
  { travel, databases }: BatchRooms,
  journey: KeyedJourney,
  visitor: Visitor,
  { segment, query }: { readonly segment: string; readonly query: string },
): Promise<{ readonly text: string; readonly etag: string | undefined }> {
  const body = () => Promise.resolve(undefined);
  const call = callAt('GET', journey.call.entity, segment, { query, conditions: {}, body });
  const clock = journey.clock.part();
  const reply = await travel({ ...journey, call, visitor, clock, executor: databases.of(visitor.workspace) });
  if (reply.body.kind !== 'text') throw new TypeError('a read answers with text');
  return { text: reply.body.text, etag: reply.headers.ETag };
}
