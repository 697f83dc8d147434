// Attributes of fields and relations (docs/reference/schema-document.md), for forms.

export const FIELD_TYPES = [
  'string',
  'text',
  'integer',
  'bigint',
  'decimal',
  'float',
  'boolean',
  'date',
  'datetime',
  'time',
  'uuid',
  'json',
  'enum',
] as const;

export type FieldType = (typeof FIELD_TYPES)[number];

/** Attributes that only some types have. */
export type TypeAttribute = 'maxLength' | 'precision' | 'scale' | 'min' | 'max' | 'values' | 'searchable';

const NUMBERS = ['min', 'max'] as const;
const TEXTS = ['maxLength', 'searchable'] as const;

const ATTRIBUTES: Readonly<Record<FieldType, readonly TypeAttribute[]>> = {
  string: TEXTS,
  text: TEXTS,
  integer: NUMBERS,
  bigint: NUMBERS,
  decimal: ['precision', 'scale', ...NUMBERS],
  float: NUMBERS,
  boolean: [],
  date: NUMBERS,
  datetime: NUMBERS,
  time: NUMBERS,
  uuid: [],
  json: [],
  enum: ['values'],
};

const isFieldType = (type: string): type is FieldType => Object.hasOwn(ATTRIBUTES, type);

export const listAttributes = (type: string): readonly TypeAttribute[] => (isFieldType(type) ? ATTRIBUTES[type] : []);

/** Lists the attributes to remove when the type changes to this one. */
export const listOtherAttributes = (type: string): readonly TypeAttribute[] =>
  [...new Set(Object.values(ATTRIBUTES).flat())].filter((one) => !listAttributes(type).includes(one));

/** Returns whether min, max and default of a type are numbers; those of other types are texts. */
export const isNumeric = (type: string): boolean => ['integer', 'bigint', 'decimal', 'float'].includes(type);

/** Returns the keyword that a default of this type may be in place of a value, or undefined if there is none. */
export const getDefaultKeyword = (type: string): string | undefined =>
  type === 'uuid' ? 'uuid' : ['date', 'datetime', 'time'].includes(type) ? 'now' : undefined;

export const RELATION_KINDS = ['belongsTo', 'hasMany', 'hasOne', 'manyToMany'] as const;
export type RelationKind = (typeof RELATION_KINDS)[number];

/** Members by kind of relation, without the common `kind`, `entity` and `description`. */
export const RELATION_MEMBERS: Readonly<Record<RelationKind, readonly string[]>> = {
  belongsTo: ['column', 'required', 'unique', 'onDelete'],
  hasMany: ['inverse'],
  hasOne: ['inverse'],
  manyToMany: ['through', 'from', 'to'],
};

export const NAME = /^[A-Za-z][A-Za-z0-9_]{0,62}$/;
