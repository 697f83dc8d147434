// What an entity is in PostgreSQL: columns, constraints and indexes with their names. Takes entities and their document,
// gives values; migrate/ddl.ts writes the SQL, catalog/load-workspace.ts explains refusals of the database with them.
import type { Entity, Field } from './entity.ts';
import { derivedName } from './physical-name.ts';
import type { BelongsTo } from './relation.ts';
import { entitiesOf } from './schema-entities.ts';
import type { EntityDocument, IndexDocument, SchemaDocument } from './schema-format.ts';
import { member } from './schema-renames.ts';

export interface Reference {
  readonly name: string;
  readonly column: string;
  readonly relation: BelongsTo;
}

export interface Check {
  readonly name: string;
  readonly kind: 'length' | 'range' | 'enum';
  readonly field: Field;
}

/** A unique constraint, or an index without one. */
export interface Index {
  readonly name: string;
  readonly unique: boolean;
  readonly columns: readonly string[];
}

export interface Table {
  readonly schema: string;
  readonly name: string;
  readonly columns: ReadonlyMap<string, Field>;
  readonly primaryKey: string;
  /** Sequence of the ids. */
  readonly sequence: string;
  readonly checks: readonly Check[];
  readonly references: readonly Reference[];
  /** By name. */
  readonly indexes: ReadonlyMap<string, Index>;
}

export function tableOf(entity: Entity, document: Pick<EntityDocument, 'indexes' | 'fields'>): Table {
  return {
    ...entity.table,
    columns: entity.fields,
    primaryKey: derivedName(entity.name, ['id'], 'pk'),
    sequence: derivedName(entity.name, ['id', 'sequence'], 'pk'),
    checks: [...entity.fields.values()].flatMap((field) => checksOf(entity.name, field)),
    references: [...entity.relations.values()].flatMap((relation) =>
      relation.kind === 'belongsTo' ? [referenceOf(entity.name, relation)] : [],
    ),
    indexes: new Map(indexesOf(entity, document).map((index) => [index.name, index])),
  };
}

export function checksOf(entity: string, field: Field): readonly Check[] {
  const checks: Check[] = [];
  const add = (kind: Check['kind']): void => {
    checks.push({ name: derivedName(entity, [field.name], `ck_${kind}`), kind, field });
  };
  if (field.maxLength !== undefined) add('length');
  if (field.min !== undefined || field.max !== undefined) add('range');
  if (field.values !== undefined) add('enum');
  return checks;
}

function referenceOf(entity: string, relation: BelongsTo): Reference {
  return { name: derivedName(entity, [relation.column], 'fk'), column: relation.column, relation };
}

function indexesOf(entity: Entity, document: Pick<EntityDocument, 'indexes' | 'fields'>): readonly Index[] {
  const asked: IndexDocument[] = [...(document.indexes ?? [])];
  const ruled = new Set(entity.rowRules.map((rule) => rule.column));
  for (const field of entity.fields.values()) {
    if (field.role === 'id') continue;
    if (field.unique) asked.push({ fields: [field.name], unique: true });
    const wanted = member(document.fields, field.name)?.index === true;
    if (wanted || field.role === 'reference' || ruled.has(field.name)) asked.push({ fields: [field.name] });
  }
  const unique = new Set(asked.filter((index) => index.unique).map((index) => index.fields.join()));
  return asked
    .filter((index) => index.unique === true || !unique.has(index.fields.join()))
    .map((index) => ({
      name: derivedName(entity.name, index.fields, index.unique === true ? 'uq' : 'ix'),
      unique: index.unique === true,
      columns: index.fields,
    }));
}

/** The tables of a document that parseSchemaDocument gave, by name. */
export function tablesOf(document: SchemaDocument, databaseSchema: string): ReadonlyMap<string, Table> {
  const tables = [...entitiesOf(document, databaseSchema).values()].map((entity) =>
    tableOf(entity, member(document.entities, entity.name) ?? {}),
  );
  return new Map(tables.map((table) => [table.name, table]));
}
