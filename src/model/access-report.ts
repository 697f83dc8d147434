// Reports what users may do with each entity by their roles, as grants are resolved for them (granted.ts).
import type { Entity, ResolvedGrant } from './entity.ts';
import { type Grant, type GrantOperation, isGrantFor } from './grant.ts';
import { describeGrant, describeRule, describeWhere } from './grant-words.ts';
import { grantWorkspace } from './granted.ts';
import type { Workspace } from './workspace.ts';
import { allowsRecord, getRequiredFields } from './writable.ts';

/** How an entity is limited; `closed`: no user may use it. */
export const ENTITY_ACCESS = ['open', 'rowRules', 'grants', 'closed'] as const;

export interface OperationReport {
  readonly allowed: boolean;
  /** Records in words, of which one must hold; empty for no requirement but the row rules. */
  readonly records: readonly string[];
  /** Fields that are shown, or that a body may name; null for all. */
  readonly fields: readonly string[] | null;
}

/** `history`: of an entity that keeps one. */
export type RoleReport = { readonly role: string | null; readonly history?: OperationReport } & Readonly<
  Record<Exclude<GrantOperation, 'history'>, OperationReport>
>;

export interface EntityReport {
  readonly entity: string;
  readonly access: (typeof ENTITY_ACCESS)[number];
  /** Row rules in force, in words. */
  readonly rowRules: readonly string[];
  /** Sentences of the grants, in the order of the document. */
  readonly grants: readonly string[];
  /** Rights of users with each role alone, and of users without any (null). */
  readonly roles: readonly RoleReport[];
}

export interface AccessReport {
  readonly roles: readonly string[];
  /** Permission of users, or null without a provider. */
  readonly permission: 'READ_ONLY' | 'READ_WRITE' | null;
  /** Computed one by one, as there may be many. */
  readonly entities: Iterable<EntityReport>;
}

/** Most characters of a condition in a cell of the matrix; the sentence of the grant has all of them. */
const MAX_CONDITION = 500;

const READS: ReadonlySet<GrantOperation> = new Set(['read', 'history']);

const DENIED: OperationReport = { allowed: false, records: [], fields: null };
const EVERYTHING: OperationReport = { allowed: true, records: [], fields: null };

/** A grant as it is written, and as it is resolved. */
type GrantPair = readonly [Grant, ResolvedGrant];

/**
 * Reports the rights of users of the provider; without a provider those that they would have with READ_WRITE. `name`: of
 * one entity alone.
 */
export function reportAccess(workspace: Workspace, roles: readonly string[], name?: string): AccessReport {
  const permission = workspace.identityProvider?.defaultPermissions ?? null;
  // A user with every role has every grant.
  const granted = grantWorkspace(workspace, { roles, onlyGrants: false }).entities;
  const selected = [...workspace.entities.values()].filter((entity) => name === undefined || entity.name === name);
  const entities = selected.values().map((entity): EntityReport => {
    const resolved = granted.get(entity.name)?.access?.grants ?? [];
    const grants = entity.grants?.map((grant, at): GrantPair => [grant, resolved[at] as ResolvedGrant]) ?? null;
    return {
      entity: entity.name,
      access: classify(entity),
      rowRules: entity.rowRules.filter(({ enabled }) => enabled).map(describeRule),
      grants: (entity.grants ?? []).map((grant) => describeGrant(grant, entity.name)),
      roles: [...roles, null].map((role): RoleReport => {
        const held = new Set(role === null ? [] : [role]);
        const own = grants?.filter(([grant]) => isGrantFor(grant, held)) ?? null;
        const report = (operation: GrantOperation): OperationReport =>
          !READS.has(operation) && permission === 'READ_ONLY' ? DENIED : reportOperation(operation, entity, own);
        return {
          role,
          read: report('read'),
          create: report('create'),
          update: report('update'),
          delete: report('delete'),
          ...(entity.settings.changes === 'history' ? { history: report('history') } : {}),
        };
      }),
    };
  });
  return { roles, permission, entities };
}

function classify({ grants, rowRules }: Entity): EntityReport['access'] {
  if (grants !== null) return grants.length === 0 ? 'closed' : 'grants';
  return rowRules.some(({ enabled }) => enabled) ? 'rowRules' : 'open';
}

/** Reports an operation. `grants`: those of the role, or null for an entity without grants. */
function reportOperation(
  operation: GrantOperation,
  entity: Entity,
  grants: readonly GrantPair[] | null,
): OperationReport {
  // The server chooses the id of a new record, so that a rule by id allows none.
  const isById = entity.rowRules.some(({ enabled, column }) => enabled && column === 'id');
  if (operation === 'create' && isById) return DENIED;
  if (grants === null) return operation === 'history' && entity.settings.historyForUsers !== true ? DENIED : EVERYTHING;
  // A record that cannot be read is neither changed nor deleted, nor is its history read.
  const isFound = operation === 'create' || grants.some(([{ can }]) => can.has('read'));
  const ruleColumns = new Set(entity.rowRules.flatMap(({ enabled, column }) => (enabled ? [column] : [])));
  const required = operation === 'create' ? getRequiredFields(entity, ruleColumns) : [];
  const usable = grants.filter(
    ([{ can }, grant]) => can.has(operation) && isFound && (operation !== 'create' || allowsRecord(grant, required)),
  );
  return usable.length === 0 ? DENIED : combine(operation, entity, usable);
}

/** Reports grants with the operation, of which each alone allows it. */
function combine(operation: GrantOperation, { fields }: Entity, grants: readonly GrantPair[]): OperationReport {
  const usedFields = grants.map(([, grant]) => getFields(operation, grant));
  const names = [...fields.values()]
    .filter(({ role }) => READS.has(operation) || role === 'data' || role === 'reference')
    .map(({ name }) => name);
  const named = names.filter((name) => usedFields.some((some) => some.has(name)));
  const isWhole = (some: ReadonlySet<string>): boolean => named.every((name) => some.has(name));
  const isUnlimited = grants.some(([{ where }], at) => where === null && isWhole(usedFields[at] as Set<string>));
  const hasFields = operation !== 'delete';
  return {
    allowed: true,
    records: isUnlimited
      ? []
      : grants.map(([{ where }], at) => {
          const words = where === null ? 'every record' : shorten(describeWhere(where));
          const some = usedFields[at] as ReadonlySet<string>;
          if (!hasFields || isWhole(some)) return words;
          return `${words} (only ${names.filter((name) => some.has(name)).join(', ') || 'no field'})`;
        }),
    fields: !hasFields || named.length === names.length ? null : named,
  };
}

const shorten = (words: string): string => (words.length > MAX_CONDITION ? `${words.slice(0, MAX_CONDITION)}…` : words);

function getFields(operation: GrantOperation, { fields, write, set }: ResolvedGrant): ReadonlySet<string> {
  switch (operation) {
    case 'read':
    case 'history':
      return fields;
    case 'create':
      return new Set([...write, ...set.keys()]);
    case 'update':
      return write;
    case 'delete':
      return new Set();
    default:
      return operation satisfies never;
  }
}
