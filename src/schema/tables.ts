// An entity in PostgreSQL: columns, constraints and indexes with their names. Takes entities and their document,
// returns values; migrate/ddl.ts writes the SQL, catalog/load-workspace.ts explains refusals of the database with them.
import { type Entity, type Field, NO_LANGUAGE } from '../model/entity.ts';
import {
  constraintSlot,
  derivedName,
  NO_NAMES,
  type PhysicalNames,
  physicalConstraint,
} from '../model/physical-name.ts';
import type { BelongsTo } from '../model/relation.ts';
import { buildEntities } from './entities.ts';
import type { EntityDocument, IndexDocument, SchemaDocument } from './format.ts';
import { member } from './renames.ts';

export interface Reference {
  readonly name: string;
  readonly field: Field;
  readonly relation: BelongsTo;
  /** Table in PostgreSQL that it refers to. */
  readonly target: string;
}

export interface Check {
  readonly name: string;
  readonly kind: 'length' | 'range' | 'enum';
  readonly field: Field;
}

/** Kind of an index: values and their order, the words of all fields together, or substrings of one field. */
export type IndexMethod =
  | { readonly kind: 'values' }
  | { readonly kind: 'words'; readonly language: string }
  | { readonly kind: 'parts' };

/** A unique constraint, or an index without one. */
export interface Index {
  readonly name: string;
  readonly unique: boolean;
  readonly fields: readonly Field[];
  readonly method: IndexMethod;
}

/** Returns whether the table has an index for searches. */
export function hasTextIndex({ indexes }: Table): boolean {
  return [...indexes.values()].some(({ method }) => method.kind === 'words');
}

export interface Table {
  readonly schema: string;
  /** Name in PostgreSQL. */
  readonly name: string;
  readonly entity: string;
  /** Columns by the names of the fields. */
  readonly columns: ReadonlyMap<string, Field>;
  readonly primaryKey: string;
  /** Sequence of the ids. */
  readonly sequence: string;
  readonly checks: readonly Check[];
  readonly references: readonly Reference[];
  /** Indexes by name. */
  readonly indexes: ReadonlyMap<string, Index>;
}

export function buildTable(
  entity: Entity,
  document: Pick<EntityDocument, 'indexes' | 'fields'>,
  entities: ReadonlyMap<string, Entity>,
  names: PhysicalNames = NO_NAMES,
): Table {
  const { name } = entity.table;
  const own = (slot: string): string | undefined => physicalConstraint(names, entity.name, slot);
  return {
    ...entity.table,
    entity: entity.name,
    columns: entity.fields,
    primaryKey: derivedName(name, ['id'], 'pk'),
    sequence: derivedName(name, ['id', 'sequence'], 'pk'),
    checks: [...entity.fields.values()]
      .flatMap((field) => buildChecks(name, field))
      .map((check) => ({ ...check, name: own(getSlot(check)) ?? check.name })),
    references: [...entity.relations.values()]
      .flatMap((relation) => (relation.kind === 'belongsTo' ? [buildReference(entity, relation, entities)] : []))
      .map((reference) => ({ ...reference, name: own(getSlot(reference)) ?? reference.name })),
    indexes: new Map(
      [...buildIndexes(entity, document), ...buildTextIndexes(entity)].map((index) => [index.name, index]),
    ),
  };
}

const getSlot = (one: Check | Reference): string =>
  constraintSlot(one.field.name, 'kind' in one ? `ck_${one.kind}` : 'fk');

/**
 * Returns the part of PhysicalNames by which the checks and foreign keys of `derived` become those of `actual`: tables
 * of one document, by entity. Empty when nothing differs.
 */
export function constraintNames(
  actual: ReadonlyMap<string, Table>,
  derived: ReadonlyMap<string, Table>,
): Pick<PhysicalNames, 'constraints'> {
  const constraints: Record<string, Record<string, string>> = {};
  for (const [entity, table] of derived) {
    const own = actual.get(entity);
    const names = new Map([...(own?.checks ?? []), ...(own?.references ?? [])].map((one) => [getSlot(one), one.name]));
    const nameEntries = [...table.checks, ...table.references].flatMap((one) => {
      const name = names.get(getSlot(one));
      return name === undefined || name === one.name ? [] : [[getSlot(one), name] as const];
    });
    if (nameEntries.length > 0) constraints[entity] = Object.fromEntries(nameEntries);
  }
  return Object.keys(constraints).length > 0 ? { constraints } : {};
}

/** Builds checks; `table` is its name in PostgreSQL. */
export function buildChecks(table: string, field: Field): readonly Check[] {
  const checks: Check[] = [];
  const add = (kind: Check['kind']): void => {
    checks.push({ name: derivedName(table, [field.column], `ck_${kind}`), kind, field });
  };
  if (field.maxLength !== undefined) add('length');
  if (field.min !== undefined || field.max !== undefined) add('range');
  if (field.values !== undefined) add('enum');
  return checks;
}

function buildReference(entity: Entity, relation: BelongsTo, entities: ReadonlyMap<string, Entity>): Reference {
  const target = entities.get(relation.entity);
  if (target === undefined) throw new TypeError(`relation ${relation.name} of ${entity.name} leads nowhere`);
  return {
    name: derivedName(entity.table.name, [relation.key], 'fk'),
    field: getField(entity, relation.column),
    relation,
    target: target.table.name,
  };
}

function getField(entity: Entity, name: string): Field {
  const field = entity.fields.get(name);
  if (field === undefined) throw new TypeError(`entity ${entity.name} has no field ${name}`);
  return field;
}

function buildIndexes(entity: Entity, document: Pick<EntityDocument, 'indexes' | 'fields'>): readonly Index[] {
  const indexDocuments: IndexDocument[] = [...(document.indexes ?? [])];
  const ruled = new Set(entity.rowRules.map((rule) => rule.column));
  for (const field of entity.fields.values()) {
    if (field.role === 'id') continue;
    if (field.unique) indexDocuments.push({ fields: [field.name], unique: true });
    const isIndexed = member(document.fields, field.name)?.index === true;
    if (isIndexed || field.role === 'reference' || ruled.has(field.name)) indexDocuments.push({ fields: [field.name] });
  }
  const unique = new Set(indexDocuments.filter((index) => index.unique).map((index) => index.fields.join()));
  return indexDocuments
    .filter((index) => index.unique === true || !unique.has(index.fields.join()))
    .map((index) => {
      const fields = index.fields.map((name) => getField(entity, name));
      const columns = fields.map((field) => field.column);
      return {
        name: derivedName(entity.table.name, columns, index.unique === true ? 'uq' : 'ix'),
        unique: index.unique === true,
        fields,
        method: { kind: 'values' },
      };
    });
}

/** Builds indexes for searches and for substrings. */
function buildTextIndexes({ table, fields, search }: Entity): readonly Index[] {
  const parts = [...fields.values()].filter((field) => field.hasPartsIndex);
  const indexes = parts.map((field): Index => {
    const name = derivedName(table.name, [field.column], 'parts');
    return { name, unique: false, fields: [field], method: { kind: 'parts' } };
  });
  if (search === null) return indexes;
  const { language } = search;
  const columns = search.fields.map((field) => field.column);
  // Another language needs another index, so its name differs; no column has an empty name.
  const name = derivedName(table.name, language === NO_LANGUAGE ? columns : [...columns, '', language], 'words');
  return [...indexes, { name, unique: false, fields: search.fields, method: { kind: 'words', language } }];
}

/** Builds the tables of a document from parseSchemaDocument, by entity. */
export function buildTables(
  document: SchemaDocument,
  databaseSchema: string,
  names: PhysicalNames = NO_NAMES,
): ReadonlyMap<string, Table> {
  const entities = buildEntities(document, databaseSchema, names);
  const tables = [...entities.values()].map((entity) =>
    buildTable(entity, member(document.entities, entity.name) ?? {}, entities, names),
  );
  return new Map(tables.map((table) => [table.entity, table]));
}
