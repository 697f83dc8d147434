// Makes Scans: no other file does, and a statement names a table only through a Scan. It checks the migration
// gate and attaches the row filter, so that neither can be forgotten at the root, in an expansion, a filter or a sort.
import { migrationInProgress } from '../errors.ts';
import type { Entity, Field, ResolvedGrant } from '../model/entity.ts';
import { type GrantOperation, type GrantWhere, listComparisons } from '../model/grant.ts';
import type { Principal } from '../model/principal.ts';
import type { Relation } from '../model/relation.ts';
import { getEntity, type Workspace } from '../model/workspace.ts';
import { type Condition, group, planCondition } from './condition.ts';
import { changesUnavailable } from './errors.ts';
import type { Operand } from './operand.ts';
import { type RowFilter, type RuleFilter, rowFilter } from './row-rules.ts';

const brand: unique symbol = Symbol('scan');

/** A table reference for a principal: the table with its mandatory row filter. */
export interface Scan {
  readonly entity: Entity;
  readonly filter: RowFilter | GrantFilter;
  /** Columns that some records do not show, with the alternatives of which one must hold. */
  readonly columns?: ReadonlyMap<string, readonly Alternative[]>;
  /** Whether its rows have a further column, `"$visible"`: whether the row filter holds. */
  readonly saysVisible?: true;
  /** Whether it reads images of records in stored changes, in place of the table. */
  readonly isImage?: true;
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
  readonly condition: Predicate | null;
  /** Columns that an image must have: one of before the column, or of its former type, shows no value to compare. */
  readonly imageColumns?: readonly string[];
  /** Alternatives of which one must hold, too. */
  readonly within?: readonly Alternative[];
}

/** A condition on the records of a table. */
export type Predicate = Condition<Link>;

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

/** Makes a table reference. Nothing else does (test/architecture.test.ts counts). */
const makeScan = (parts: Omit<Scan, typeof brand>): Scan => ({ ...parts, [brand]: true });

/** Returns a Scan of the entity, or throws 503 when a migration blocks the operation. */
export function scan(entity: Entity, principal: Principal, operation: Operation): Scan {
  passGate(entity, operation);
  const filter = rowFilter(entity, principal);
  if (entity.access === undefined) return makeScan({ entity, filter });
  // Statements without the checks of grants must never write.
  if (operation === 'write') throw new TypeError(`a write of ${entity.name} does not check its grants`);
  return scanGranted(entity, filter);
}

/**
 * Returns the records that the principal may read, for images of stored changes in place of the table: `isImage`. Throws
 * 409 when a grant for reading cannot be judged by an image alone.
 */
export function scanImages(entity: Entity, principal: Principal): Scan {
  requireOwnConditions(entity, 'read');
  passGate(entity, 'read');
  const filter = rowFilter(entity, principal);
  const images = entity.access === undefined ? makeScan({ entity, filter }) : scanGranted(entity, filter, toImages);
  return makeScan({ ...images, isImage: true });
}

/** Throws 409 for a grant with the operation that cannot be judged by an image alone. */
function requireOwnConditions({ name, access }: Entity, operation: GrantOperation): void {
  for (const grant of access?.grants ?? []) {
    if (grant.can.has(operation) && grant.where !== null && !isOwnCondition(grant.where))
      throw changesUnavailable(name, grant.index);
  }
}

/** Returns whether users may read the history of some records of an entity that keeps one. */
export const isHistoryShown = (entity: Entity): boolean =>
  entity.access === undefined ? entity.settings.historyForUsers === true : getGrants(entity, 'history').length > 0;

/**
 * Returns the images of which the principal may read the history: under grants those that one with `history` shows, with
 * its fields, as far as the principal may read them. Throws as scanImages() does.
 */
export function scanHistory(entity: Entity, principal: Principal): Scan {
  const images = scanImages(entity, principal);
  if (entity.access === undefined) return images;
  requireOwnConditions(entity, 'history');
  return makeScan({ ...scanGrantedHistory(entity, rowFilter(entity, principal), toImages), isImage: true });
}

/** Returns the entity for a look at the records of which users may read the history, as they are now. */
export const limitToHistory = (entity: Entity): Entity =>
  entity.access === undefined
    ? entity
    : {
        ...entity,
        access: {
          ...entity.access,
          grants: getGrants(entity, 'history').map((grant) => ({ ...grant, can: new Set(['read'] as const) })),
        },
      };

/** Returns what both a grant for history and one for reading show. */
function scanGrantedHistory(entity: Entity, rules: RowFilter, toRecords: ToRecords): Scan {
  const readers = getGrants(entity, 'read').map((grant) => ({ grant, alternative: toRecords(grant, entity) }));
  const historians = getGrants(entity, 'history').map((grant) => ({ grant, alternative: toRecords(grant, entity) }));
  return limit(entity, rules, (shows) => {
    const within = readers.filter(shows).map(({ alternative }) => alternative);
    return historians
      .filter(shows)
      .map(({ grant, alternative }) => (grant.can.has('read') ? alternative : { ...alternative, within }));
  });
}

/** Returns the scan with the column `"$visible"`: whether the principal may read the record. */
export const sayVisible = (target: Scan): Scan => makeScan({ ...target, saysVisible: true });

/** Returns the images of the records of a grant: those that have all columns of its condition. */
function toImages({ where, ...grant }: ResolvedGrant, entity: Entity): Alternative {
  const alternative = toAlternative({ where, ...grant }, entity);
  const { base = entity } = entity.access ?? {};
  const imageColumns =
    where === null
      ? []
      : listComparisons(where).flatMap(({ path: [name = ''] }) => base.fields.get(name)?.column ?? []);
  return { ...alternative, imageColumns: [...new Set(imageColumns)] };
}

/** Returns whether the condition looks at columns of the record alone, and not at the time. */
const isOwnCondition = (condition: GrantWhere): boolean =>
  !crossesRelations(condition) &&
  listComparisons(condition).every(({ values }) => values.every(({ kind }) => kind !== 'now'));

/** Returns whether the condition looks at other records. */
export const crossesRelations = (condition: GrantWhere): boolean =>
  listComparisons(condition).some(({ path }) => path.length > 1);

/**
 * Returns a Scan of all rows, hidden ones included, for the search of unique values that are taken: PostgreSQL refuses
 * these, whatever the principal sees. Its statement may select nothing of the rows, only which records of the request
 * have such values.
 */
export function scanAll(entity: Entity): Scan {
  passGate(entity, 'read');
  return makeScan({ entity, filter: { kind: 'unrestricted' } });
}

/** Returns the records that a principal with grants may read, for a write that checks them (plan/granted.ts). */
export function scanGrantedTarget(entity: Entity, principal: Principal): Scan {
  passGate(entity, 'write');
  return scanGranted(entity, rowFilter(entity, principal));
}

/** Returns what the principal may read of the records that the statement has written. */
export function scanGrantedResult(entity: Entity, principal: Principal): Scan {
  return scanGranted(entity, rowFilter(entity, principal), (grant) => toAlternative(grant, entity, true));
}

/** Returns the records of an entity that does not exist for the principal: none. */
export function scanNothing(entity: Entity): Scan {
  return makeScan({ entity, filter: { kind: 'grants', rules: [], alternatives: [] } });
}

const EVERY_RECORD: Alternative = { guard: null, condition: null };

/**
 * Returns the scan with columns that have a value only where the row filter holds, for conditions whose time depends on the
 * value: PostgreSQL may evaluate them first, and the time would tell of hidden records.
 */
export function shieldColumns(target: Scan, fields: readonly Field[]): Scan {
  const { filter, columns = new Map() } = target;
  if (filter.kind === 'unrestricted' || fields.length === 0) return target;
  const rules = filter.rules.map(
    ({ field, operand }): Predicate => ({ kind: 'compare', field, operator: 'eq', operands: [operand] }),
  );
  const rows = filter.kind === 'grants' ? filter.alternatives : [EVERY_RECORD];
  const shield = ({ condition, ...rest }: Alternative): Alternative => ({
    ...rest,
    condition: group('and', condition === null ? rules : [...rules, condition]),
  });
  const shielded = fields.map(({ column }) => [column, (columns.get(column) ?? rows).map(shield)] as const);
  return makeScan({ ...target, columns: new Map([...columns, ...shielded]) });
}

type ToRecords = (grant: ResolvedGrant, entity: Entity) => Alternative;

function scanGranted(entity: Entity, rules: RowFilter, toRecords: ToRecords = toAlternative): Scan {
  const readers = getGrants(entity, 'read').map((grant) => ({ grant, alternative: toRecords(grant, entity) }));
  return limit(entity, rules, (shows) => readers.filter(shows).map(({ alternative }) => alternative));
}

/** Whether a grant shows some field, or its records. */
type Shows = (pair: { readonly grant: ResolvedGrant }) => boolean;

/** Makes a scan. `select`: returns alternatives of the grants, of which one must hold. */
function limit(entity: Entity, rules: RowFilter, select: (shows: Shows) => readonly Alternative[]): Scan {
  const rows = select(() => true);
  const alternatives = requireOne(rows);
  const columns = new Map<string, readonly Alternative[]>();
  for (const field of entity.fields.values()) {
    const showing = select(({ grant }) => grant.fields.has(field.name));
    if (showing.length === rows.length && showing.every(({ within }) => within === undefined)) continue;
    const visible = requireOne(showing);
    if (visible !== null) columns.set(field.column, visible);
  }
  const filter: Scan['filter'] =
    alternatives === null ? rules : { kind: 'grants', rules: rules.kind === 'rules' ? rules.rules : [], alternatives };
  return makeScan({ entity, filter, ...(columns.size === 0 ? {} : { columns }) });
}

/** Returns the alternatives, or null when one of them always holds. */
function requireOne(alternatives: readonly Alternative[]): readonly Alternative[] | null {
  return alternatives.some(
    ({ guard, condition, within }) => guard === null && condition === null && within === undefined,
  )
    ? null
    : alternatives;
}

/** Returns the grants of the principal's roles with the operation. */
export const getGrants = ({ access }: Entity, operation: GrantOperation): readonly ResolvedGrant[] =>
  access?.grants.filter(({ can }) => can.has(operation)) ?? [];

/**
 * Returns the records of a grant of the entity. Its paths lead to all records. `written`: whether those of the entity
 * are read as the statement leaves them.
 */
export function toAlternative(grant: ResolvedGrant, entity: Entity, isWritten = false): Alternative {
  const { claims, needsGuard, where } = grant;
  const guard: Operand | null = needsGuard ? { kind: 'applies', claims, type: 'bool' } : null;
  if (where === null) return { guard, condition: null };
  if (entity.access === undefined) throw new TypeError(`${entity.name} is not limited by grants`);
  const { base, entities } = entity.access;
  const scanEvery = (target: Entity): Scan => {
    // Grants tell nothing of the entities on their way.
    passGate({ ...base, gate: target.gate }, 'read');
    const crossed = isWritten && target.name === entity.name;
    return makeScan({ entity: target, filter: { kind: 'unrestricted' }, ...(crossed ? { isWritten: true } : {}) });
  };
  const whole = { entities, slug: entity.name };
  const link = (relation: Relation): Link => makeLink(relation, whole, scanEvery);
  return { guard, condition: planCondition(where, base, { ...whole, link }) };
}

/** Returns the link of a relation; `scanTarget`: makes the table of its entities. */
export function makeLink(
  relation: Relation,
  workspace: Pick<Workspace, 'entities' | 'slug'>,
  scanTarget: (entity: Entity) => Scan,
): Link {
  const target = scanTarget(getEntity(workspace, relation.entity));
  switch (relation.kind) {
    case 'belongsTo':
      return { kind: 'key', scan: target, relatedColumn: 'id', parentColumn: relation.key };
    case 'hasMany':
    case 'hasOne':
      return { kind: 'key', scan: target, relatedColumn: relation.key, parentColumn: 'id' };
    case 'manyToMany': {
      const through = scanTarget(getEntity(workspace, relation.through));
      return { kind: 'through', scan: target, through, from: relation.fromKey, to: relation.toKey };
    }
    default:
      return relation satisfies never;
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
