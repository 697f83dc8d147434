// Lets the rows of a file take over unique values of each other, as exchange.ts does for the records of a request.
import type { Session } from '../../database/pool.ts';
import { type Field, keepsChanges } from '../../model/entity.ts';
import type { ImportPlan } from '../../plan/import-plan.ts';
import { findHeldValues, importQuery } from '../../sql/import.ts';
import { CHECK_CONSTRAINTS, DEFER_CONSTRAINTS, mergeChanges } from '../../sql/unique-values.ts';
import type { EntityContext } from '../context.ts';
import { compileSpares, drawSpareValue, getSparedFields } from '../exchange.ts';

// Records of one statement: some 2 MB of values.
const CHUNK_SIZE = 20_000;

/** Runs `write` after the records whose unique values other rows take over have been given spare values. */
export async function writeExchanged<T>(
  session: Session,
  context: EntityContext,
  plan: ImportPlan,
  write: () => Promise<T>,
): Promise<T> {
  await session.query(DEFER_CONSTRAINTS);
  for (const fields of plan.uniques)
    for (const field of getSparedFields(fields, context)) await spareValues(session, context, plan, fields, field);
  const result = await write();
  if (keepsChanges(context.entity.settings)) await session.query(mergeChanges(context.entity));
  await session.query(CHECK_CONSTRAINTS);
  return result;
}

async function spareValues(
  session: Session,
  context: EntityContext,
  plan: ImportPlan,
  fields: readonly Field[],
  field: Field,
): Promise<void> {
  const query = importQuery(findHeldValues(plan, fields, field, CHUNK_SIZE), context.principal);
  for (;;) {
    const rows = await session.query<{ id: string }>(query);
    const items = rows.map(() => new Map([[field.name, drawSpareValue(field) ?? null]]));
    if (items.length === 0) return;
    const targets = rows.map(({ id }) => ({ id, name: id, version: undefined }));
    await session.query(compileSpares(context, items, targets).query);
    if (items.length < CHUNK_SIZE) return;
  }
}
