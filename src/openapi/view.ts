// Access of a class of principals to each entity of a workspace, as values. Descriptions of a workspace are built from
// it: the OpenAPI document, the index, the tools of agents.
import {
  DEFAULT_MAX_EXPAND_DEPTH,
  type Entity,
  type Field,
  keepsChanges,
  type ResolvedGrant,
} from '../model/entity.ts';
import { GRANT_OPERATIONS, type GrantOperation } from '../model/grant.ts';
import { mayWrite, type Principal } from '../model/principal.ts';
import { type BelongsTo, isToOne, type ManyToMany, type Relation } from '../model/relation.ts';
import { getEntity, type Workspace } from '../model/workspace.ts';
import { allowsRecord, getRequiredFields, isStored, isWritable } from '../model/writable.ts';
import { getConflictKeys } from '../plan/conflict-key.ts';
import { getRuleColumns, mayHideRecords } from '../plan/row-rules.ts';
import { getGrants, isHistoryShown } from '../plan/scan.ts';
import { OPERATIONS, type OperationName } from '../request/operations.ts';

/** Differences between principals in descriptions. Operators are owners. */
export interface PrincipalClass {
  readonly kind: 'owner' | 'external';
  readonly mayWrite: boolean;
}

export interface RelationView {
  readonly relation: Relation;
  /** Whether it is expanded to a list. */
  readonly isList: boolean;
  /** Whether a to-one is null without a related record, or when row rules or grants hide it. */
  readonly isNullable: boolean;
  /** Whether it never has a record, as no grant shows those of the related entity. */
  readonly isEmpty: boolean;
  /** Whether the related entity has a search. */
  readonly isSearchable: boolean;
}

export interface EntityView {
  readonly entity: Entity;
  /** Names of the table of operations (request/operations.ts), in its order. */
  readonly operations: readonly OperationName[];
  /** Relations that may be expanded on its records, by name. */
  readonly relations: ReadonlyMap<string, RelationView>;
  /** Levels of relations that a request for its records may expand; 0 for none. */
  readonly expandDepth: number;
  /** Fields that the body of a create, and of an update, may name. */
  readonly createFields: readonly Field[];
  readonly updateFields: readonly Field[];
  /** Many-to-many relations that the body of a create, and of an update, may change. */
  readonly createLinks: readonly ManyToMany[];
  readonly updateLinks: readonly ManyToMany[];
  /** Fields that a create must give. */
  readonly required: ReadonlySet<string>;
  /** Fields that a create need not give, as row rules set them from the token. */
  readonly ruleColumns: ReadonlySet<string>;
  /** Fields that a create need not give, as grants set them. */
  readonly grantColumns: ReadonlySet<string>;
  /** Whether answers to writes may be the id alone, without ETag, as the principal cannot read every record it writes. */
  readonly mayHideWritten: boolean;
  /** Sets of fields by which `onConflict` finds an existing record; not the id, which creates do not give. */
  readonly keys: readonly (readonly string[])[];
}

export function getPrincipalClass(principal: Principal): PrincipalClass {
  return { kind: principal.kind === 'external' ? 'external' : 'owner', mayWrite: mayWrite(principal) };
}

/** Builds a view of each entity of the snapshot, in the order of the schema. */
export function buildViews(workspace: Workspace, principal: PrincipalClass): readonly EntityView[] {
  const views = [...workspace.entities.values()].map((entity) => {
    const ruleColumns = getRuleColumns(entity, principal);
    const operations = getOperations(entity, workspace, principal);
    const writes =
      entity.access === undefined
        ? getWrites(entity, workspace, ruleColumns)
        : getGrantedWrites(entity, workspace, ruleColumns);
    const creates = new Set([...writes.createFields.map(({ name }) => name), ...ruleColumns, ...writes.grantColumns]);
    return {
      entity,
      operations,
      relations: buildRelationViews(entity, workspace, principal),
      expandDepth: entity.settings.maxExpandDepth ?? DEFAULT_MAX_EXPAND_DEPTH,
      ...writes,
      ruleColumns,
      keys: getConflictKeys(entity, { workspace, principal })
        .map((fields) => fields.map(({ name }) => name))
        .filter((names) => names.every((name) => creates.has(name))),
    };
  });
  const byName = new Map(views.map((view) => [view.entity.name, view]));
  return views.map((view) => {
    const links = [...view.entity.relations.values()].filter(({ kind }) => kind === 'manyToMany') as ManyToMany[];
    const select = (names: readonly OperationName[]): readonly ManyToMany[] =>
      links.filter((relation) => mayWriteLinks(relation, byName.get(relation.through), names));
    return { ...view, createLinks: select(['create']), updateLinks: select(['create', 'delete']) };
  });
}

/** Returns whether one of the operations makes or removes links: their entity requires nothing but the ids of both. */
function mayWriteLinks(
  { from, to }: ManyToMany,
  through: Pick<EntityView, 'entity' | 'operations' | 'required'> | undefined,
  names: readonly OperationName[],
): boolean {
  if (through === undefined) return false;
  const { fields, relations } = through.entity;
  const keys = [from, to].map((name) => (relations.get(name) as BelongsTo | undefined)?.column ?? '');
  return (
    // Links are compared with those that there are.
    keys.every((name) => fields.has(name)) &&
    [...through.required].every((name) => keys.includes(name)) &&
    names.some((name) => through.operations.includes(name))
  );
}

/** Grants of which each operation needs one; a record to change must be read, too. */
const NEEDS: Readonly<Record<OperationName, readonly GrantOperation[]>> = {
  list: ['read'],
  query: ['read'],
  aggregate: ['read'],
  summarize: ['read'],
  export: ['read'],
  changes: ['read'],
  history: ['history'],
  historyEntry: ['history'],
  restore: ['update'],
  forget: ['delete'],
  read: ['read'],
  create: ['create'],
  bulkCreate: ['create'],
  import: ['create', 'update'],
  update: ['update'],
  bulkUpdate: ['update'],
  delete: ['delete'],
  bulkDelete: ['delete'],
  bulkDeleteListed: ['delete'],
  updateWhere: ['update'],
  deleteWhere: ['delete'],
};

const HISTORY: readonly OperationName[] = ['history', 'historyEntry', 'restore', 'forget'];

const mayReadHistory = (entity: Entity, { kind }: PrincipalClass): boolean =>
  entity.settings.changes === 'history' && (kind === 'owner' || isHistoryShown(entity));

/** Returns names of the table of operations that the class may use on the entity of the snapshot. */
export function getOperations(
  entity: Entity,
  workspace: Workspace,
  principal: PrincipalClass,
): readonly OperationName[] {
  const granted = getGrantedOperations(entity, workspace, principal);
  return (Object.keys(OPERATIONS) as OperationName[]).filter(
    (name) =>
      (principal.mayWrite || OPERATIONS[name].access === 'read') &&
      (name !== 'changes' || keepsChanges(entity.settings)) &&
      (!HISTORY.includes(name) || mayReadHistory(entity, principal)) &&
      (name !== 'forget' || principal.kind === 'owner') &&
      NEEDS[name].some((operation) => granted.has(operation)),
  );
}

function getGrantedOperations(
  entity: Entity,
  workspace: Workspace,
  principal: PrincipalClass,
): ReadonlySet<GrantOperation> {
  const operations = new Set<GrantOperation>(GRANT_OPERATIONS);
  const ruleColumns = getRuleColumns(entity, principal);
  // A rule by id leaves no id for a new record.
  const isFixed =
    principal.kind === 'external' && entity.rowRules.some(({ enabled, column }) => enabled && column === 'id');
  const isCreated =
    entity.access === undefined
      ? getRequiredFields(entity, ruleColumns).every((field) => isGivable(field, entity, workspace))
      : getCreators(entity, workspace, ruleColumns).length > 0;
  if (isFixed || !isCreated) operations.delete('create');
  if (entity.access === undefined) return operations;
  const isRead = isReadable(entity);
  for (const operation of ['read', 'update', 'delete', 'history'] as const)
    if (!isRead || getGrants(entity, operation).length === 0) operations.delete(operation);
  return operations;
}

/** Returns whether some grant shows records of the entity, or none limits it. */
const isReadable = (entity: Entity): boolean => entity.access === undefined || getGrants(entity, 'read').length > 0;

/** Returns false for a reference to records that grants hide, which a new record cannot have. */
function isGivable({ name }: Field, entity: Entity, workspace: Workspace): boolean {
  const whole = workspace.part?.beforeGrants?.entities.get(entity.name);
  const relation = whole?.relations.get(whole.fields.get(name)?.relation ?? '');
  if (relation === undefined) return true;
  const target = workspace.entities.get(relation.entity);
  return target !== undefined && isReadable(target);
}

type Writes = Pick<EntityView, 'createFields' | 'updateFields' | 'required' | 'grantColumns' | 'mayHideWritten'>;

function getWrites(entity: Entity, workspace: Workspace, ruleColumns: ReadonlySet<string>): Writes {
  const fields = [...entity.fields.values()].filter(isWritable);
  return {
    createFields: fields.filter((field) => isGivable(field, entity, workspace)),
    updateFields: fields,
    required: new Set(getRequiredFields(entity, ruleColumns).map(({ name }) => name)),
    grantColumns: new Set(),
    mayHideWritten: false,
  };
}

function getGrantedWrites(entity: Entity, workspace: Workspace, ruleColumns: ReadonlySet<string>): Writes {
  const creators = getCreators(entity, workspace, ruleColumns);
  const updaters = getGrants(entity, 'update');
  const fields = [...(entity.access?.writable.values() ?? [])].filter(isWritable);
  const isCreated = (field: Field): boolean =>
    creators.some(
      ({ write, set }) => set.has(field.name) || (write.has(field.name) && isGivable(field, entity, workspace)),
    );
  const isAlwaysRead =
    [...creators, ...updaters].every(({ can }) => can.has('read')) ||
    getGrants(entity, 'read').some(({ where, needsGuard }) => where === null && !needsGuard);
  return {
    createFields: fields.filter(isCreated),
    updateFields: fields.filter(({ name }) => updaters.some(({ write }) => write.has(name))),
    required: new Set(
      getRequiredFields(entity.access?.base ?? entity, ruleColumns)
        .filter((field) => creators.length > 0 && !creators.some((grant) => isStored(grant, field)))
        .map(({ name }) => name),
    ),
    grantColumns: new Set(creators.flatMap(({ set, stamps }) => [...set.keys(), ...stamps.keys()])),
    mayHideWritten: !isAlwaysRead,
  };
}

/** Returns the grants under which some record can be made. */
function getCreators(entity: Entity, workspace: Workspace, ruleColumns: ReadonlySet<string>): readonly ResolvedGrant[] {
  const required = getRequiredFields(entity.access?.base ?? entity, ruleColumns);
  const canGive = (field: Field): boolean => isGivable(field, entity, workspace);
  return getGrants(entity, 'create').filter((grant) => allowsRecord(grant, required, canGive));
}

function buildRelationViews(
  { relations, settings, access }: Entity,
  workspace: Workspace,
  principal: PrincipalClass,
): ReadonlyMap<string, RelationView> {
  const { expandable } = settings;
  return new Map(
    [...relations]
      .filter(([name]) => expandable === null || expandable.includes(name))
      .map(([name, relation]) => {
        const target = getEntity(workspace, relation.entity);
        const isLimited = target.access !== undefined || access !== undefined;
        const hidesRecords = isLimited || mayHideRecords(target, principal);
        const isCertain = relation.kind === 'belongsTo' && relation.required && !hidesRecords;
        const isNullable = isToOne(relation) && !isCertain;
        const isEmpty = !isReadable(target);
        const isList = !isToOne(relation);
        return [name, { relation, isList, isNullable, isEmpty, isSearchable: target.search !== null }];
      }),
  );
}
