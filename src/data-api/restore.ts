// Restores a record as it was after an event of its history, by the ordinary writes: an update, or for a deleted record a
// create with its id.
import { forbidden, preconditionFailed, recordNotFound, responseTooLarge } from '../errors.ts';
import type { Entity, Field } from '../model/entity.ts';
import { decodeValue } from '../model/field-types.ts';
import { mayAdminister } from '../model/principal.ts';
import { isWritable } from '../model/writable.ts';
import { decodeColumn, isSameColumn } from '../plan/assignment.ts';
import { planRead } from '../plan/plan.ts';
import { parseId } from '../request/call.ts';
import { isRecord } from '../request/members.ts';
import { parseParameters } from '../request/query-string.ts';
import { parseReadRequest } from '../request/record-request.ts';
import { parseRestoreRequest } from '../request/restore-request.ts';
import type { Reply } from '../response/reply.ts';
import { compile } from '../sql/compile.ts';
import type { EntityContext } from './context.ts';
import type { ExchangeDeps } from './exchange.ts';
import { isLimited, updateGranted } from './granted.ts';
import { type HistoryDeps, readEntry } from './history.ts';
import { buildRecordQuery } from './idempotency.ts';
import { runRead } from './reads.ts';
import { parseResponse } from './transaction.ts';
import { createWithId, findVersion, update } from './writes.ts';

type RecordValues = Readonly<Record<string, unknown>>;

/** Writes the record as it was. Throws 404 for an event that is not of this record, 403 unless an owner creates it again. */
export async function restore(deps: HistoryDeps & ExchangeDeps, context: EntityContext): Promise<Reply> {
  const { call, entity, principal, workspace } = context;
  parseParameters(call.query, []);
  const event = parseRestoreRequest(await call.body());
  const { record, columns } = await readEntry(deps, context, event);
  const stored = (await parseResponse(record, context)) as RecordValues;
  const isRestored = (field: Field): boolean =>
    isWritable(field) && columns.has(field.column) && Object.hasOwn(stored, field.name);
  const fields = [...entity.fields.values()].filter(isRestored);
  const values: RecordValues = Object.fromEntries(fields.map(({ name }) => [name, stored[name]]));
  const toContext = (body: RecordValues): EntityContext => ({
    ...context,
    call: { ...call, body: () => Promise.resolve(body) },
  });
  const id = parseId(call.id) ?? '0';
  if ((await findVersion(deps, context, id)) !== undefined) {
    const whole = toContext(protectObjects(values, entity));
    if (!isLimited(whole)) return update(deps, whole);
    const changes = protectObjects(await selectChanges(deps, context, values), entity);
    return updateGranted(deps, { ...whole, call: toContext(changes).call });
  }
  if (!mayAdminister(principal, workspace.id))
    throw forbidden('ADMIN_RIGHT_REQUIRED', 'Only an owner may restore a deleted record');
  if (call.conditions.ifMatch !== undefined) throw preconditionFailed();
  return createWithId(deps, toContext(values), id);
}

/** Marks objects as values, as they might look like operators of an update. */
const protectObjects = (values: RecordValues, { fields }: Entity): RecordValues =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      fields.get(name)?.type === 'json' && isRecord(value) ? { $value: value } : value,
    ]),
  );

/**
 * Returns the values that differ from those of the record, as grants may not allow to write the others. A field that only
 * some of the grants show may be null because it was hidden then: so it stays as it is.
 */
async function selectChanges(deps: HistoryDeps, context: EntityContext, values: RecordValues): Promise<RecordValues> {
  const { entity, principal, call } = context;
  const plan = planRead(parseReadRequest(buildRecordQuery(entity), deps.config), entity, context);
  const inputs = { id: parseId(call.id) ?? '0', principal };
  const [row] = await runRead(context, compile(plan, deps.compileOptions), inputs, 'write');
  if (row === undefined) throw recordNotFound();
  if (row.data === null) throw responseTooLarge(deps.config.maxResponseBytes);
  const current = (await parseResponse(row.data, context)) as RecordValues;
  return Object.fromEntries(
    Object.entries(values).filter(([name, value]) => {
      if (value === null && isPartial(entity, name)) return false;
      return !isSame(entity.fields.get(name) as Field, value, current[name]);
    }),
  );
}

const isPartial = ({ access }: Entity, name: string): boolean =>
  access?.grants.some(({ can, fields }) => (can.has('read') || can.has('history')) && !fields.has(name)) === true;

function isSame(field: Field, one: unknown, other: unknown): boolean {
  if (one === null || other === null) return one === other;
  const [a, b] = [decodeColumn(field, one, decodeValue), decodeColumn(field, other, decodeValue)];
  return a.ok && b.ok && isSameColumn(field, a.value, b.value);
}
