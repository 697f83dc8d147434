// Many records of one entity in one request: one statement that writes all of them or none.
import { isRetryable, isStaleSnapshot, NOT_WHOLE, sqlState } from '../db/pg-error.ts';
import { type Detail, notUnique, upsertWithVersion, validationFailed } from '../errors.ts';
import { inPieces } from '../http/json-body.ts';
import { TOO_MUCH_GROWTH } from '../model/field-types.ts';
import { MAX_GROWTH } from '../model/json-digits.ts';
import { type Assignment, planAssignment } from '../plan/assignment.ts';
import { planBulkCreate, planBulkDelete, planBulkUpdate, planBulkUpsert } from '../plan/bulk.ts';
import { planKey } from '../plan/conflict-key.ts';
import { MAX_DETAILS } from '../plan/naming.ts';
import { idOnly, wholeRecord } from '../plan/projection.ts';
import { foreignColumn, stampedColumns } from '../plan/row-policy.ts';
import { hidesRows } from '../plan/scan.ts';
import { planUpsertAssignment } from '../plan/upsert.ts';
import {
  type BulkDelete,
  type ItemOfUpdate,
  parseBulkCreateOptions,
  parseBulkOptions,
  parseDeleteBody,
  parseIds,
  parseItem,
  parseRecords,
} from '../request/bulk.ts';
import { isRecord } from '../request/members.ts';
import type { Upsert } from '../request/upsert.ts';
import { recordEnvelope, upsertEnvelope } from '../response/envelope.ts';
import { jsonText, noContent, type Reply } from '../response/reply.ts';
import { bindQuery, type Cells, type Compiled } from '../sql/compile.ts';
import {
  type BulkTarget,
  type BulkWrite,
  dangling,
  explain,
  explainUpsert,
  inputsOf,
  namesOf,
  requireAll,
} from './bulk-refusals.ts';
import { recordError } from './record-error.ts';
import { type Visit, workOf } from './visit.ts';
import { repeatedly, type WriteRooms } from './writes.ts';

const EMPTY = recordEnvelope('[]');

export async function bulkCreate(rooms: WriteRooms, visit: Visit): Promise<Reply> {
  const { call, entity, principal } = visit;
  const { isMinimal, upsert } = parseBulkCreateOptions(call.query);
  if (upsert !== undefined) return bulkUpsert(rooms, visit, upsert, isMinimal);
  const records = await bodyOf(rooms, visit, parseRecords);
  const stamped = stampedColumns(entity, principal);
  const { items, details } = await inPieces(
    assignments(records, (record) => planAssignment(record, entity, undefined, stamped)),
    visit.sender.turn,
    visit.sender.caller,
  );
  if (details.length > 0) throw allMistakes(details, await danglingOf(rooms, visit, records, items, undefined));
  if (items.length === 0) return jsonText(201, EMPTY);
  const { plan, items: whole } = planBulkCreate(items, entity, visit, isMinimal ? idOnly(entity) : wholeRecord(entity));
  const what: BulkWrite = { kind: 'create', items: whole, listed: plan, targets: undefined };
  const { data } = await write(rooms, visit, rooms.prepared.write(visit, plan), what);
  return jsonText(201, recordEnvelope(data));
}

async function bulkUpsert(rooms: WriteRooms, visit: Visit, upsert: Upsert, isMinimal: boolean): Promise<Reply> {
  const { call, entity, executor, sender } = visit;
  if (call.conditions.ifMatch !== undefined) throw upsertWithVersion();
  const key = planKey(upsert, entity, visit);
  const records = await bodyOf(rooms, visit, parseRecords);
  const { items, details } = await inPieces(
    assignments(records, (record) => planUpsertAssignment(record, entity, visit, key)),
    sender.turn,
    sender.caller,
  );
  if (details.length > 0) throw allMistakes(details, await danglingOf(rooms, visit, records, items, undefined));
  if (items.length === 0) return jsonText(200, upsertEnvelope('[]', 0, 0));
  const projection = isMinimal ? idOnly(entity) : wholeRecord(entity);
  const { plan, items: whole } = planBulkUpsert(items, key, entity, visit, projection);
  const statement = rooms.prepared.write(visit, plan);
  const what: BulkWrite = { kind: 'create', items: whole, listed: plan, targets: undefined, key: key.fields };
  const bound = bindQuery(statement, inputsOf(visit, what));
  let attempts = 0;
  const { data, inserted } = await repeatedly(visit, async () => {
    attempts++;
    try {
      const [row] = await executor.run(bound, 'write', workOf(visit, statement.expected));
      return statement.read(row as Cells);
    } catch (error) {
      if (isStaleSnapshot(error) || isRetryable(error)) throw error;
      const isIncomplete = UNDONE.includes(sqlState(error) ?? '');
      if (!executor.isTransaction && isIncomplete) {
        await explainUpsert(rooms, visit, what, key);
        // What came after the statement began to look is seen by the next.
        if (attempts === 1) return undefined;
      }
      if (isIncomplete && hidesRows(plan.scan)) throw notUnique(namesOf(key.fields), error);
      if (isIncomplete) return undefined;
      if (!executor.isTransaction) await explain(rooms, visit, what, error);
      throw recordError(error, visit.workspace, entity.name, 'create');
    }
  });
  return jsonText(200, upsertEnvelope(data, inserted, key.mode === 'skip' ? 0 : items.length - inserted));
}

// PostgreSQL's for a record that one statement would change twice, and ours.
const UNDONE: readonly string[] = ['21000', NOT_WHOLE];

export async function bulkUpdate(rooms: WriteRooms, visit: Visit): Promise<Reply> {
  const { call, entity, principal } = visit;
  const { isMinimal } = parseBulkOptions(call.query);
  const records = await bodyOf(rooms, visit, parseRecords);
  const { items, targets, details } = await inPieces(changes(records, visit), visit.sender.turn, visit.sender.caller);
  if (details.length > 0) {
    throw allMistakes(details, await danglingOf(rooms, visit, records, items, targets));
  }
  if (items.length === 0) return jsonText(200, EMPTY);
  // A record of somebody else does not exist, whatever is asked of it.
  if (items.some((item) => foreignColumn(entity, principal, item) !== undefined))
    await requireAll(rooms, visit, targets);
  const guarded = targets.some(({ version }) => version !== undefined);
  const projection = isMinimal ? idOnly(entity) : wholeRecord(entity);
  const plan = planBulkUpdate(items, entity, visit, { guarded, projection });
  const what: BulkWrite = { kind: 'update', items, listed: plan, targets };
  const { data } = await write(rooms, visit, rooms.prepared.write(visit, plan), what);
  return jsonText(200, recordEnvelope(data));
}

/** Dangling references beside other mistakes: when every record could be read that far, so that each has its place. */
async function danglingOf(
  rooms: WriteRooms,
  visit: Visit,
  records: readonly unknown[],
  items: readonly Assignment[],
  targets: readonly BulkTarget[] | undefined,
): Promise<readonly Detail[]> {
  if (items.length < records.length || (targets !== undefined && targets.length < records.length)) return [];
  return dangling(rooms, visit, items, targets);
}

function allMistakes(details: readonly Detail[], further: readonly Detail[]): Error {
  const all = [...details, ...further].sort((a, b) => (a.index ?? 0) - (b.index ?? 0));
  return validationFailed(all.slice(0, MAX_DETAILS));
}

export async function bulkDelete(rooms: WriteRooms, visit: Visit): Promise<Reply> {
  return deleteAll(rooms, visit, parseIds(visit.call.query, rooms.config.maxBulk));
}

export async function bulkDeleteListed(rooms: WriteRooms, visit: Visit): Promise<Reply> {
  parseBulkOptions(visit.call.query);
  return deleteAll(rooms, visit, await bodyOf(rooms, visit, parseDeleteBody));
}

async function deleteAll(rooms: WriteRooms, visit: Visit, { ids, versions }: BulkDelete): Promise<Reply> {
  if (ids.length === 0) return noContent();
  const targets = ids.map((id) => ({ id, version: versions.get(id) }));
  const plan = planBulkDelete(visit.entity, visit, versions.size > 0);
  const what: BulkWrite = { kind: 'delete', items: [], listed: undefined, targets };
  await write(rooms, visit, rooms.prepared.write(visit, plan), what);
  return noContent();
}

async function bodyOf<T>(
  { config }: WriteRooms,
  { call }: Visit,
  parse: (body: unknown, most: number) => T,
): Promise<T> {
  return parse(await call.body(config.maxBulkBytes), config.maxBulk);
}

interface Assigned {
  readonly items: readonly Assignment[];
  readonly details: readonly Detail[];
}

/** Checks the records one by one, in pieces, until there are as many mistakes as one answer tells. */
function* assignments(
  records: readonly unknown[],
  assign: (record: unknown) => ReturnType<typeof planAssignment>,
): Generator<undefined, Assigned> {
  const items: Assignment[] = [];
  const details: Detail[] = [];
  let growth = 0;
  for (const [index, record] of records.entries()) {
    yield undefined;
    if (details.length >= MAX_DETAILS) break;
    if (!isRecord(record)) {
      details.push({ index, field: null, code: 'TYPE_MISMATCH', message: 'must be a JSON object' });
      continue;
    }
    const assigned = assign(record);
    items.push(assigned.values);
    details.push(...assigned.details.map((detail) => ({ index, ...detail })));
    growth += assigned.growth;
    if (growth > MAX_GROWTH && assigned.details.length === 0) {
      details.push({
        index,
        field: null,
        code: 'OUT_OF_RANGE',
        message: `with the records before it ${TOO_MUCH_GROWTH}`,
      });
      break;
    }
  }
  return { items, details };
}

/** The records of an update, with what each of them changes. */
function* changes(
  records: readonly unknown[],
  { entity }: Visit,
): Generator<undefined, Assigned & { readonly targets: readonly BulkTarget[] }> {
  const targets: BulkTarget[] = [];
  const mistakes: Detail[] = [];
  const seen = new Map<string, number>();
  const parsed = records.map(parseItem);
  for (const [index, item] of parsed.entries()) {
    if (!('id' in item)) mistakes.push(...item);
    else {
      targets.push({ id: item.id, version: item.version });
      const first = seen.get(item.id);
      if (first === undefined) seen.set(item.id, index);
      else
        mistakes.push({
          index,
          field: 'id',
          code: 'INVALID',
          message: `is the id of record ${first} of the request, too`,
        });
    }
  }
  const updates = parsed.filter((item): item is ItemOfUpdate => 'id' in item);
  const { items, details } = yield* assignments(
    updates.map(({ fields }) => fields),
    (fields) => planAssignment(fields, entity, ''),
  );
  const places = [...parsed.keys()].filter((index) => 'id' in (parsed[index] as object));
  const located = details.map((detail) => ({ ...detail, index: places[detail.index ?? 0] as number }));
  const all = [...mistakes, ...located].sort((a, b) => (a.index ?? 0) - (b.index ?? 0));
  return { items, targets, details: all.slice(0, MAX_DETAILS) };
}

/** The statement wrote all, or it is known which records stand in its way; see repeatedly(). */
async function write<Row>(rooms: WriteRooms, visit: Visit, statement: Compiled<Row>, what: BulkWrite): Promise<Row> {
  const bound = bindQuery(statement, inputsOf(visit, what));
  const { executor } = visit;
  return repeatedly(visit, async () => {
    try {
      const [row] = await executor.run(bound, 'write', workOf(visit, statement.expected));
      // A delete counts, and of none it tells by that.
      if (row !== undefined && (what.kind !== 'delete' || row[0] !== '0')) return statement.read(row);
    } catch (error) {
      if (isStaleSnapshot(error) || isRetryable(error)) throw error;
      if (!executor.isTransaction) await explain(rooms, visit, what, error);
      throw recordError(error, visit.workspace, visit.entity.name, what.kind);
    }
    await requireAll(rooms, visit, what.targets ?? []);
    const details = await dangling(rooms, visit, what.items, what.targets);
    if (details.length > 0) throw validationFailed(details);
    return undefined;
  });
}
