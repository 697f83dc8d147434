// Many records of one entity in one request: one statement that writes all of them or none. What stands in its way is
// looked for when it has refused, so that records that nothing stands in the way of are asked for nothing.
import { isRetryable, isStaleSnapshot, sqlState, violatedConstraint } from '../db/pg-error.ts';
import {
  conflict,
  type Detail,
  type DetailCode,
  recordsChanged,
  recordsNotFound,
  validationFailed,
} from '../errors.ts';
import { inPieces } from '../http/json-body.ts';
import type { Field } from '../model/entity.ts';
import { TOO_MUCH_GROWTH } from '../model/field-types.ts';
import { MAX_GROWTH } from '../model/json-digits.ts';
import { type Assignment, planAssignment } from '../plan/assignment.ts';
import {
  IDS,
  type Listed,
  type Lists,
  listsOf,
  planBulkCreate,
  planBulkDelete,
  planBulkUpdate,
  planDangling,
  planFind,
  planTaken,
  VERSIONS,
} from '../plan/bulk.ts';
import { MAX_DETAILS } from '../plan/naming.ts';
import { idOnly, wholeRecord } from '../plan/projection.ts';
import { foreignColumn, stampedColumns } from '../plan/row-policy.ts';
import {
  type BulkDelete,
  type ItemOfUpdate,
  parseBulkOptions,
  parseDeleteBody,
  parseIds,
  parseItem,
  parseRecords,
} from '../request/bulk.ts';
import { isRecord } from '../request/members.ts';
import { recordEnvelope } from '../response/envelope.ts';
import { jsonText, noContent, type Reply } from '../response/reply.ts';
import { bindQuery, type Compiled, compile, type Inputs } from '../sql/compile.ts';
import { recordError, type WriteKind } from './record-error.ts';
import { runRead, type Visit, workOf } from './visit.ts';
import { repeatedly, type WriteRooms } from './writes.ts';

/** Records that are written together. `targets`: which ones, for those that are there already. */
interface BulkWrite {
  readonly kind: WriteKind;
  readonly items: readonly Assignment[];
  readonly listed: Listed | undefined;
  readonly targets: readonly BulkTarget[] | undefined;
}

interface BulkTarget {
  readonly id: string;
  readonly version: string | undefined;
}

const EMPTY = recordEnvelope('[]');

export async function bulkCreate(rooms: WriteRooms, visit: Visit): Promise<Reply> {
  const { call, entity, principal } = visit;
  const { isMinimal } = parseBulkOptions(call.query);
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

/** Throws the refusal that names the records which the database refused, when they can be found. */
async function explain(rooms: WriteRooms, visit: Visit, what: BulkWrite, error: unknown): Promise<void> {
  switch (sqlState(error)) {
    case '23503': {
      const details = await dangling(rooms, visit, what.items, what.targets);
      if (details.length > 0) throw validationFailed(details);
      return;
    }
    case '23505': {
      const fields = uniqueFields(visit, error);
      if (fields === undefined || what.listed === undefined) return;
      const names = fields.map(({ name }) => name).join(', ');
      const plan = planTaken(what.items, fields, visit.entity, visit, what.targets !== undefined);
      const taken = await runRead(visit, compile(plan, rooms.compileOptions), inputsOf(visit, what), 'write');
      if (taken.length === 0) return;
      const details = taken.map(({ index, other, isThere }) => ({
        index,
        field: names,
        code: 'NOT_UNIQUE' as const,
        message: isThere
          ? 'must be unique: another record has this value'
          : `must be unique: record ${other} of the request has this value, too`,
      }));
      const message = taken.some(({ isThere }) => isThere)
        ? `A record with this ${names} exists already`
        : `Records of the request have the same ${names}`;
      throw conflict(message, details, error);
    }
    default:
  }
}

/** The fields of the constraint that was violated, if the records of a request give all of them. */
function uniqueFields({ workspace, entity }: Visit, error: unknown): readonly Field[] | undefined {
  const owner = workspace.constraints.get(violatedConstraint(error) ?? '');
  if (owner?.kind !== 'unique' || owner.entity !== entity.name) return undefined;
  const fields = owner.fields.map((name) => entity.fields.get(name));
  return fields.includes(undefined) ? undefined : (fields as Field[]);
}

/** 404 when one of the records is not there for the principal, 412 when one has not the version that it must have. */
async function requireAll(rooms: WriteRooms, visit: Visit, targets: readonly BulkTarget[]): Promise<void> {
  if (targets.length === 0) return;
  const statement = compile(planFind(visit.entity, visit), rooms.compileOptions);
  const lists: Lists = new Map([[IDS, targets.map(({ id }) => id)]]);
  const found = await runRead(visit, statement, { principal: visit.principal, lists }, 'write');
  const versions = new Map(found.map(({ id, version }) => [id, version]));
  const missing = targets.filter(({ id }) => !versions.has(id));
  if (missing.length > 0) throw recordsNotFound(missing.map(({ id }) => id));
  const changed = targets.flatMap(({ id, version }, index) =>
    version === undefined || version === versions.get(id) ? [] : [{ index, ...CHANGED }],
  );
  if (changed.length > 0) throw recordsChanged(changed.slice(0, MAX_DETAILS));
}

const CHANGED = { field: null, code: 'CHANGED', message: 'has changed since it was read' } as const;

/** References of the records that lead to nothing that the principal can see. */
async function dangling(
  rooms: WriteRooms,
  visit: Visit,
  items: readonly Assignment[],
  targets: readonly BulkTarget[] | undefined,
): Promise<Detail[]> {
  const plan = planDangling(items, visit.entity, visit, targets !== undefined);
  if (plan === undefined) return [];
  const inputs = inputsOf(visit, { kind: 'create', items, listed: plan, targets });
  const rows = await runRead(visit, compile(plan, rooms.compileOptions), inputs, 'write');
  const code: DetailCode = 'REFERENCE_NOT_FOUND';
  return rows.map((row) => ({ ...row, code, message: 'refers to a record that does not exist' }));
}

function inputsOf({ principal }: Visit, { items, listed, targets }: BulkWrite): Inputs {
  const lists = listed === undefined ? new Map<string, readonly (string | null)[]>() : listsOf(items, listed);
  if (targets !== undefined) {
    lists.set(
      IDS,
      targets.map(({ id }) => id),
    );
    lists.set(
      VERSIONS,
      targets.map(({ version }) => version ?? null),
    );
  }
  return { principal, lists };
}
