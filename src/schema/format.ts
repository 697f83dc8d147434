// The form of a schema document: one definition for its TypeScript types, the check of its shape and the JSON Schema
// that we serve. document.ts checks combinations of members.
import type { Static, TSchema } from 'typebox';
import { FIELD_TYPE_NAMES, type FieldType, fieldType, typesWith } from '../model/field-types.ts';
import { GRANT_OPERATIONS, type GrantOperation } from '../model/grant.ts';
import { Type } from './type.ts';

// Limits of one document. They bound the load that one workspace puts on the catalog of PostgreSQL, on a snapshot and
// on the locks of one transaction; a table of PostgreSQL has at most 1,600 columns in its whole life.
export const MAX_ENTITIES = 500;
export const MAX_FIELDS = 500;
export const MAX_RELATIONS = 500;
export const MAX_INDEXES = 50;
/** PostgreSQL's own limit for the columns of one index. */
export const MAX_INDEX_FIELDS = 32;
export const MAX_ROW_RULES = 20;
export const MAX_ROLES = 64;
export const MAX_GRANTS = 32;
/** Most comparisons in one condition of a grant. */
export const MAX_GRANT_LEAVES = 32;
export const MAX_ENUM_VALUES = 1000;
/** PostgreSQL's limit for character varying(n) and for numeric(p). */
export const MAX_LENGTH = 10_485_760;
export const MAX_PRECISION = 1000;
export const MAX_EXPAND_DEPTH = 10;
const MAX_DESCRIPTION = 10_000;
const MAX_PATHS = 500;

/** Names of entities, fields and relations. PostgreSQL keeps 63 bytes of a name. */
export const NAME_PATTERN = '^[A-Za-z][A-Za-z0-9_]{0,62}$';

/** Configurations of the text search of PostgreSQL. */
export const LANGUAGE_PATTERN = '^[A-Za-z_][A-Za-z0-9_]{0,62}$';

/** Roles of users; compared as they are. */
export const ROLE_PATTERN = '^[^\\u0000-\\u001f\\u007f-\\u009f]{1,100}$';

/** Organizations and workspaces in URLs. */
export const SLUG_PATTERN = '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$';

/** Returns the schema of an object whose keys are names of the user's own. */
function mapByName<T extends TSchema>(member: T, maxProperties: number, description: string) {
  return Type.Unsafe<Readonly<Record<string, Static<T>>>>({
    type: 'object',
    description,
    propertyNames: { pattern: NAME_PATTERN },
    additionalProperties: member,
    maxProperties,
  });
}

function makeEnum<const T extends readonly string[]>(values: T, description: string) {
  return Type.Unsafe<T[number]>({ type: 'string', enum: [...values], description });
}

function paths(description: string) {
  return Type.Unsafe<readonly string[] | null>({
    type: ['array', 'null'],
    items: { type: 'string' },
    maxItems: MAX_PATHS,
    description,
  });
}

const Name = (description: string) => Type.String({ pattern: NAME_PATTERN, description });
const Description = Type.String({ maxLength: MAX_DESCRIPTION, description: 'For people; no effect on the API.' });
const Flag = (description: string) => Type.Boolean({ description });
/** Joins names as `a`, `a and b`, `a, b and c`. */
const both = (names: readonly string[]): string =>
  [names.slice(0, -1).join(', '), ...names.slice(-1)].filter((part) => part !== '').join(' and ');

/** Returns the labels of the types, once for neighbours that share them; none for types without a label. */
function groupByLabel(
  getLabel: (type: FieldType) => string | null,
): { readonly label: string; readonly names: string }[] {
  const groups: { label: string; types: string[] }[] = [];
  for (const name of FIELD_TYPE_NAMES) {
    const label = getLabel(fieldType(name));
    if (label === null) continue;
    if (groups.at(-1)?.label === label) groups.at(-1)?.types.push(name);
    else groups.push({ label, types: [name] });
  }
  return groups.map(({ label, types }) => ({ label, names: both(types) }));
}

const TYPES = groupByLabel((type) => type.label).map(({ label, names }) => `${names}: ${label}`);
const GENERATED = groupByLabel((type) => type.generated?.word ?? null).map(
  ({ label, names }) => `"${label}" for ${names}`,
);
const ISO = typesWith('min').filter((name) => fieldType(name).json === 'string');

const strict = { additionalProperties: false } as const;

/** `index` of a field with a substring index. */
export const SUBSTRING = 'substring';

const Field = Type.Object(
  {
    type: makeEnum(FIELD_TYPE_NAMES, `${TYPES.join('; ')}.`),
    description: Type.Optional(Description),
    required: Type.Optional(Flag('No record without a value. Default false.')),
    unique: Type.Optional(Flag('No two records with the same value; several may have none. Default false.')),
    index: Type.Optional(
      Type.Unsafe<boolean | typeof SUBSTRING>({
        enum: [true, false, SUBSTRING],
        description:
          'true: an index, for filters and sorts on this field. A unique field has one anyway. "substring", for string and text: one for contains, startsWith and endsWith; it doubles the time of an insert.',
      }),
    ),
    searchable: Type.Optional(
      Flag(
        'string and text: `search` finds the words of this field. Its index doubles the time of an insert. Default false.',
      ),
    ),
    default: Type.Optional(
      Type.Unsafe<unknown>({
        description: `Value of a new record that gives none: a value of the type, or ${GENERATED.join(', or ')}.`,
      }),
    ),
    maxLength: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_LENGTH,
        description: `${both(typesWith('maxLength'))}: most characters of a value.`,
      }),
    ),
    precision: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_PRECISION,
        description: `${both(typesWith('precision'))}: most digits in all.`,
      }),
    ),
    scale: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_PRECISION,
        description: `${both(typesWith('scale'))}: digits after the point. Needs \`precision\`.`,
      }),
    ),
    min: Type.Optional(
      Type.Unsafe<unknown>({
        type: ['number', 'string'],
        description: `Least value: a number or numeric string, or ISO 8601 text for ${both(ISO)}.`,
      }),
    ),
    max: Type.Optional(Type.Unsafe<unknown>({ type: ['number', 'string'], description: 'Greatest value, as `min`.' })),
    values: Type.Optional(
      Type.Unsafe<readonly string[]>({
        type: 'array',
        items: { type: 'string', minLength: 1 },
        minItems: 1,
        maxItems: MAX_ENUM_VALUES,
        uniqueItems: true,
        description: `${both(typesWith('values'))}: what a value may be.`,
      }),
    ),
    renamedFrom: Type.Optional(Name('Name of the field so far: its values are kept.')),
  },
  { ...strict, title: 'Field', description: 'A field, stored in a column of the same name.' },
);

const Relation = Type.Object(
  {
    kind: makeEnum(
      ['belongsTo', 'hasMany', 'hasOne', 'manyToMany'],
      'belongsTo stores the id of a record of `entity`; hasMany and hasOne are its other side; manyToMany goes through an entity with two belongsTo relations.',
    ),
    entity: Name('The entity that the relation leads to.'),
    description: Type.Optional(Description),
    column: Type.Optional(Name('belongsTo: field that stores the id. Default: the name of the relation and `Id`.')),
    required: Type.Optional(Flag('belongsTo: no record without it. Default false.')),
    unique: Type.Optional(Flag('belongsTo: no two records with the same one; makes the other side a hasOne.')),
    onDelete: Type.Optional(
      makeEnum(
        ['restrict', 'cascade', 'setNull'],
        'belongsTo, when the record it refers to is deleted: refuse that (restrict, the default), delete this one too (cascade), or forget it (setNull).',
      ),
    ),
    inverse: Type.Optional(Name('hasMany and hasOne: the belongsTo relation of `entity` that leads back here.')),
    through: Type.Optional(Name('manyToMany: the entity between the two.')),
    from: Type.Optional(Name('manyToMany: the belongsTo relation of `through` that leads back here.')),
    to: Type.Optional(Name('manyToMany: the belongsTo relation of `through` that leads to `entity`.')),
    renamedFrom: Type.Optional(Name('Name of the relation so far.')),
  },
  { ...strict, title: 'Relation', description: 'A link to another entity, followed by `expand`.' },
);

const Index = Type.Object(
  {
    fields: Type.Unsafe<readonly string[]>({
      type: 'array',
      items: { type: 'string' },
      minItems: 1,
      maxItems: MAX_INDEX_FIELDS,
      description: 'Fields, or the fields that store relations, in the order of the index.',
    }),
    unique: Type.Optional(Flag('No two records with the same values in all of these fields. Default false.')),
  },
  { ...strict, title: 'Index', description: 'An index over several fields.' },
);

export const SettingsShape = Type.Object(
  {
    defaultExpand: Type.Optional(
      paths('Relations expanded when a request has no `expand`, with dots for nested ones. null: none.'),
    ),
    expandable: Type.Optional(paths('The only relations that may be expanded; [] for none. null: all.')),
    maxExpandDepth: Type.Optional(
      Type.Unsafe<number | null>({
        type: ['integer', 'null'],
        minimum: 1,
        maximum: MAX_EXPAND_DEPTH,
        description: 'Deepest nesting of `expand`. null: 3.',
      }),
    ),
    label: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        description:
          'string or text field that names a record to people, or a template of fields such as `{firstName} {lastName}`. null: guessed, by names and unique texts.',
      }),
    ),
    defaultFields: Type.Optional(
      paths('Fields returned when a request has no `fields`; `*` is every column. null: all.'),
    ),
    changes: Type.Optional(
      Type.Unsafe<'off' | 'feed' | 'history' | null>({
        enum: ['off', 'feed', 'history', null],
        description:
          'What is kept of changes of its records: feed for `_changes`, history for `_history`, too. null: off.',
      }),
    ),
    historyDays: Type.Optional(
      Type.Unsafe<number | null>({
        type: ['integer', 'null'],
        minimum: 1,
        maximum: 36_500,
        description: 'Days for which history is kept. null: the default of the installation.',
      }),
    ),
    historyForUsers: Type.Optional(
      Type.Unsafe<boolean | null>({
        type: ['boolean', 'null'],
        description: 'Whether external users may read the history of records that they can see. null: no.',
      }),
    ),
    changesOmit: Type.Optional(paths('Own fields whose values are never stored with changes. null: none.')),
  },
  { ...strict, description: 'How the entity is read. Left out: the settings in force stay; {}: none.' },
);

const RowRule = Type.Object(
  {
    column: Type.String({ description: 'Field, or field that stores a relation, that is compared.' }),
    claim: Type.String({
      minLength: 1,
      maxLength: 500,
      description: 'Claim of the external token, by name or dotted path.',
    }),
    enabled: Type.Optional(Flag('Whether the rule is in force. Default true.')),
  },
  { ...strict, description: 'External users only see records whose column equals the claim.' },
);

export const RowRulesShape = Type.Unsafe<readonly Static<typeof RowRule>[]>({
  type: 'array',
  items: RowRule,
  maxItems: MAX_ROW_RULES,
  description: 'Row-level security, combined with AND. Left out: the rules in force stay; []: none.',
});

const FieldNames = (description: string) =>
  Type.Unsafe<readonly string[]>({
    type: 'array',
    items: { type: 'string' },
    maxItems: MAX_FIELDS,
    uniqueItems: true,
    description,
  });

const Grant = Type.Object(
  {
    role: Type.Optional(
      Type.Unsafe<string | readonly string[]>({
        type: ['string', 'array'],
        items: { type: 'string' },
        minItems: 1,
        maxItems: MAX_ROLES,
        description: 'A name of `roles`, or a list of names. Left out: every external user.',
      }),
    ),
    can: Type.Unsafe<readonly GrantOperation[]>({
      type: 'array',
      items: { type: 'string', enum: [...GRANT_OPERATIONS] },
      minItems: 1,
      uniqueItems: true,
      description: 'Operations that are allowed.',
    }),
    where: Type.Optional(
      Type.Unsafe<Readonly<Record<string, unknown>>>({
        type: 'object',
        description:
          'Records: a filter tree as in `_query`, whose values may be {"claim": name} or {"now": true}. Left out: all.',
      }),
    ),
    fields: Type.Optional(FieldNames('Fields that can be read of these records; `id` always can. Left out: all.')),
    write: Type.Optional(
      FieldNames('Fields that a create or an update may name. Left out: those of `fields` that can be written.'),
    ),
    set: Type.Optional(
      Type.Unsafe<Readonly<Record<string, unknown>>>({
        type: 'object',
        maxProperties: MAX_FIELDS,
        description: 'Values of a new record by field: a literal or {"claim": name}.',
      }),
    ),
  },
  { ...strict, title: 'Grant', description: 'What users with a role may do with the records of the entity.' },
);

export const GrantsShape = Type.Unsafe<readonly Static<typeof Grant>[] | null>({
  type: ['array', 'null'],
  items: Grant,
  maxItems: MAX_GRANTS,
  description:
    'Rights of users by role, combined with OR. Left out: those in force stay; []: users have none; null: the entity is open to every user.',
});

export const EntityShape = Type.Object(
  {
    description: Type.Optional(Description),
    fields: Type.Optional(mapByName(Field, MAX_FIELDS, 'Fields by name. `id` is there without being named.')),
    relations: Type.Optional(mapByName(Relation, MAX_RELATIONS, 'Relations by name.')),
    indexes: Type.Optional(
      Type.Unsafe<readonly Static<typeof Index>[]>({
        type: 'array',
        items: Index,
        maxItems: MAX_INDEXES,
        description: 'Indexes over several fields.',
      }),
    ),
    searchLanguage: Type.Optional(
      Type.String({
        pattern: LANGUAGE_PATTERN,
        description:
          'Language of the searchable fields: a configuration of the text search of PostgreSQL, such as english. Default: simple, words as they are written.',
      }),
    ),
    timestamps: Type.Optional(Flag('Adds `createdAt` and `updatedAt`, set by the server. Default false.')),
    settings: Type.Optional(SettingsShape),
    rowRules: Type.Optional(RowRulesShape),
    grants: Type.Optional(GrantsShape),
    renamedFrom: Type.Optional(Name('Name of the entity so far: its records are kept.')),
  },
  { ...strict, title: 'Entity', description: 'An entity: a kind of record, stored in a table of the same name.' },
);

export const DocumentShape = Type.Object(
  {
    $schema: Type.Optional(Type.String({ description: 'For editors; ignored.' })),
    roles: Type.Optional(
      Type.Unsafe<readonly string[]>({
        type: 'array',
        items: { type: 'string', pattern: ROLE_PATTERN },
        maxItems: MAX_ROLES,
        uniqueItems: true,
        description: 'Roles that grants name. Left out: the roles in force stay.',
      }),
    ),
    entities: mapByName(EntityShape, MAX_ENTITIES, 'Entities by name; the name is the one in URLs.'),
  },
  { ...strict, title: 'SchemaDocument', description: 'Entities, their fields and the relations between them.' },
);

export type FieldDocument = Static<typeof Field>;
export type RelationDocument = Static<typeof Relation>;
export type IndexDocument = Static<typeof Index>;
export type SettingsDocument = Static<typeof SettingsShape>;
export type GrantDocument = Static<typeof Grant>;
export type RowRuleDocument = Static<typeof RowRule>;
export type EntityDocument = Static<typeof EntityShape>;
export type SchemaDocument = Static<typeof DocumentShape>;

export const EMPTY_DOCUMENT: SchemaDocument = { entities: {} };

/** The JSON Schema (draft-07, which editors know) of a schema document. */
export const SCHEMA_DOCUMENT_JSON_SCHEMA = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  ...DocumentShape,
  title: 'Schema document of a workspace',
} as const;
