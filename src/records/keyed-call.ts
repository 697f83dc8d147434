// A single call with an Idempotency-Key: what is one statement stores its key in that statement, everything else in a
// transaction of its own.
import type { KeptAnswer } from '../beside/keys.ts';
import { admit } from '../plan/plan.ts';
import { type Call, callAt } from '../request/call.ts';
import { OPERATIONS } from '../request/operations.ts';
import { writtenEnvelope } from '../response/envelope.ts';
import { jsonText, noContent, type Reply } from '../response/reply.ts';
import type { BatchRooms } from './batch.ts';
import type { Visitor } from './enter.ts';
import type { Journey } from './journey.ts';
import { type KeyOfTransaction, REPLAYED, wholeRecordQuery } from './keyed.ts';
import { together } from './together.ts';
import type { KeyOfWrite, RequestClock } from './visit.ts';

export interface KeyedJourney extends Journey {
  readonly clock: RequestClock;
}

/** True for a call whose write is one statement that a key can be added to. */
const isOneStatement = ({ operation, query }: Call): boolean =>
  operation === 'update' || operation === 'delete' || (operation === 'create' && query === '');

/** The answer of the call, stored under its key. */
export function writeKeyed(
  rooms: BatchRooms,
  journey: KeyedJourney,
  single: KeyOfWrite,
  several: KeyOfTransaction,
): Promise<Reply> {
  const { call } = journey;
  if (isOneStatement(call)) return rooms.travel({ ...journey, key: single });
  return together(rooms, { ...journey, isDryRun: false, isRepeatable: true }, async (executor, visitor) => {
    await several.begin(executor);
    const reply = await rooms.travel({ ...journey, executor, visitor });
    await several.finish(executor, reply, recordsOf(reply));
    return reply;
  });
}

type Meta = Readonly<Record<string, unknown>>;

/** What a replay asks for when the answer is too long to be kept: its ids as JSON, with `meta` when it has any. */
function recordsOf({ body }: Reply): string {
  if (body.kind !== 'text') return '[]';
  const { data, meta } = JSON.parse(body.text) as { data: { id: unknown } | readonly { id: unknown }[]; meta?: Meta };
  const ids = (Array.isArray(data) ? data : [data]).map(({ id }) => id);
  return JSON.stringify(meta === undefined ? ids : { ids, meta });
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
    if (principal.kind === 'external') {
      for (const id of ids) await readAnew(rooms, journey, visitor, id, IDS_ALONE);
    }
    return jsonText(kept.status, kept.body, { ...headers, ...said });
  }
  const query = asksForIds(call) ? IDS_ALONE : wholeRecordQuery(entity);
  const records: string[] = [];
  for (const id of ids) records.push(await readAnew(rooms, journey, visitor, id, query));
  const isOne = call.operation === 'create' || call.operation === 'update';
  const data = isOne ? (records[0] ?? 'null') : `[${records.join()}]`;
  return jsonText(kept.status, writtenEnvelope(data, meta), { ...headers, [REPLAYED]: 'read' });
}

const IDS_ALONE = 'fields=id&expand=';

const asksForIds = ({ query }: Call): boolean => new URLSearchParams(query).get('return') === 'minimal';

/** The JSON text of a record; 404 when it is not there for the visitor. */
async function readAnew(
  { travel, databases }: BatchRooms,
  journey: KeyedJourney,
  visitor: Visitor,
  id: number,
  query: string,
): Promise<string> {
  const body = () => Promise.resolve(undefined);
  const call = callAt('GET', journey.call.entity, String(id), { query, conditions: {}, body });
  const reply = await travel({ ...journey, call, visitor, executor: databases.of(visitor.workspace) });
  return reply.body.kind === 'text' ? reply.body.text.slice('{"data":'.length, -1) : 'null';
}
