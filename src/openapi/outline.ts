// The schema of a workspace for a class of principals: entities in the form of the schema document, with their
// operations. Row rules are for administrators alone.

import { type Entity, type EntitySettings, type Field, findLabel } from '../model/entity.ts';
import type { JsonSchema } from '../model/field-types.ts';
import type { Workspace } from '../model/workspace.ts';
import type { OperationName } from '../request/operations.ts';
import { EntityShape } from '../schema/format.ts';
import { getOperations, type PrincipalClass } from './view.ts';

type Members = Readonly<Record<string, object>>;

export interface EntityOutline {
  readonly description?: string;
  readonly fields: Members;
  readonly relations: Members;
  readonly indexes: readonly object[];
  readonly searchLanguage?: string;
  readonly timestamps: boolean;
  /** Field that names a record to people, configured or chosen; null without one. */
  readonly label: string | null;
  /** Settings, or null if not configured. */
  readonly settings: EntitySettings;
  /** Names of the table of operations (request/operations.ts). */
  readonly operations: readonly OperationName[];
}

export interface Outline {
  readonly organization: string;
  readonly workspace: string;
  readonly name: string;
  readonly entities: Readonly<Record<string, EntityOutline>>;
}

/** Builds the outline of the snapshot, or of the part in the scope. Numbers keep the digits of the document. */
export function buildOutline(workspace: Workspace, principal: PrincipalClass): Outline {
  const entities = [...workspace.entities].map(
    ([name, entity]) => [name, entityOutline(entity, getOperations(entity, workspace, principal))] as const,
  );
  const { organization, slug, name } = workspace;
  return { organization, workspace: slug, name, entities: Object.fromEntries(entities) };
}

function entityOutline(entity: Entity, operations: readonly OperationName[]): EntityOutline {
  const { declared, settings, fields } = entity;
  const stamps = [...fields.values()].filter(({ role }) => role === 'createdAt' || role === 'updatedAt');
  const timestamps = stamps.length === 2;
  return {
    ...declared,
    fields: { ...declared.fields, ...bareReferences(entity), ...(timestamps ? {} : describeStamps(stamps)) },
    relations: getRelations(entity),
    indexes: declared.indexes ?? [],
    timestamps,
    label: findLabel(entity),
    settings,
    operations,
  };
}

/** Returns columns whose relation leads out of the part, so that they are plain numbers there. */
function bareReferences({ fields }: Entity): Members {
  const bare = [...fields.values()].filter(({ role, relation }) => role === 'reference' && relation === undefined);
  return Object.fromEntries(
    bare.map(({ name, type, required, unique }) => [name, { type, required, unique, index: true }]),
  );
}

/** Returns a timestamp that is in the part without the other one, in the form of a field. */
function describeStamps(stamps: readonly Field[]): Members {
  return Object.fromEntries(stamps.map(({ name, type }) => [name, { type, default: 'now' }]));
}

/** Returns the relations of the document that are in the part, without default column names. */
function getRelations({ declared, relations }: Entity): Members {
  return Object.fromEntries(
    Object.entries(declared.relations ?? {}).flatMap(([name, relationDocument]) => {
      const relation = relations.get(name);
      if (relation === undefined) return [];
      return [
        [name, relation.kind === 'belongsTo' ? { ...relationDocument, column: relation.column } : relationDocument],
      ];
    }),
  );
}

const { rowRules: _, renamedFrom: __, grants: ___, ...OF_DOCUMENT } = EntityShape.properties;
const ALWAYS = ['fields', 'relations', 'indexes', 'timestamps', 'label', 'settings', 'operations'];
// The description of the schema document says this once, for people; some generators lack the last keyword.
const EXCLUDED_KEYWORDS = ['title', 'description', 'propertyNames'];

/** JSON Schema of an EntityOutline. */
export const OUTLINE_SCHEMA: JsonSchema = {
  type: 'object',
  required: ALWAYS,
  properties: {
    ...pickMembers(OF_DOCUMENT),
    label: { type: ['string', 'null'] },
    operations: { type: 'array', items: { type: 'string' } },
  },
};

function pickMembers(properties: Readonly<Record<string, object>>): JsonSchema {
  const members = Object.entries(properties).filter(([name]) => name !== 'renamedFrom');
  return Object.fromEntries(members.map(([name, shape]) => [name, stripShape(shape)]));
}

function stripShape(shape: object): JsonSchema {
  const keywords = Object.entries(shape).filter(([keyword]) => !EXCLUDED_KEYWORDS.includes(keyword));
  return Object.fromEntries(
    keywords.map(([keyword, value]) => {
      if (keyword === 'properties') return [keyword, pickMembers(value)];
      return [keyword, typeof value === 'object' && !Array.isArray(value) ? stripShape(value) : value];
    }),
  );
}
