// Makes Scans: no other file does, and a statement names a table only through a Scan. It checks the migration
// gate and attaches the row filter, so that neither can be forgotten at the root, in an expansion, a filter or a sort.
import { migrationInProgress } from '../errors.ts';
import type { Entity } from '../model/entity.ts';
import type { Principal } from '../model/principal.ts';
import { type RowFilter, rowFilter } from './row-rules.ts';

const brand: unique symbol = Symbol('scan');

/** A table reference for a principal: the table with its mandatory row filter. */
export interface Scan {
  readonly entity: Entity;
  readonly filter: RowFilter;
  readonly [brand]: true;
}

export type Operation = 'read' | 'write';

/** Returns a Scan of the entity, or throws 503 when a migration blocks the operation. */
export function scan(entity: Entity, principal: Principal, operation: Operation): Scan {
  passGate(entity, operation);
  return { entity, filter: rowFilter(entity, principal), [brand]: true };
}

/**
 * Returns a Scan of all rows, hidden ones included, for the search of unique values that are taken: PostgreSQL refuses
 * these, whatever the principal sees. Its statement may select nothing of the rows, only which records of the request
 * have such values.
 */
export function scanAll(entity: Entity): Scan {
  passGate(entity, 'read');
  return { entity, filter: { kind: 'unrestricted' }, [brand]: true };
}

/** Returns whether the table may hold rows that the principal must not know of. */
export function hidesRows({ filter }: Scan): boolean {
  return filter.kind === 'rules';
}

/** Throws 503 SCHEMA_MIGRATION_IN_PROGRESS when a running migration of the entity blocks the operation. */
export function passGate(entity: Entity, operation: Operation): void {
  const gate = entity.gate;
  if (gate !== null && (operation === 'read' ? gate.blocksReads : gate.blocksWrites))
    throw migrationInProgress(entity.name, gate);
}
