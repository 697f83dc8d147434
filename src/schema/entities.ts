// A parsed schema document -> entities for the rest of the code: columns in order, relations resolved to the columns
// that carry them.
import {
  type Entity,
  type Field,
  type JsonValue,
  keepsChanges,
  NO_LANGUAGE,
  NO_SETTINGS,
  type RowRule,
  type SearchText,
} from '../model/entity.ts';
import { NO_NAMES, type PhysicalNames, physicalColumn, physicalTable } from '../model/physical-name.ts';
import type { BelongsTo, Relation } from '../model/relation.ts';
import { getAttributes } from './fields.ts';
import {
  type EntityDocument,
  type FieldDocument,
  type RelationDocument,
  type SchemaDocument,
  SUBSTRING,
} from './format.ts';
import { buildGrants } from './grants.ts';
import { member } from './renames.ts';
import { getColumn } from './view.ts';

/** Builds the entities of a document from parseSchemaDocument; their tables lie in `databaseSchema`. */
export function buildEntities(
  document: SchemaDocument,
  databaseSchema: string,
  names: PhysicalNames = NO_NAMES,
): ReadonlyMap<string, Entity> {
  // A delete may cascade to any other entity.
  const namesActor = Object.values(document.entities).some(({ settings }) =>
    keepsChanges({ changes: settings?.changes ?? null }),
  );
  return new Map(
    Object.entries(document.entities).map(([name, entity]) => {
      const fields = buildFields(entity, (field) => physicalColumn(names, name, field));
      const { settings, rowRules: _, grants: __, ...declared } = entity;
      const built: Entity = {
        name,
        declared,
        description: entity.description,
        table: { schema: databaseSchema, name: physicalTable(names, name) },
        fields,
        relations: new Map(
          Object.entries(entity.relations ?? {}).map(([relation, of]) => [
            relation,
            buildRelation(name, relation, of, document, names),
          ]),
        ),
        search: getSearchText(entity, fields),
        timestamps: entity.timestamps === true,
        settings: { ...NO_SETTINGS, ...settings },
        rowRules: getRowRules(entity),
        grants: buildGrants(entity),
        gate: null,
        namesActor,
      };
      return [name, built];
    }),
  );
}

/** Returns the row rules in the order of the document. */
export function getRowRules({ rowRules = [] }: EntityDocument): readonly RowRule[] {
  return rowRules.map(({ column, claim, enabled = true }) => ({ column, claim, enabled }));
}

function getSearchText(entity: EntityDocument, all: ReadonlyMap<string, Field>): SearchText | null {
  const fields = [...all.values()].filter((field) => member(entity.fields, field.name)?.searchable === true);
  return fields.length === 0 ? null : { fields, language: entity.searchLanguage ?? NO_LANGUAGE };
}

const PLAIN: Omit<Field, 'name' | 'column' | 'type' | 'role'> = {
  required: true,
  unique: false,
  indexed: false,
  hasPartsIndex: false,
  default: undefined,
  maxLength: undefined,
  precision: undefined,
  scale: undefined,
  min: undefined,
  max: undefined,
  values: undefined,
  description: undefined,
  relation: undefined,
};

function buildFields(entity: EntityDocument, column: (field: string) => string): ReadonlyMap<string, Field> {
  const indexed = new Set([
    ...(entity.rowRules ?? []).map((rule) => rule.column),
    ...(entity.indexes ?? []).map((index) => index.fields[0]),
  ]);
  const fields: Field[] = [
    { ...PLAIN, name: 'id', column: 'id', type: 'bigint', role: 'id', unique: true, indexed: true },
  ];
  for (const [name, field] of Object.entries(entity.fields ?? {})) {
    fields.push(dataField(name, column(name), field, indexed.has(name)));
  }
  for (const [name, relation] of Object.entries(entity.relations ?? {})) {
    if (relation.kind !== 'belongsTo') continue;
    const key = getColumn(name, relation);
    fields.push({
      ...PLAIN,
      name: key,
      column: column(key),
      type: 'bigint',
      role: 'reference',
      required: relation.required === true,
      unique: relation.unique === true,
      indexed: true,
      description: relation.description,
      relation: name,
    });
  }
  if (entity.timestamps === true) {
    for (const name of ['createdAt', 'updatedAt'] as const) {
      fields.push({
        ...PLAIN,
        name,
        column: column(name),
        type: 'datetime',
        role: name,
        default: 'now',
        indexed: indexed.has(name),
      });
    }
  }
  return new Map(fields.map((field) => [field.name, field]));
}

function dataField(name: string, column: string, field: FieldDocument, indexed: boolean): Field {
  const { maxLength, precision, scale, min, max, values } = getAttributes(field);
  return {
    name,
    column,
    type: field.type,
    role: 'data',
    required: field.required === true,
    unique: field.unique === true,
    indexed: field.unique === true || field.index === true || indexed,
    hasPartsIndex: field.index === SUBSTRING,
    default: (field.default ?? undefined) as JsonValue | undefined,
    maxLength,
    precision,
    scale,
    min,
    max,
    values,
    description: field.description,
    relation: undefined,
  };
}

function buildRelation(
  owner: string,
  name: string,
  relation: RelationDocument,
  document: SchemaDocument,
  names: PhysicalNames,
): Relation {
  const { entity } = relation;
  switch (relation.kind) {
    case 'belongsTo':
      return {
        kind: 'belongsTo',
        name,
        entity,
        column: getColumn(name, relation),
        key: physicalColumn(names, owner, getColumn(name, relation)),
        required: relation.required === true,
        unique: relation.unique === true,
        onDelete: relation.onDelete ?? 'restrict',
      } satisfies BelongsTo;
    case 'hasMany':
    case 'hasOne': {
      const inverse = relation.inverse as string;
      return { kind: relation.kind, name, entity, inverse, key: getKeyColumn(document, names, entity, inverse) };
    }
    case 'manyToMany': {
      const { through, from, to } = relation as { through: string; from: string; to: string };
      return {
        kind: 'manyToMany',
        name,
        entity,
        through,
        from,
        to,
        fromKey: getKeyColumn(document, names, through, from),
        toKey: getKeyColumn(document, names, through, to),
      };
    }
    default:
      return relation.kind satisfies never;
  }
}

/** Returns the column of a belongsTo relation on another entity; the parser has checked that it exists. */
function getKeyColumn(document: SchemaDocument, names: PhysicalNames, entity: string, relation: string): string {
  const relationDocument = member(member(document.entities, entity)?.relations, relation);
  if (relationDocument === undefined) throw new TypeError(`document lacks relation ${relation} of entity ${entity}`);
  return physicalColumn(names, entity, getColumn(relation, relationDocument));
}
