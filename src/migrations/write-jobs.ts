// Jobs of writes by filter, whose requests have names of fields: a schema change by which a name is gone, or means something
// else, ends them, as another field may have it later.
import type { Session } from '../database/pool.ts';
import { conflict } from '../errors.ts';
import type { Entity } from '../model/entity.ts';
import { failWriteJobs } from '../store/write-jobs.ts';
import type { PreparedChange } from './plan.ts';

type Change = Pick<PreparedChange, 'before' | 'after' | 'renamedEntities'>;

/** Ends the jobs of a workspace, in the transaction that puts the new document in force, if names are lost by it. */
export async function endWriteJobs(
  session: Pick<Session, 'query'>,
  workspaceId: string,
  change: Change,
): Promise<void> {
  const name = findLostName(change);
  if (name === undefined) return;
  const { code, message, reason } = jobSchemaChanged(name);
  await failWriteJobs(session, workspaceId, JSON.stringify({ code, message, reason }));
}

/** Error that ends a job. `name`: as `orders.total`. */
const jobSchemaChanged = (name: string) =>
  conflict(
    'JOB_SCHEMA_CHANGED',
    `The schema was changed, and ${name} is gone or not what it was when the job was started. The records that were processed stay as they are`,
  );

/** Returns a field or relation, as `orders.total`, that is gone, or not what it was; undefined if there is none. */
export function findLostName({ before, after, renamedEntities }: Change): string | undefined {
  const formerName = (entity: string): string => renamedEntities.get(entity) ?? entity;
  for (const [name, entity] of after) {
    const old = before.get(formerName(name));
    const lost = old && (findLostField(old, entity) ?? findLostRelation(old, entity, formerName));
    if (lost !== undefined) return `${formerName(name)}.${lost}`;
  }
  return undefined;
}

const findLostField = (old: Entity, { fields }: Entity): string | undefined =>
  [...old.fields.values()].find(({ name, column, type }) => {
    const field = fields.get(name);
    return field?.column !== column || field.type !== type;
  })?.name;

const findLostRelation = (
  old: Entity,
  { relations }: Entity,
  formerName: (entity: string) => string,
): string | undefined =>
  [...old.relations].find(([name, { entity, kind }]) => {
    const relation = relations.get(name);
    return relation?.kind !== kind || formerName(relation.entity) !== entity;
  })?.[0];
