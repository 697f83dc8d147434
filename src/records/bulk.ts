// Many records of one entity in one request: one statement that writes all of them or none.
import { isRetryable, isStaleSnapshot, NOT_WHOLE, sqlState } from '../db/pg-error.ts';
import type { Database, Executor, Row } from '../db/pool.ts';
import type { Databases } from '../directory/databases.ts';
import {
  badRequest,
  type Detail,
  notUnique,
  serviceUnavailable,
  upsertWithVersion,
  validationFailed,
} from '../errors.ts';
import { inPieces } from '../http/json-body.ts';
import type { Entity } from '../model/entity.ts';
import { TOO_MUCH_GROWTH } from '../model/field-types.ts';
import { MAX_GROWTH } from '../model/json-digits.ts';
import { type Assignment, planAssignment } from '../plan/assignment.ts';
import { planBulkCreate, planBulkDelete, planBulkUpdate, planBulkUpsert } from '../plan/bulk.ts';
import { planKey } from '../plan/conflict-key.ts';
import { MAX_DETAILS } from '../plan/naming.ts';
import { idOnly, type Projection, wholeRecord } from '../plan/projection.ts';
import { foreignColumn, stampedColumns } from '../plan/row-policy.ts';
import { hidesRows } from '../plan/scan.ts';
import { planUpsertAssignment } from '../plan/upsert.ts';
import {
  type BulkDelete,
  type BulkOptions,
  type ItemOfUpdate,
  parseBulkCreateOptions,
  parseBulkOptions,
  parseBulkUpdateOptions,
  parseDeleteBody,
  parseIds,
  parseItem,
  parseRecords,
  type Target,
} from '../request/bulk.ts';
import { isRecord } from '../request/members.ts';
import type { Upsert } from '../request/upsert.ts';
import { writtenEnvelope } from '../response/envelope.ts';
import { json, jsonText, noContent, type Reply } from '../response/reply.ts';
import { bindQuery, type Cells, type Compiled } from '../sql/compile.ts';
import { type BulkWrite, dangling, explain, explainUpsert, inputsOf, namesOf, requireAll } from './bulk-refusals.ts';
import { recordError } from './record-error.ts';
import { type Visit, workOf } from './visit.ts';
import { repeatedly, type WriteRooms } from './writes.ts';

/** `databases`: where dry runs have transactions of their own. */
export type BulkRooms = WriteRooms & { readonly databases: Databases };

// {\"data\": [record, …]}
const RECORD_DEPTH = 3;

const DRY = { dryRun: true };

/** What is told of a write beside its records. */
const metaOf = ({ isDryRun }: BulkOptions) => (isDryRun ? DRY : {});

export async function bulkCreate(rooms: BulkRooms, visitor: Visit): Promise<Reply> {
  const options = parseBulkCreateOptions(visitor.call.query);
  const visit = visitOf(rooms, visitor, options);
  if (options.upsert !== undefined) return bulkUpsert(rooms, visit, options.upsert, options);
  const { entity, principal } = visit;
  const records = await bodyOf(rooms, visit, parseRecords);
  const stamped = stampedColumns(entity, principal);
  const { items, details } = await inPieces(
    assignments(records, (record) => planAssignment(record, entity, undefined, stamped)),
    visit.sender.turn,
    visit.sender.caller,
  );
  if (details.length > 0) throw allMistakes(details, await danglingOf(rooms, visit, records, items, undefined));
  if (items.length === 0) return jsonText(201, writtenEnvelope('[]', metaOf(options)));
  const { plan, items: whole } = planBulkCreate(items, entity, visit, projectionOf(entity, options));
  const what: BulkWrite = { kind: 'create', items: whole, listed: plan, targets: undefined };
  const { data } = await write(rooms, visit, rooms.prepared.write(visit, plan), what);
  return jsonText(201, writtenEnvelope(data, metaOf(options)));
}

const projectionOf = (entity: Entity, { isMinimal }: BulkOptions): Projection =>
  isMinimal ? idOnly(entity) : wholeRecord(entity);

/** 400 for the header that guards one record: ignored, it would let others be overwritten. */
function refuseIfMatch({ call }: Visit, where: string): void {
  if (call.conditions.ifMatch === undefined) return;
  throw badRequest(`If-Match is for one record. Of many each has its own version: ${where}`);
}

/** In a dry run whatever its statements write is undone at once. */
function visitOf({ databases }: BulkRooms, visit: Visit, { isDryRun }: BulkOptions): Visit {
  return isDryRun ? { ...visit, executor: undoing(databases.of(visit.workspace), visit) } : visit;
}

/** Runs each statement in a transaction of its own, which is rolled back. */
function undoing(database: Database, { workspace, sender, clock, place }: Visit): Executor {
  return {
    isTransaction: false,
    async run(query, lane, work) {
      let rows: readonly Row[] = [];
      const undone = new Error('a dry run is undone');
      const options = { tenant: workspace.id, deadline: clock.deadline, caller: sender.caller, place };
      try {
        await database.transaction(
          async ({ executor }) => {
            rows = await executor.run(query, lane, work);
            throw undone;
          },
          { ...options, purpose: 'batch' },
        );
      } catch (error) {
        if (error !== undone) throw error;
      }
      return rows;
    },
  };
}

async function bulkUpsert(rooms: BulkRooms, visit: Visit, upsert: Upsert, options: BulkOptions): Promise<Reply> {
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
  const counted = (data: string, inserted: number, updated: number): Reply =>
    jsonText(200, writtenEnvelope(data, { inserted, updated, ...metaOf(options) }));
  if (items.length === 0) return counted('[]', 0, 0);
  const { plan, items: whole } = planBulkUpsert(items, key, entity, visit, projectionOf(entity, options));
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
      const asking = besideTransaction(rooms, visit);
      if (!UNDONE.includes(sqlState(error) ?? '')) {
        await explain(rooms, asking, what, error);
        throw recordError(error, visit.workspace, entity.name, 'create');
      }
      await explainUpsert(rooms, asking, what, key);
      // What came after the statement began to look is seen by the next.
      if (attempts === 1 && !executor.isTransaction) return undefined;
      if (hidesRows(plan.scan)) throw notUnique(namesOf(key.fields), error);
      if (executor.isTransaction) throw serviceUnavailable('The records are changing at the moment; retry', 1, error);
      return undefined;
    }
  });
  return counted(data, inserted, key.mode === 'skip' ? 0 : items.length - inserted);
}

/** Who asks why a statement was refused: its transaction, which holds nothing else, cannot be asked any more. */
function besideTransaction({ databases }: BulkRooms, visit: Visit): Visit {
  return visit.executor.isTransaction ? { ...visit, executor: databases.of(visit.workspace) } : visit;
}

// PostgreSQL's for a record that one statement would change twice, and ours.
const UNDONE: readonly string[] = ['21000', NOT_WHOLE];

export async function bulkUpdate(rooms: BulkRooms, visitor: Visit): Promise<Reply> {
  refuseIfMatch(visitor, 'give it as "$version" of the record');
  const options = parseBulkUpdateOptions(visitor.call.query);
  const visit = visitOf(rooms, visitor, options);
  const { entity, principal } = visit;
  const records = await bodyOf(rooms, visit, parseRecords);
  const { items, targets, details } = await inPieces(changes(records, visit), visit.sender.turn, visit.sender.caller);
  if (details.length > 0) {
    throw allMistakes(details, await danglingOf(rooms, visit, records, items, targets));
  }
  const told = (data: string, versions: string | null): Reply =>
    jsonText(
      200,
      writtenEnvelope(data, { ...(versions === null ? {} : { versions: JSON.parse(versions) }), ...metaOf(options) }),
    );
  if (items.length === 0) return told('[]', options.versions ? '[]' : null);
  // A record of somebody else does not exist, whatever is asked of it.
  if (items.some((item) => foreignColumn(entity, principal, item) !== undefined))
    await requireAll(rooms, visit, targets);
  const guarded = targets.some(({ version }) => version !== undefined);
  const { versions } = options;
  const plan = planBulkUpdate(items, entity, visit, { guarded, versions, projection: projectionOf(entity, options) });
  const what: BulkWrite = { kind: 'update', items, listed: plan, targets };
  const written = await write(rooms, visit, rooms.prepared.write(visit, plan), what);
  return told(written.data, written.versions);
}

/** Dangling references beside other mistakes: when every record could be read that far, so that each has its place. */
async function danglingOf(
  rooms: WriteRooms,
  visit: Visit,
  records: readonly unknown[],
  items: readonly Assignment[],
  targets: readonly Target[] | undefined,
): Promise<readonly Detail[]> {
  if (items.length < records.length || (targets !== undefined && targets.length < records.length)) return [];
  return dangling(rooms, visit, items, targets);
}

function allMistakes(details: readonly Detail[], further: readonly Detail[]): Error {
  const all = [...details, ...further].sort((a, b) => (a.index ?? 0) - (b.index ?? 0));
  return validationFailed(all.slice(0, MAX_DETAILS));
}

export async function bulkDelete(rooms: BulkRooms, visit: Visit): Promise<Reply> {
  const what = parseIds(visit.call.query, rooms.config.maxBulk);
  return deleteAll(rooms, visitOf(rooms, visit, what), what, what);
}

export async function bulkDeleteListed(rooms: BulkRooms, visit: Visit): Promise<Reply> {
  const options = parseBulkOptions(visit.call.query);
  return deleteAll(rooms, visitOf(rooms, visit, options), await bodyOf(rooms, visit, parseDeleteBody), options);
}

async function deleteAll(
  rooms: BulkRooms,
  visit: Visit,
  { targets }: BulkDelete,
  { isDryRun }: BulkOptions,
): Promise<Reply> {
  refuseIfMatch(visit, 'POST …/_bulk/delete takes {"ids": [1], "versions": {"1": "…"}}');
  // Nobody should take it for a delete.
  const done = isDryRun ? json(200, { meta: DRY }) : noContent();
  if (targets.length === 0) return done;
  const guarded = targets.some(({ version }) => version !== undefined);
  const plan = planBulkDelete(visit.entity, visit, guarded);
  const what: BulkWrite = { kind: 'delete', items: [], listed: undefined, targets };
  await write(rooms, visit, rooms.prepared.write(visit, plan), what);
  return done;
}

async function bodyOf<T>(
  { config }: WriteRooms,
  { call }: Visit,
  parse: (body: unknown, most: number) => T,
): Promise<T> {
  return parse(await call.body({ maxBytes: config.maxBulkBytes, recordDepth: RECORD_DEPTH }), config.maxBulk);
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
): Generator<undefined, Assigned & { readonly targets: readonly Target[] }> {
  const targets: Target[] = [];
  const mistakes: Detail[] = [];
  const seen = new Map<string, number>();
  const parsed: (ItemOfUpdate | readonly Detail[])[] = [];
  for (const [index, record] of records.entries()) {
    yield undefined;
    const item = parseItem(record, index);
    parsed.push(item);
    if (!('id' in item)) mistakes.push(...item);
    else {
      targets.push({ id: item.id, name: item.name, version: item.version });
      const first = seen.get(item.name);
      if (first === undefined) seen.set(item.name, index);
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
async function write<Row>(rooms: BulkRooms, visit: Visit, statement: Compiled<Row>, what: BulkWrite): Promise<Row> {
  const bound = bindQuery(statement, inputsOf(visit, what));
  const { executor } = visit;
  return repeatedly(visit, async () => {
    try {
      const [row] = await executor.run(bound, 'write', workOf(visit, statement.expected));
      // A delete counts, and of none it tells by that.
      if (row !== undefined && (what.kind !== 'delete' || row[0] !== '0')) return statement.read(row);
    } catch (error) {
      if (isStaleSnapshot(error) || isRetryable(error)) throw error;
      await explain(rooms, besideTransaction(rooms, visit), what, error);
      throw recordError(error, visit.workspace, visit.entity.name, what.kind);
    }
    await requireAll(rooms, visit, what.targets ?? []);
    const details = await dangling(rooms, visit, what.items, what.targets);
    if (details.length > 0) throw validationFailed(details);
    return undefined;
  });
}
