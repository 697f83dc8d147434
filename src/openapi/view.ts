// Access of a class of principals to each entity of a workspace, as values. Descriptions of a workspace are built from
// it: the OpenAPI document, the index, the tools of agents.
import { DEFAULT_MAX_EXPAND_DEPTH, type Entity } from '../model/entity.ts';
import { mayWrite, type Principal } from '../model/principal.ts';
import { isToOne, type Relation } from '../model/relation.ts';
import { getEntity, type Workspace } from '../model/workspace.ts';
import { isWritable } from '../plan/assignment.ts';
import { getConflictKeys } from '../plan/conflict-key.ts';
import { getRuleColumns, mayHideRecords } from '../plan/row-rules.ts';
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
  /** Whether a to-one is null without a related record, or when row rules hide it. */
  readonly isNullable: boolean;
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
  /** Fields that a create must give. */
  readonly required: ReadonlySet<string>;
  /** Fields that a create need not give, as row rules set them from the token. */
  readonly ruleColumns: ReadonlySet<string>;
  /** Sets of fields by which `onConflict` finds an existing record; not the id, which creates do not give. */
  readonly keys: readonly (readonly string[])[];
}

export function getPrincipalClass(principal: Principal): PrincipalClass {
  return { kind: principal.kind === 'external' ? 'external' : 'owner', mayWrite: mayWrite(principal) };
}

/** Builds a view of each entity of the snapshot, in the order of the schema. */
export function buildViews(workspace: Workspace, principal: PrincipalClass): readonly EntityView[] {
  const operations = getOperations(principal);
  return [...workspace.entities.values()].map((entity) => {
    const ruleColumns = getRuleColumns(entity, principal);
    return {
      entity,
      operations,
      relations: buildRelationViews(entity, workspace, principal),
      expandDepth: entity.settings.maxExpandDepth ?? DEFAULT_MAX_EXPAND_DEPTH,
      required: getRequiredFields(entity, ruleColumns),
      ruleColumns,
      keys: getConflictKeys(entity, { workspace, principal })
        .map((fields) => fields.map(({ name }) => name))
        .filter(([name]) => name !== 'id'),
    };
  });
}

/** Returns names of the table of operations that the class may use. */
export function getOperations(principal: PrincipalClass): readonly OperationName[] {
  return (Object.keys(OPERATIONS) as OperationName[]).filter(
    (name) => principal.mayWrite || OPERATIONS[name].access === 'read',
  );
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
        return [name, { relation, isList: !isToOne(relation), isNullable, isSearchable: target.search !== null }];
      }),
  );
}

function getRequiredFields(entity: Entity, ruleColumns: ReadonlySet<string>): ReadonlySet<string> {
  return new Set(
    [...entity.fields.values()]
      .filter(
        (field) => isWritable(field) && field.required && field.default === undefined && !ruleColumns.has(field.name),
      )
      .map(({ name }) => name),
  );
}
