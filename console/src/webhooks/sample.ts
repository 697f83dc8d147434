// Sample of the body that a receiver gets. Pure.
import { Digits } from '../api/json.ts';
import type { WorkspaceSchema } from '../api/schema.ts';
import { listColumns } from '../records/fields.ts';
import { SAMPLE_TIME as AT, makeSampleValue } from '../records/sample-value.ts';
import type { JsonObject } from '../schema/json-value.ts';
import { getOnlyEntity, type WebhookSettings } from './settings.ts';

const MOST_FIELDS = 12;

/** Returns a sample of a message, or undefined if there is no entity that it may be about. */
export function makeSample(settings: WebhookSettings, schema: WorkspaceSchema): JsonObject | undefined {
  const { types, previous, maxBatch, fields } = settings;
  const name =
    settings.entities?.[0] ??
    [...schema.entities.values()].find(({ operations }) => operations.includes('changes'))?.name;
  const entity = schema.entities.get(name ?? '');
  if (entity === undefined) return undefined;
  const chosen = getOnlyEntity(settings) === undefined ? null : (fields ?? entity.settings.defaultFields);
  const columns = listColumns(entity)
    .filter((column) => chosen === null || chosen.includes(column.name))
    .slice(0, MOST_FIELDS);
  const type = (['updated', 'created', 'removed'] as const).find((one) => types.includes(one)) ?? 'updated';
  const record = Object.fromEntries(columns.map((column) => [column.name, makeSampleValue(column)]));
  const changed = columns.filter(({ isReadOnly }) => !isReadOnly).slice(0, 1);
  const event = {
    id: 'e_VUPnHG-qFMXiW1_nIHJlGg',
    type,
    cause: type === 'updated' ? 'changed' : type === 'created' ? 'created' : 'deleted',
    entity: entity.name,
    recordId: new Digits('42'),
    at: AT,
    transaction: 't_TFk7sBN-bjyExjMYzwhEEQ',
    ...(type === 'updated' && { changed: changed.map((column) => column.name) }),
    ...(type !== 'removed' && { record }),
    ...(previous &&
      type === 'updated' && { previous: Object.fromEntries(changed.map((column) => [column.name, null])) }),
    ...(previous && type === 'removed' && { previous: record }),
    ...(type !== 'removed' && { version: '764-fec797c3' }),
    actor: { kind: 'key', id: '1', name: 'website', via: 'api', requestId: '6qwu3g-q' },
  };
  const isBatch = Number(maxBatch) > 1;
  return {
    type: isBatch ? 'changes' : `${entity.name}.${type}`,
    timestamp: AT,
    workspace: `${schema.organization}/${schema.workspace}`,
    data: isBatch ? [event] : event,
  };
}
