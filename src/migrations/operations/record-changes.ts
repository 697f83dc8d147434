// Entities that start or stop to keep the changes of their records.
import { changesNotKept } from '../../errors.ts';
import { type Entity, keepsChanges } from '../../model/entity.ts';
import type { Table } from '../../schema/tables.ts';
import type { Topology } from '../../topology/topology.ts';
import { endChanges, type KeptChanges, keepChanges } from '../../workspace-schema/record-changes.ts';
import { buildOperation, inSharedTransaction, lockExclusive, lockShared, type Operation } from '../operation.ts';

/** Returns what the table of an entity keeps by its settings, or null for nothing. */
export function toKeptChanges({ fields, settings }: Pick<Entity, 'fields' | 'settings'>): KeptChanges | null {
  if (!keepsChanges(settings)) return null;
  const omitted = (settings.changesOmit ?? []).flatMap((name) => fields.get(name)?.column ?? []);
  return { omitted, isHistory: settings.changes === 'history', historyDays: settings.historyDays };
}

/** Throws 409 for an entity that is to keep changes where none can be kept. */
export function requireChanges({ keepsChanges }: Pick<Topology, 'keepsChanges'>, entity: string): void {
  if (!keepsChanges) throw changesNotKept(entity);
}

/** Starts to keep changes, or changes what is keptChanges. `isNew`: whether the same change creates the table. */
export function startChanges(table: Table, keptChanges: KeptChanges, isNew: boolean): Operation {
  return buildOperation({
    kind: 'keepChanges',
    entity: table.entity,
    path: `entities.${table.entity}.settings.changes`,
    description: `keep the changes of records of ${table.entity}`,
    statements: [inSharedTransaction('attach', keepChanges(table, keptChanges))],
    locks: isNew ? [] : [lockShared(table.name)],
  });
}

/** Stops to keep changes; those that are stored stay for their time. */
export function stopChanges(table: Table): Operation {
  return buildOperation({
    kind: 'dropChanges',
    entity: table.entity,
    path: `entities.${table.entity}.settings.changes`,
    description: `keep no more changes of records of ${table.entity}`,
    statements: [inSharedTransaction('detach', endChanges(table))],
    locks: [lockExclusive(table.name)],
  });
}
