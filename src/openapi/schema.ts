// The records of an entity as JSON Schemas, for responses and for bodies. Flat objects without `allOf` and `default`:
// generators of clients make wrong types of both.

import { shorten } from '../errors.ts';
import { type Entity, EVERY_COLUMN, type Field } from '../model/entity.ts';
import { exactNumber } from '../model/exact-json.ts';
import { decodeValue, fieldType, type JsonSchema } from '../model/field-types.ts';
import { getOperators } from '../plan/change.ts';
import { MAX_LINKED } from '../plan/links.ts';
import { ID_SCHEMA } from '../request/forms.ts';
import { type FieldTree, parseFields } from '../request/paths.ts';
import type { Part } from './error-responses.ts';
import { eventSchemas } from './events.ts';
import { schemaNames, schemaRef } from './names.ts';
import type { EntityView, RelationView } from './view.ts';

/** Returns the schemas that operations of an entity refer to, for `components.schemas`. `certain`: columns in every read. */
export function recordSchemas(view: EntityView, certain: ReadonlySet<string>): Readonly<Record<string, JsonSchema>> {
  const { entity, operations } = view;
  const names = schemaNames(entity.name);
  const isRead = operations.includes('list');
  const full = {
    type: 'object',
    required: view.mayHideWritten ? ['id'] : [...entity.fields.keys()],
    properties: columns(view, false),
    ...(isRead ? {} : { 'x-wda': recordExtension(view) }),
  };
  const [creates, updates] = [operations.includes('create'), operations.includes('update')];
  return {
    ...(creates || updates ? { [names.full]: full } : {}),
    ...(isRead ? { [names.read]: readSchema(view, certain) } : {}),
    ...(operations.includes('changes') || operations.includes('history')
      ? eventSchemas(entity.name, object([], columns(view, false)))
      : {}),
    ...(creates ? { [names.create]: body([...view.required], bodyProperties(view, true)) } : {}),
    ...(updates ? { [names.update]: body([], bodyProperties(view, false)) } : {}),
  };
}

/** `required` is left out if it would be empty: older tools do not accept an empty one. */
function object(required: readonly string[], properties: Part): JsonSchema {
  return { type: 'object', ...(required.length === 0 ? {} : { required }), properties };
}

const body = (required: readonly string[], properties: Part): JsonSchema => ({
  ...object(required, properties),
  additionalProperties: false,
});

function readSchema(view: EntityView, certain: ReadonlySet<string>): JsonSchema {
  const { entity, relations } = view;
  const required = [...entity.fields.keys()].filter((name) => certain.has(name));
  return {
    description: entity.description ?? `A record of ${entity.name}.`,
    ...object(required, {
      ...columns(view, true),
      ...Object.fromEntries([...relations].map(([name, relation]) => [name, relationSchema(relation)])),
    }),
    'x-wda': recordExtension(view),
  };
}

/**
 * Returns what JSON Schema cannot express about records, for generators of types: the entity, the targets of its
 * relations, how many levels may be expanded, and whether answers to writes may be the id alone.
 */
function recordExtension({ entity, relations, expandDepth, mayHideWritten }: EntityView): Part {
  return {
    entity: entity.name,
    expandDepth,
    ...(entity.search === null ? {} : { search: true }),
    ...(mayHideWritten ? { mayHideWritten } : {}),
    relations: Object.fromEntries(
      [...relations].map(([name, { relation, isList, isNullable, isEmpty }]) => [
        name,
        {
          kind: relation.kind,
          entity: relation.entity,
          isList,
          isNullable,
          ...(isEmpty ? { isEmpty } : {}),
          ...(relation.kind === 'belongsTo' ? { key: relation.column } : {}),
        },
      ]),
    ),
  };
}

function relationSchema({ relation, isList, isNullable, isEmpty }: RelationView): JsonSchema {
  if (isEmpty) return isList ? { type: 'array', items: {}, maxItems: 0 } : { type: 'null' };
  const target = schemaRef(schemaNames(relation.entity).read);
  if (isList) return { type: 'array', items: target };
  return isNullable ? { oneOf: [target, { type: 'null' }] } : target;
}

/** Returns the columns. `hasExtension`: with the input for generators of types. */
function columns(
  { entity, createFields, updateFields }: EntityView,
  hasExtension: boolean,
): Readonly<Record<string, JsonSchema>> {
  const written = new Set([...createFields, ...updateFields].map(({ name }) => name));
  return Object.fromEntries(
    [...entity.fields.values()].map((field) => [
      field.name,
      columnSchema(field, written.has(field.name), hasExtension),
    ]),
  );
}

/** Returns the schema of a column in responses. */
function columnSchema(field: Field, isWritten: boolean, hasExtension: boolean): JsonSchema {
  const { description, required } = field;
  const schema = isId(field) ? ID_SCHEMA : fieldType(field.type).schema(field);
  return {
    ...(required ? schema : nullable(schema)),
    ...(isWritten ? {} : { readOnly: true }),
    ...(description === undefined ? {} : { description }),
    ...(hasExtension ? { 'x-wda': extension(field) } : {}),
  };
}

const isId = ({ role }: Field): boolean => role === 'id' || role === 'reference';

/** Returns what JSON Schema cannot express about a column: input of generators of types. */
function extension({ type, precision, scale, relation }: Field): Part {
  return {
    type,
    ...(precision === undefined ? {} : { precision }),
    ...(scale === undefined ? {} : { scale }),
    ...(relation === undefined ? {} : { relation }),
  };
}

/** Returns the schema of the values and null. */
function nullable(schema: JsonSchema): JsonSchema {
  if (schema.type === undefined) return schema;
  const types = [schema.type, 'null'].flat();
  return Array.isArray(schema.enum)
    ? { ...schema, type: types, enum: [...schema.enum, null] }
    : { ...schema, type: types };
}

/** Returns columns for bodies. `creates`: omitted columns take their default, which the description has. */
function bodyProperties(view: EntityView, creates: boolean): Part {
  const { createFields, updateFields, ruleColumns, grantColumns } = view;
  const fields = Object.fromEntries(
    (creates ? createFields : updateFields).map((field) => {
      const { takesDigits, schema } = fieldType(field.type);
      const values = isId(field) ? ID_SCHEMA : schema(field);
      const isGiven = creates && grantColumns.has(field.name);
      const sentences = [
        field.description ?? values.description,
        ruleColumns.has(field.name) ? 'Set from your token.' : undefined,
        isGiven ? 'Set by your role.' : undefined,
        creates && !isGiven && field.default !== undefined ? `Left out: ${defaultText(field)}.` : undefined,
      ].filter((text) => text !== undefined);
      const fieldSchema = takesDigits === true && !isId(field) ? { ...values, type: [values.type, 'string'] } : values;
      const value = field.required ? fieldSchema : nullable(fieldSchema);
      const operator = creates ? undefined : getOperatorSchema(field);
      return [
        field.name,
        {
          ...(operator === undefined ? value : { anyOf: [value, schemaRef(operator)] }),
          ...(sentences.length === 0 ? {} : { description: sentences.join(' ') }),
        },
      ];
    }),
  );
  const links = (creates ? view.createLinks : view.updateLinks).map(({ name, entity: target, through }) => [
    name,
    {
      ...(creates ? LINKED_IDS : { anyOf: [LINKED_IDS, schemaRef(LINKS_SCHEMA)] }),
      description: `Ids of ${target}: written as records of ${through}, and not part of answers.`,
    },
  ]);
  return { ...fields, ...Object.fromEntries(links) };
}

/** Names of the schemas of operators. */
export const OPERATOR_SCHEMAS = { $inc: 'wda.Increment', $append: 'wda.Append', $now: 'wda.Now' } as const;

/** Name of the schema of the operators of a many-to-many relation. */
export const LINKS_SCHEMA = 'wda.Links';

/** Ids of related records in a body. */
export const LINKED_IDS = { type: 'array', items: ID_SCHEMA, maxItems: MAX_LINKED } as const;

/** Returns the name of the schema of the operator that an update of the field takes; one of json is any value. */
function getOperatorSchema(field: Field): string | undefined {
  const [name] = getOperators(field);
  return name === '$inc' || name === '$append' || name === '$now' ? OPERATOR_SCHEMAS[name] : undefined;
}

/** Returns the names of the schemas of operators that updates of the entity refer to. */
export const listOperatorSchemas = ({ operations, updateFields, updateLinks }: EntityView): readonly string[] =>
  operations.includes('update')
    ? [
        ...updateFields.flatMap((field) => getOperatorSchema(field) ?? []),
        ...(updateLinks.length > 0 ? [LINKS_SCHEMA] : []),
      ]
    : [];

const defaultText = ({ default: value }: Field): string =>
  shorten(typeof value === 'string' ? value : JSON.stringify(value));

/** Returns a value that the field accepts, for examples. References lead to the first record. */
export function makeExample(field: Field): unknown {
  if (isId(field)) return 1;
  const { json, example } = fieldType(field.type);
  const bound = (text: string | undefined) => (text !== undefined && json === 'number' ? exactNumber(text) : text);
  const candidates = [
    field.values?.[0],
    typeof example === 'string' ? example.slice(0, field.maxLength) : example,
    ...(json === 'number' ? [1, 0] : []),
    bound(field.min),
    bound(field.max),
  ];
  return candidates.find((value) => value !== undefined && decodeValue(field, value).ok) ?? null;
}

/** Returns examples: a create with the required members (`minimal`) or with all (`full`), and an update (`change`). */
export function bodyExamples({ createFields, updateFields, required, ruleColumns, grantColumns }: EntityView): {
  readonly minimal: Part;
  readonly full: Part;
  readonly change: Part;
} {
  const record = (fields: readonly Field[]): Part =>
    Object.fromEntries(fields.map((field) => [field.name, makeExample(field)]));
  // Only the token, or the role, determines the values of these columns.
  const isFree = ({ name }: Field): boolean => !ruleColumns.has(name) && !grantColumns.has(name);
  return {
    minimal: record(createFields.filter(({ name }) => required.has(name))),
    full: record(createFields.filter(isFree)),
    change: record(updateFields.filter(isFree).slice(0, 1)),
  };
}

/** Returns a record as in a response. */
export function makeRecordExample({ fields }: Entity): Part {
  return Object.fromEntries([...fields.values()].map((field) => [field.name, makeExample(field)]));
}

/**
 * Returns, by entity, the columns that its records have in every response to a request that names no fields, at any
 * level. All, unless a default selection leaves some out.
 */
export function certainColumns(entities: ReadonlyMap<string, Entity>): ReadonlyMap<string, ReadonlySet<string>> {
  const certain = new Map([...entities].map(([name, { fields }]) => [name, new Set(fields.keys())]));
  const restrict = (name: string, tree: FieldTree): void => {
    const entity = entities.get(name);
    if (entity === undefined) return;
    const remainingColumns = certain.get(name) as Set<string>;
    if (!Object.hasOwn(tree, EVERY_COLUMN)) {
      for (const column of remainingColumns) if (!Object.hasOwn(tree, column)) remainingColumns.delete(column);
    }
    for (const [member, { all, children }] of Object.entries(tree)) {
      const relation = entity.relations.get(member);
      if (relation !== undefined && !all) restrict(relation.entity, children);
    }
  };
  for (const { name, settings } of entities.values()) {
    const tree = parseFields(settings.defaultFields ?? []);
    if (tree !== undefined) restrict(name, tree);
  }
  return certain;
}
