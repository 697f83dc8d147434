// Webhooks follow a schema change: renamed fields of their filters have the new name, and one that names what is gone is disabled.
import type { Session } from '../database/pool.ts';
import type { Entity } from '../model/entity.ts';
import { parseExact } from '../model/exact-json.ts';
import type { WriteActivity } from '../store/activity.ts';
import { type AffectedWebhook, adaptWebhook, lockWebhooksOfEntities } from '../store/webhooks.ts';
import type { PreparedChange } from './plan.ts';

type Queryable = Pick<Session, 'query'>;
type Change = Pick<PreparedChange, 'before' | 'after' | 'renamedEntities'>;

/** Adapts the webhooks of a workspace in the transaction that puts the new document in force, after the document. */
export async function adaptWebhooks(
  session: Queryable,
  workspaceId: string,
  change: Change,
  write: WriteActivity,
): Promise<void> {
  for (const webhook of await lockWebhooksOfEntities(session, workspaceId)) {
    const selection = adaptSelection(webhook, change);
    if (selection === undefined) continue;
    await adaptWebhook(session, webhook.id, selection);
    if (selection !== 'invalid' || !webhook.enabled) continue;
    const { id, name } = webhook;
    await write(session, {
      action: 'webhooks.disable',
      subject: name,
      entity: null,
      details: { id: Number(id), reason: 'invalid' },
    });
  }
}

/** Returns fields and filter by their new names, `invalid` if something is gone, or undefined if nothing has changed. */
export function adaptSelection(
  { entities, fields, filter, lacksEntity }: Pick<AffectedWebhook, 'entities' | 'fields' | 'filter' | 'lacksEntity'>,
  { before, after, renamedEntities }: Change,
): Pick<AffectedWebhook, 'fields' | 'filter'> | 'invalid' | undefined {
  if (lacksEntity) return 'invalid';
  const [name = ''] = entities ?? [];
  const [old, next] = [before.get(renamedEntities.get(name) ?? name), after.get(name)];
  if ((fields === null && filter === null) || old === undefined || next === undefined) return undefined;
  const names = mapFields(old, next);
  const newFields = fields?.flatMap((field) => names.get(field) ?? []) ?? null;
  const newFilter = filter === null ? null : renameFields(parseExact(filter), names);
  if (newFields?.length === 0 || newFilter === undefined) return 'invalid';
  const selection = { fields: newFields, filter: newFilter === null ? null : JSON.stringify(newFilter) };
  const isSame = fields?.join() === newFields?.join() && (filter === null || same(filter, selection.filter));
  return isSame ? undefined : selection;
}

const same = (text: string, other: string | null): boolean => JSON.stringify(parseExact(text)) === other;

/** Returns the new names of the fields that stay what they were, by their names so far. */
function mapFields(old: Entity, next: Entity): ReadonlyMap<string, string> {
  const columns = new Map([...next.fields.values()].map((field) => [field.column, field]));
  const names = new Map<string, string>();
  for (const { name, column, type } of old.fields.values()) {
    const field = columns.get(column);
    if (field !== undefined && field.type === type) names.set(name, field.name);
  }
  return names;
}

/** Returns the filter tree with other names of fields; undefined if it names one that is gone. */
function renameFields(node: unknown, names: ReadonlyMap<string, string>): object | undefined {
  const { and, or, not, field } = node as Readonly<Record<string, unknown>>;
  for (const [key, members] of Object.entries({ and, or })) {
    if (!Array.isArray(members)) continue;
    const renamed = members.map((member) => renameFields(member, names));
    return renamed.includes(undefined) ? undefined : { [key]: renamed };
  }
  if (not !== undefined) {
    const renamed = renameFields(not, names);
    return renamed && { not: renamed };
  }
  const name = names.get(String(field));
  return name === undefined ? undefined : { ...(node as object), field: name };
}
