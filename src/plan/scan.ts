// Makes Scans: no other file does, and a statement names a table only through a Scan. It checks the migration
// gate and attaches the row filter, so that neither can be forgotten at the root, in an expansion, a filter or a sort.
import { migrationInProgress } from '../errors.ts';
import type { Condition, Entity, Field, Hop, ResolvedGrant, ResolvedValue } from '../model/entity.ts';
import { fieldType } from '../model/field-types.ts';
import type { GrantOperation, GrantOperator } from '../model/grant.ts';
import type { Principal } from '../model/principal.ts';
import { claimOperand, type Operand, valueOperand, valuesOperand } from './operand.ts';
import { type RowFilter, type RuleFilter, rowFilter } from './row-rules.ts';

const brand: unique symbol = Symbol('scan');

/** A table reference for a principal: the table with its mandatory row filter. */
export interface Scan {
  readonly entity: Entity;
  readonly filter: RowFilter | GrantFilter;
  /** Columns that some records do not show, with the alternatives of which one must hold. */
  readonly columns?: ReadonlyMap<string, readonly Alternative[]>;
  /** Whether it reads the records as the statement leaves them, by the name `"$now"`. */
  readonly isWritten?: true;
  readonly [brand]: true;
}

/** Row rules, and grants of which one must hold; with no alternative no record matches. */
export interface GrantFilter {
  readonly kind: 'grants';
  readonly rules: RuleFilter['rules'];
  readonly alternatives: readonly Alternative[];
}

/** Records of a grant: none unless `guard` is true, and those of `condition`; null for no requirement. */
export interface Alternative {
  readonly guard: Operand | null;
  readonly condition: ScanCondition | null;
}

/** A condition of a grant; a Predicate whose relations lead to all records. */
export type ScanCondition =
  | { readonly kind: 'and' | 'or'; readonly members: readonly ScanCondition[] }
  | { readonly kind: 'not'; readonly member: ScanCondition }
  | {
      readonly kind: 'compare';
      readonly field: Field;
      readonly operator: GrantOperator;
      readonly operands: readonly Operand[];
    }
  | { readonly kind: 'exists'; readonly link: Link; readonly member: ScanCondition };

/** Join condition of a relation. */
export type Link =
  /** `scan.relatedColumn = parent.parentColumn` */
  | { readonly kind: 'key'; readonly scan: Scan; readonly relatedColumn: string; readonly parentColumn: string }
  /** `scan.id in (select through.to … where through.from = parent.id)` */
  | {
      readonly kind: 'through';
      readonly scan: Scan;
      readonly through: Scan;
      readonly from: string;
      readonly to: string;
    };

export type Operation = 'read' | 'write';

/** Returns a Scan of the entity, or throws 503 when a migration blocks the operation. */
export function scan(entity: Entity, principal: Principal, operation: Operation): Scan {
  passGate(entity, operation);
  const filter = rowFilter(entity, principal);
  if (entity.access === undefined) return { entity, filter, [brand]: true };
  // Statements without the checks of grants must never write.
  if (operation === 'write') throw new TypeError(`a write of ${entity.name} does not check its grants`);
  return scanGranted(entity, filter);
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

/** Returns the records that a principal with grants may read, for a write that checks them (plan/granted.ts). */
export function scanGrantedTarget(entity: Entity, principal: Principal): Scan {
  passGate(entity, 'write');
  return scanGranted(entity, rowFilter(entity, principal));
}

/** Returns what the principal may read of the records that the statement has written. */
export function scanGrantedResult(entity: Entity, principal: Principal): Scan {
  return scanGranted(entity, rowFilter(entity, principal), entity);
}

/** Returns the records of an entity that does not exist for the principal: none. */
export function scanNothing(entity: Entity): Scan {
  return { entity, filter: { kind: 'grants', rules: [], alternatives: [] }, [brand]: true };
}

function scanGranted(entity: Entity, rules: RowFilter, written?: Entity): Scan {
  const readers = getGrants(entity, 'read').map((grant) => ({ grant, alternative: toAlternative(grant, written) }));
  const alternatives = requireOne(readers.map(({ alternative }) => alternative));
  const columns = new Map<string, readonly Alternative[]>();
  for (const field of entity.fields.values()) {
    const showing = readers.filter(({ grant }) => grant.fields.has(field.name));
    if (showing.length === readers.length) continue;
    const visible = requireOne(showing.map(({ alternative }) => alternative));
    if (visible !== null) columns.set(field.column, visible);
  }
  const filter: Scan['filter'] =
    alternatives === null ? rules : { kind: 'grants', rules: rules.kind === 'rules' ? rules.rules : [], alternatives };
  return { entity, filter, ...(columns.size === 0 ? {} : { columns }), [brand]: true };
}

/** Returns the alternatives, or null when one of them always holds. */
function requireOne(alternatives: readonly Alternative[]): readonly Alternative[] | null {
  return alternatives.some(({ guard, condition }) => guard === null && condition === null) ? null : alternatives;
}

/** Returns the grants of the principal's roles with the operation. */
export const getGrants = ({ access }: Entity, operation: GrantOperation): readonly ResolvedGrant[] =>
  access?.grants.filter(({ can }) => can.has(operation)) ?? [];

/**
 * Returns the records of a grant. `written`: the entity that the statement writes, whose records are then read as it
 * leaves them.
 */
export function toAlternative({ claims, needsGuard, where }: ResolvedGrant, written?: Entity): Alternative {
  return {
    guard: needsGuard ? { kind: 'applies', claims, type: 'bool' } : null,
    condition: where === null ? null : toScanCondition(where, written),
  };
}

function toScanCondition(condition: Condition, written: Entity | undefined): ScanCondition {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return { kind: condition.kind, members: condition.members.map((member) => toScanCondition(member, written)) };
    case 'not':
      return { kind: 'not', member: toScanCondition(condition.member, written) };
    case 'compare': {
      const { field, operator, values } = condition;
      return { kind: 'compare', field, operator, operands: values.map((value) => toOperand(value, field)) };
    }
    case 'exists':
      return {
        kind: 'exists',
        link: toLink(condition.hop, written),
        member: toScanCondition(condition.member, written),
      };
    default:
      return condition satisfies never;
  }
}

function toLink(hop: Hop, written: Entity | undefined): Link {
  const scanEvery = (entity: Entity): Scan => ({
    entity,
    filter: { kind: 'unrestricted' },
    ...(entity.name === written?.name ? { isWritten: true } : {}),
    [brand]: true,
  });
  if (hop.kind === 'key') {
    const { relatedColumn, parentColumn } = hop;
    return { kind: 'key', scan: scanEvery(hop.entity), relatedColumn, parentColumn };
  }
  return { kind: 'through', scan: scanEvery(hop.entity), through: scanEvery(hop.through), from: hop.from, to: hop.to };
}

function toOperand(value: ResolvedValue, field: Field): Operand {
  switch (value.kind) {
    case 'literal':
      return value.text === null
        ? { kind: 'value', value: null, type: fieldType(field.type).bindType }
        : valueOperand(field, value.text);
    case 'list':
      return valuesOperand(field, value.texts);
    case 'claim':
      return claimOperand(value);
    case 'now':
      return { kind: 'now', type: fieldType(field.type).bindType };
    default:
      return value satisfies never;
  }
}

/** Returns whether the table may hold rows or values that the principal must not know of. */
export function hidesRows({ filter, columns }: Scan): boolean {
  return filter.kind !== 'unrestricted' || columns !== undefined;
}

/** Throws 503 SCHEMA_MIGRATION_IN_PROGRESS when a running migration of the entity blocks the operation. */
export function passGate(entity: Entity, operation: Operation): void {
  const gate = entity.gate;
  if (gate !== null && (operation === 'read' ? gate.blocksReads : gate.blocksWrites))
    throw migrationInProgress(entity.name, gate);
}
