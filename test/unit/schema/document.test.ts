import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExact } from '../../../src/model/exact-json.ts';
import { parseSchemaDocument } from '../../../src/schema/document.ts';
import type { EntityDocument, SchemaDocument } from '../../../src/schema/format.ts';

/** Mistakes of a document as `path CODE`, in the order given. */
function mistakes(document: unknown, inForce?: SchemaDocument): string[] {
  const result = parseSchemaDocument(document, inForce);
  return result.ok ? [] : result.details.map(({ field, code }) => `${field} ${code}`);
}

function messages(document: unknown, inForce?: SchemaDocument): string[] {
  const result = parseSchemaDocument(document, inForce);
  return result.ok ? [] : result.details.map(({ field, message }) => `${field}: ${message}`);
}

/** A document with entity `a` as given beside an empty `b` with a relation `a` to it. */
const withA = (a: unknown): unknown => ({
  entities: { a, b: { relations: { a: { kind: 'belongsTo', entity: 'a' } } } },
});
const field = (of: unknown): unknown => withA({ fields: { f: of } });
const relation = (of: unknown): unknown => withA({ relations: { r: of } });

test('a document that is no document says so', () => {
  for (const value of [undefined, null, 5, 'x', []]) assert.deepEqual(mistakes(value), ['null TYPE_MISMATCH']);
  assert.deepEqual(mistakes({}), ['entities REQUIRED']);
  assert.deepEqual(mistakes({ entities: [] }), ['entities TYPE_MISMATCH']);
  assert.deepEqual(mistakes({ entities: { a: null } }), ['entities.a TYPE_MISMATCH']);
  assert.deepEqual(mistakes({ entities: {} }), []);
});

test('unknown members are refused with a did-you-mean and what is known', () => {
  assert.deepEqual(messages({ entities: { a: { feilds: {} } } }), [
    'entities.a.feilds: is not known here. Did you mean fields? Known: description, fields, relations, indexes, searchLanguage, timestamps, settings, rowRules, grants, renamedFrom',
  ]);
});

test('a misspelt member is one mistake, not also a missing one', () => {
  assert.deepEqual(mistakes(field({ tpye: 'string' })), ['entities.a.fields.f.tpye UNKNOWN_FIELD']);
  assert.deepEqual(mistakes(relation({ kind: 'hasMany', entity: 'b', invers: 'a' })), [
    'entities.a.relations.r.invers UNKNOWN_FIELD',
  ]);
});

const NAMES: readonly [string, unknown, string[]][] = [
  ['an entity name with a space', { entities: { 'a b': {} } }, ['entities.a b INVALID']],
  ['an entity name with an underscore in front', { entities: { _a: {} } }, ['entities._a INVALID']],
  ['a name of 64 letters', { entities: { [`a${'b'.repeat(63)}`]: {} } }, [`entities.a${'b'.repeat(63)} INVALID`]],
  ['an entity named id', { entities: { id: {} } }, ['entities.id INVALID']],
  ['a field named id', withA({ fields: { id: { type: 'uuid' } } }), ['entities.a.fields.id INVALID']],
  ['a system column', withA({ fields: { xmin: { type: 'uuid' } } }), ['entities.a.fields.xmin INVALID']],
  [
    'a key named like a system column',
    relation({ kind: 'belongsTo', entity: 'b', column: 'ctid' }),
    ['entities.a.relations.r.column INVALID'],
  ],
  [
    'a relation named like a field',
    withA({ fields: { r: { type: 'date' } }, relations: { r: { kind: 'belongsTo', entity: 'b' } } }),
    ['entities.a.relations.r INVALID'],
  ],
  [
    'a field named like the key of a relation',
    withA({ fields: { rId: { type: 'date' } }, relations: { r: { kind: 'belongsTo', entity: 'b' } } }),
    ['entities.a.relations.r INVALID'],
  ],
  [
    'two relations in one column',
    withA({
      relations: {
        r: { kind: 'belongsTo', entity: 'b' },
        s: { kind: 'belongsTo', entity: 'b', column: 'rId' },
      },
    }),
    ['entities.a.relations.s.column INVALID'],
  ],
  [
    'a relation whose key has its own name',
    relation({ kind: 'belongsTo', entity: 'b', column: 'r' }),
    ['entities.a.relations.r.column INVALID'],
  ],
  [
    'fields that timestamps adds',
    withA({ timestamps: true, fields: { createdAt: { type: 'date' } } }),
    ['entities.a.fields.createdAt INVALID'],
  ],
  [
    'a relation whose key gets too long',
    withA({ relations: { [`r${'x'.repeat(61)}`]: { kind: 'belongsTo', entity: 'b' } } }),
    [`entities.a.relations.r${'x'.repeat(61)} TOO_LONG`],
  ],
];
for (const [what, document, expected] of NAMES) {
  test(`names: ${what} is refused`, () => assert.deepEqual(mistakes(document), expected));
}

test('names: those of JavaScript itself are names like any other', () => {
  const names = ['constructor', 'toString', 'hasOwnProperty', 'valueOf'];
  const fields = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
  const entities = Object.fromEntries(names.map((name) => [name, { fields }]));
  assert.deepEqual(mistakes({ entities }), []);
  assert.deepEqual(mistakes(parseExact('{"entities": {"a": {"fields": {"__proto__": {"type": "string"}}}}}')), [
    'entities.a.fields.__proto__ INVALID',
  ]);
  assert.deepEqual(mistakes(relation({ kind: 'belongsTo', entity: 'constructor' })), [
    'entities.a.relations.r.entity REFERENCE_NOT_FOUND',
  ]);
});

const F = 'entities.a.fields.f';
const FIELDS: readonly [string, unknown, string[]][] = [
  ['an unknown type', { type: 'strng' }, [`${F}.type NOT_IN_ENUM`]],
  ['no type', {}, [`${F}.type REQUIRED`]],
  ['maxLength of a number', { type: 'integer', maxLength: 5 }, [`${F}.maxLength INVALID`]],
  ['values of a string', { type: 'string', values: ['a'] }, [`${F}.values INVALID`]],
  ['maxLength 1.5', { type: 'string', maxLength: 1.5 }, [`${F}.maxLength TYPE_MISMATCH`]],
  ['maxLength 0', { type: 'string', maxLength: 0 }, [`${F}.maxLength OUT_OF_RANGE`]],
  ['required as text', { type: 'string', required: 'yes' }, [`${F}.required TYPE_MISMATCH`]],
  ['scale without precision', { type: 'decimal', scale: 2 }, [`${F}.precision REQUIRED`]],
  ['scale beyond precision', { type: 'decimal', precision: 2, scale: 3 }, [`${F}.scale OUT_OF_RANGE`]],
  ['precision beyond 1000', { type: 'decimal', precision: 1001 }, [`${F}.precision OUT_OF_RANGE`]],
  ['min above max', { type: 'integer', min: 2, max: 1 }, [`${F}.min OUT_OF_RANGE`]],
  [
    'min above max by one digit of many',
    { type: 'decimal', min: '0.30000000000000004', max: '0.3' },
    [`${F}.min OUT_OF_RANGE`],
  ],
  ['a fraction as a bound of an integer', { type: 'integer', min: 0.5 }, [`${F}.min TYPE_MISMATCH`]],
  ['an enum without values', { type: 'enum' }, [`${F}.values REQUIRED`]],
  ['an enum with no values', { type: 'enum', values: [] }, [`${F}.values INVALID`]],
  ['an enum with a value twice', { type: 'enum', values: ['a', 'a'] }, [`${F}.values INVALID`]],
  ['an enum with an empty value', { type: 'enum', values: ['a', ''], default: 'x' }, [`${F}.values.1 INVALID`]],
  ['an enum value with NUL', { type: 'enum', values: ['a\u0000'] }, [`${F}.values.0 INVALID`]],
  ['a default of another type', { type: 'integer', default: '5' }, [`${F}.default TYPE_MISMATCH`]],
  [
    'min after max',
    { type: 'datetime', min: '2026-01-01T00:00:00Z', max: '2026-01-01T00:30:00+01:00' },
    [`${F}.min OUT_OF_RANGE`],
  ],
  ['a default beyond max', { type: 'integer', max: 4, default: 5 }, [`${F}.default OUT_OF_RANGE`]],
  ['a default that is too long', { type: 'string', maxLength: 2, default: 'abc' }, [`${F}.default TOO_LONG`]],
  [
    'a default with too many digits',
    { type: 'decimal', precision: 3, scale: 1, default: 1.25 },
    [`${F}.default OUT_OF_RANGE`],
  ],
  ['"now" for a number', { type: 'integer', default: 'now' }, [`${F}.default TYPE_MISMATCH`]],
  ['a default against a mistaken bound', { type: 'integer', max: 'x', default: 5 }, [`${F}.max TYPE_MISMATCH`]],
  ['a unique json', { type: 'json', unique: true }, [`${F}.unique INVALID`]],
  ['an index on json', { type: 'json', index: true }, [`${F}.index INVALID`]],
  ['an index of a kind that there is not', { type: 'text', index: 'trigram' }, [`${F}.index NOT_IN_ENUM`]],
  ['an index of parts of a number', { type: 'integer', index: 'substring' }, [`${F}.index INVALID`]],
  ['a number that is searchable', { type: 'decimal', searchable: true }, [`${F}.searchable INVALID`]],
  ['searchable as a word', { type: 'text', searchable: 'yes' }, [`${F}.searchable TYPE_MISMATCH`]],
];
for (const [what, of, expected] of FIELDS) {
  test(`fields: ${what} is refused`, () => assert.deepEqual(mistakes(field(of)), expected));
}

const GOOD_FIELDS: readonly unknown[] = [
  { type: 'string', default: 'now' },
  { type: 'text', searchable: true, index: 'substring' },
  { type: 'string', searchable: true, unique: true, index: true },
  { type: 'integer', searchable: false },
  { type: 'date', default: 'now', min: '0001-01-01', max: '9999-12-31' },
  { type: 'datetime', default: '2026-01-31T12:00:00+02:00' },
  { type: 'uuid', default: 'uuid', unique: true },
  { type: 'bigint', min: '-9223372036854775808', max: '9223372036854775807' },
  { type: 'decimal', precision: 1000, scale: 1000, min: -0.5, max: '0.5', default: '0.25' },
  { type: 'decimal', default: '1e5' },
  { type: 'float', min: -1e300, default: 1.5 },
  { type: 'json', default: [1, { a: null }] },
  { type: 'integer', default: null },
];
test('fields: what means something is taken', () => {
  for (const of of GOOD_FIELDS) assert.deepEqual(mistakes(field(of)), [], JSON.stringify(of));
});

const LANGUAGES: readonly [string, unknown, string[]][] = [
  ['without a searchable field', { searchLanguage: 'english' }, ['entities.a.searchLanguage INVALID']],
  ['that is no name', { searchLanguage: "eng'lish" }, ['entities.a.searchLanguage INVALID']],
  ['that is no text', { searchLanguage: 7 }, ['entities.a.searchLanguage TYPE_MISMATCH']],
  ['with a searchable field', { searchLanguage: 'english', fields: { t: { type: 'text', searchable: true } } }, []],
];
for (const [what, of, expected] of LANGUAGES) {
  test(`a language of the search ${what}`, () => assert.deepEqual(mistakes({ entities: { a: of } }), expected));
}

const R = 'entities.a.relations.r';
const RELATIONS: readonly [string, unknown, string[]][] = [
  ['an unknown kind', { kind: 'belongTo', entity: 'b' }, [`${R}.kind NOT_IN_ENUM`]],
  ['no target', { kind: 'belongsTo' }, [`${R}.entity REQUIRED`]],
  ['a target that does not exist', { kind: 'belongsTo', entity: 'c' }, [`${R}.entity REFERENCE_NOT_FOUND`]],
  ['hasMany without inverse', { kind: 'hasMany', entity: 'b' }, [`${R}.inverse REQUIRED`]],
  [
    'an inverse that does not exist',
    { kind: 'hasMany', entity: 'b', inverse: 'x' },
    [`${R}.inverse REFERENCE_NOT_FOUND`],
  ],
  ['an inverse that is no belongsTo', { kind: 'hasMany', entity: 'a', inverse: 'r' }, [`${R}.inverse INVALID`]],
  ['hasOne on a key that is not unique', { kind: 'hasOne', entity: 'b', inverse: 'a' }, [`${R}.inverse INVALID`]],
  [
    'onDelete of a hasMany',
    { kind: 'hasMany', entity: 'b', inverse: 'a', onDelete: 'cascade' },
    [`${R}.onDelete INVALID`],
  ],
  ['through of a belongsTo', { kind: 'belongsTo', entity: 'b', through: 'b' }, [`${R}.through INVALID`]],
  [
    'setNull on what is required',
    { kind: 'belongsTo', entity: 'b', required: true, onDelete: 'setNull' },
    [`${R}.onDelete INVALID`],
  ],
  [
    'manyToMany with one relation for both',
    { kind: 'manyToMany', entity: 'a', through: 'b', from: 'a', to: 'a' },
    [`${R}.to INVALID`],
  ],
  [
    'manyToMany with an unknown to',
    { kind: 'manyToMany', entity: 'b', through: 'b', from: 'a', to: 'x' },
    [`${R}.to REFERENCE_NOT_FOUND`],
  ],
  [
    'manyToMany without its members',
    { kind: 'manyToMany', entity: 'b' },
    [`${R}.through REQUIRED`, `${R}.from REQUIRED`, `${R}.to REQUIRED`],
  ],
];
for (const [what, of, expected] of RELATIONS) {
  test(`relations: ${what} is refused`, () => assert.deepEqual(mistakes(relation(of)), expected));
}

test('relations: an inverse or a to that leads elsewhere is refused', () => {
  const document = {
    entities: {
      a: { relations: { bs: { kind: 'hasMany', entity: 'b', inverse: 'c' } } },
      b: { relations: { c: { kind: 'belongsTo', entity: 'c' }, a: { kind: 'belongsTo', entity: 'a' } } },
      c: { relations: { as: { kind: 'manyToMany', entity: 'a', through: 'b', from: 'a', to: 'c' } } },
    },
  };
  assert.deepEqual(messages(document), [
    'entities.a.relations.bs.inverse: relation c of b leads to c, not to a',
    'entities.c.relations.as.from: relation a of b leads to a, not to c',
    'entities.c.relations.as.to: relation c of b leads to c, not to a',
  ]);
});

test('relations: a mistake in one is not repeated by those that refer to it', () => {
  const document = {
    entities: {
      a: { relations: { bs: { kind: 'hasMany', entity: 'b', inverse: 'owner' } } },
      b: { relations: { owner: { kind: 'belongsTo', entity: 'aa' } }, indexes: [{ fields: ['ownerId'] }] },
    },
  };
  assert.deepEqual(mistakes(document), ['entities.b.relations.owner.entity REFERENCE_NOT_FOUND']);
});

test('indexes name columns that exist and can be compared', () => {
  const document = withA({
    fields: { x: { type: 'string' }, j: { type: 'json' } },
    relations: { r: { kind: 'belongsTo', entity: 'b' } },
    timestamps: true,
    indexes: [
      { fields: ['x', 'rId', 'createdAt'] },
      { fields: ['r'] },
      { fields: ['y'] },
      { fields: ['x', 'x'] },
      { fields: ['j'] },
      { fields: [] },
      { fields: ['x', 'rId', 'createdAt'] },
      { fields: ['x', 'rId', 'createdAt'], unique: true },
    ],
  });
  assert.deepEqual(messages(document), [
    'entities.a.indexes.1.fields.0: r is a relation; its field is rId',
    'entities.a.indexes.2.fields.0: there is no field y on entity a. Did you mean x? Known: id, x, j, rId, createdAt, updatedAt',
    'entities.a.indexes.3.fields.1: x is in this index already',
    'entities.a.indexes.4.fields.0: j has type json, which an index cannot use',
    'entities.a.indexes.5.fields: must not be empty',
    'entities.a.indexes.6: is the same index as indexes.0',
  ]);
});

const RELATED = {
  entities: {
    a: {
      fields: { x: { type: 'string' }, j: { type: 'json' } },
      relations: { b: { kind: 'belongsTo', entity: 'b' } },
      timestamps: true,
    },
    b: {
      fields: { y: { type: 'string' } },
      relations: { as: { kind: 'hasMany', entity: 'a', inverse: 'b' } },
      settings: { expandable: [] },
    },
  },
} satisfies SchemaDocument;
const withSettings = (settings: EntityDocument['settings']) => ({
  entities: { ...RELATED.entities, a: { ...RELATED.entities.a, settings } },
});

const S = 'entities.a.settings';
const SETTINGS: readonly [string, unknown, string[]][] = [
  ['an unknown relation in expandable', { expandable: ['c'] }, [`${S}.expandable.0 REFERENCE_NOT_FOUND`]],
  ['an unknown relation in defaultExpand', { defaultExpand: ['b.c'] }, [`${S}.defaultExpand.0 REFERENCE_NOT_FOUND`]],
  ['a default outside of the whitelist', { defaultExpand: ['b'], expandable: [] }, [`${S}.defaultExpand.0 INVALID`]],
  [
    'a default outside of the whitelist of the next entity',
    { defaultExpand: ['b.as'] },
    [`${S}.defaultExpand.0 INVALID`],
  ],
  ['a default deeper than the default depth', { defaultExpand: ['b.as.b.as'] }, [`${S}.defaultExpand.0 OUT_OF_RANGE`]],
  [
    'a default deeper than the depth',
    { defaultExpand: ['b.as'], maxExpandDepth: 1 },
    [`${S}.defaultExpand.0 OUT_OF_RANGE`],
  ],
  ['a depth of 0', { maxExpandDepth: 0 }, [`${S}.maxExpandDepth OUT_OF_RANGE`]],
  ['a depth of 11', { maxExpandDepth: 11 }, [`${S}.maxExpandDepth OUT_OF_RANGE`]],
  ['an unknown field in defaultFields', { defaultFields: ['id', 'z'] }, [`${S}.defaultFields.1 REFERENCE_NOT_FOUND`]],
  ['a field of a field', { defaultFields: ['x.y'] }, [`${S}.defaultFields.0 REFERENCE_NOT_FOUND`]],
];
for (const [what, settings, expected] of SETTINGS) {
  test(`settings: ${what} is refused`, () =>
    assert.deepEqual(mistakes(withSettings(settings as EntityDocument['settings'])), expected));
}

test('settings: what exists is taken, null is not configured', () => {
  const good = {
    defaultExpand: ['b'],
    expandable: ['b'],
    maxExpandDepth: 10,
    defaultFields: ['id', 'bId', 'b', 'b.y'],
  };
  assert.deepEqual(mistakes(withSettings(good)), []);
  const none = { defaultExpand: null, expandable: null, maxExpandDepth: null, defaultFields: null, label: null };
  assert.deepEqual(mistakes(withSettings(none)), []);
});

test('row rules name columns that users can own, and a claim', () => {
  const rowRules = [
    { column: 'bId', claim: 'sub' },
    { column: 'b', claim: 'sub' },
    { column: 'j', claim: 'sub' },
    { column: 'id', claim: 'sub' },
    { column: 'createdAt', claim: 'sub' },
    { column: 'nope', claim: '' },
    { column: 'bId', claim: 'sub', enabled: false },
  ];
  const document = { entities: { ...RELATED.entities, a: { ...RELATED.entities.a, rowRules } } };
  const at = 'entities.a.rowRules';
  assert.deepEqual(mistakes(document), [
    `${at}.1.column REFERENCE_NOT_FOUND`,
    `${at}.2.column INVALID`,
    `${at}.4.column INVALID`,
    `${at}.5.column REFERENCE_NOT_FOUND`,
    `${at}.5.claim INVALID`,
    `${at}.6 INVALID`,
  ]);
});

test('settings and row rules that are left out stay; {} and [] clear them', () => {
  const rowRules = [{ column: 'x', claim: 'sub' }];
  const settings = { expandable: ['b'] };
  const inForce = { entities: { ...RELATED.entities, a: { ...RELATED.entities.a, settings, rowRules } } };
  const kept = parseSchemaDocument(RELATED, inForce);
  assert.ok(kept.ok);
  assert.deepEqual(kept.document.entities.a?.settings, settings);
  assert.deepEqual(kept.document.entities.a?.rowRules, rowRules);
  const cleared = parseSchemaDocument(
    { entities: { ...RELATED.entities, a: { ...RELATED.entities.a, settings: {}, rowRules: [] } } },
    inForce,
  );
  assert.ok(cleared.ok);
  assert.deepEqual(cleared.document.entities.a?.settings, {});
  assert.deepEqual(cleared.document.entities.a?.rowRules, []);
});

test('settings and row rules in force that would dangle are refused with the reason', () => {
  const inForce = {
    entities: {
      ...RELATED.entities,
      a: { ...RELATED.entities.a, settings: { defaultFields: ['x'] }, rowRules: [{ column: 'x', claim: 'sub' }] },
    },
  };
  assert.deepEqual(messages({ entities: { a: {} } }, inForce), [
    'entities.a.settings.defaultFields.0: there is no field or relation x on entity a. Known: id (what is in force stays in force unless the document says otherwise)',
    'entities.a.rowRules.0.column: there is no field x on entity a. Known: id (what is in force stays in force unless the document says otherwise)',
  ]);
});

test('renamedFrom is consumed, and applies a second time', () => {
  const inForce = { entities: { old: { fields: { x: { type: 'string' } } } } } satisfies SchemaDocument;
  const asked = {
    entities: { new: { renamedFrom: 'old', fields: { y: { type: 'string', renamedFrom: 'x' } } } },
  };
  const first = parseSchemaDocument(asked, inForce);
  assert.ok(first.ok);
  assert.deepEqual(first.document, { entities: { new: { fields: { y: { type: 'string' } } } } });
  assert.deepEqual([...first.renames.entities], [['new', 'old']]);
  assert.deepEqual([...(first.renames.fields.get('new') ?? [])], [['y', 'x']]);
  const second = parseSchemaDocument(asked, first.document);
  assert.ok(second.ok);
  assert.equal(second.renames.entities.size, 0);
  assert.equal(second.renames.fields.size, 0);
});

test('renamedFrom that names something that stays, or something twice is refused', () => {
  const inForce = { entities: { a: {}, b: {} } };
  const asked = {
    entities: {
      a: {},
      c: { renamedFrom: 'a' },
      e: { renamedFrom: 'b' },
      f: { renamedFrom: 'b' },
    },
  };
  assert.deepEqual(mistakes(asked, inForce), ['entities.c.renamedFrom INVALID', 'entities.f.renamedFrom INVALID']);
});

/** Fields of one entity: new names by their former ones, `undefined` for a field without renamedFrom. */
const renaming = (fields: Readonly<Record<string, string | undefined>>): object => ({
  entities: {
    notes: {
      fields: Object.fromEntries(
        Object.entries(fields).map(([name, from]) => [
          name,
          { type: 'string', ...(from === undefined ? {} : { renamedFrom: from }) },
        ]),
      ),
    },
  },
});

const RENAMES: readonly {
  readonly what: string;
  readonly inForce: readonly string[];
  readonly asked: Readonly<Record<string, string | undefined>>;
  readonly renames?: Readonly<Record<string, string>>;
  readonly mistakes?: readonly string[];
}[] = [
  { what: 'a free name', inForce: ['a'], asked: { b: 'a' }, renames: { b: 'a' } },
  { what: 'applied already', inForce: ['b'], asked: { b: 'a' }, renames: {} },
  { what: 'applied already, the former name used again', inForce: ['a', 'b'], asked: { a: undefined, b: 'a' } },
  { what: 'a chain', inForce: ['a', 'b'], asked: { b: 'a', c: 'b' }, renames: { b: 'a', c: 'b' } },
  { what: 'a chain written backwards', inForce: ['a', 'b'], asked: { c: 'b', b: 'a' }, renames: { b: 'a', c: 'b' } },
  { what: 'a chain that is applied already', inForce: ['b', 'c'], asked: { b: 'a', c: 'b' }, renames: {} },
  { what: 'its own name', inForce: ['a'], asked: { a: 'a' }, renames: {} },
  { what: 'a name of nothing', inForce: ['a'], asked: { a: undefined, b: 'z' }, mistakes: ['b: there is no field z'] },
  {
    what: 'both in force, the former name left out',
    inForce: ['a', 'b'],
    asked: { b: 'a' },
    mistakes: ['b: a and b are both in force'],
  },
  {
    what: 'a chain to a name in force',
    inForce: ['a', 'b', 'c'],
    asked: { b: 'a', c: 'b' },
    mistakes: ['c: b and c are both in force'],
  },
  {
    what: 'a trade of two names',
    inForce: ['a', 'b'],
    asked: { a: 'b', b: 'a' },
    mistakes: ['a: b and a would trade their names', 'b: a and b would trade their names'],
  },
  {
    what: 'a trade of three names',
    inForce: ['a', 'b', 'c'],
    asked: { a: 'b', b: 'c', c: 'a' },
    mistakes: ['a: b and a would trade', 'b: c and b would trade', 'c: a and c would trade'],
  },
  {
    what: 'a chain whose first name stays',
    inForce: ['a', 'b'],
    asked: { a: undefined, b: 'a', c: 'b' },
    mistakes: ['b: a is still in the document'],
  },
  {
    what: 'two new names of one, of which one is in force',
    inForce: ['a', 'b'],
    asked: { b: 'a', c: 'a' },
    mistakes: ['b: a is renamed to c already'],
  },
];

for (const { what, inForce, asked, ...expected } of RENAMES) {
  test(`fields that are renamed: ${what}`, () => {
    const before = parseSchemaDocument(renaming(Object.fromEntries(inForce.map((name) => [name, undefined]))));
    assert.ok(before.ok);
    const result = parseSchemaDocument(renaming(asked), before.document);
    if (result.ok) {
      assert.deepEqual(Object.fromEntries(result.renames.fields.get('notes') ?? []), expected.renames ?? {});
      assert.equal(expected.mistakes, undefined);
      return;
    }
    const found = result.details.map(({ field, message }) => `${field?.split('.')[3]}: ${message}`);
    assert.equal(found.length, expected.mistakes?.length, found.join('; '));
    for (const [at, start] of (expected.mistakes ?? []).entries())
      assert.equal(found[at]?.slice(0, start.length), start);
  });
}

test('renamedFrom means nothing in an entity that is new, and a similar name that would be dropped was meant', () => {
  const asked = {
    entities: { clients: { renamedFrom: 'customers', fields: { mail: { type: 'string', renamedFrom: 'email' } } } },
  };
  const entities: readonly SchemaDocument['entities'][] = [{}, { clients: {} }, { orders: {} }];
  for (const { clients, ...others } of entities) {
    const inForce = { entities: { ...others, ...(clients === undefined ? {} : { clients }) } };
    const document = { entities: { ...others, ...asked.entities } };
    assert.deepEqual(
      messages(document, inForce),
      clients === undefined
        ? []
        : ['entities.clients.fields.mail.renamedFrom: there is no field email on entity clients. Known: none'],
    );
  }
  assert.deepEqual(messages(asked, { entities: { customer: {} } }), [
    'entities.clients.renamedFrom: there is no entity customers. Did you mean customer? Known: customer',
  ]);
});

test('numbers keep their digits, counts are plain numbers', () => {
  const text =
    '{"entities":{"a":{"fields":{"f":{"type":"bigint","default":9007199254740993,"min":-9223372036854775808},"g":{"type":"string","maxLength":1e2},"h":{"type":"json","default":{"x":1.10}}}}}}';
  const result = parseSchemaDocument(parseExact(text));
  assert.ok(result.ok);
  assert.equal(JSON.stringify(result.document), text.replace('1e2', '100'));
});

test('mistakes stand in the order of the document', () => {
  const document = {
    entities: {
      z: { rowRules: 5, fields: { b: { type: 'x' }, a: { type: 'y' } } },
      a: { fields: { id: { type: 'string' } }, indexes: [{ fields: ['n'] }] },
    },
  };
  assert.deepEqual(mistakes(document), [
    'entities.z.rowRules TYPE_MISMATCH',
    'entities.z.fields.b.type NOT_IN_ENUM',
    'entities.z.fields.a.type NOT_IN_ENUM',
    'entities.a.fields.id INVALID',
    'entities.a.indexes.0.fields.0 REFERENCE_NOT_FOUND',
  ]);
});

test('a mistake about a value says what may stand there and what does', () => {
  const onDelete = (value: unknown) => messages(relation({ kind: 'belongsTo', entity: 'b', onDelete: value }))[0];
  const at = 'entities.a.relations.r.onDelete: must be ';
  assert.equal(onDelete('explode'), `${at}one of restrict, cascade, setNull, not explode`);
  assert.equal(onDelete('cascad'), `${at}one of restrict, cascade, setNull, not cascad. Did you mean cascade?`);
  assert.equal(onDelete(''), `${at}one of restrict, cascade, setNull, not ""`);
  assert.equal(onDelete('x'.repeat(5000)), `${at}one of restrict, cascade, setNull, not ${'x'.repeat(100)}…`);
  assert.equal(onDelete(['cascade']), `${at}a string`);
  assert.deepEqual(messages(field({ type: 'enum', values: ['on', 'off'], default: 'dim' })), [
    'entities.a.fields.f.default: must be one of on, off, not dim',
  ]);
});

test('names and values of any length make short messages', () => {
  const long = 'x'.repeat(100_000);
  const documents = [
    { entities: { [long]: {} } },
    { entities: {}, [long]: 1 },
    field({ type: 'enum', values: Array.from({ length: 900 }, (_, at) => `${at}${long}`), default: 'none' }),
    withA({ settings: { defaultExpand: [long], defaultFields: [`${long}.a`], expandable: [long] } }),
    withA({ rowRules: [{ column: long, claim: 'sub' }], indexes: [{ fields: [long] }] }),
  ];
  for (const document of documents) {
    const told = messages(document);
    assert.ok(
      told.length > 0 && told.every((message) => message.length < 1500),
      told.map(({ length }) => length).join(),
    );
  }
});

test('limits: 501 entities and 501 fields are refused', () => {
  const many = (count: number, of: unknown) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, of]));
  assert.deepEqual(mistakes({ entities: many(500, {}) }), []);
  assert.deepEqual(mistakes({ entities: many(501, {}) }), ['entities OUT_OF_RANGE']);
  assert.deepEqual(mistakes(withA({ fields: many(501, { type: 'date' }) })), ['entities.a.fields OUT_OF_RANGE']);
});

test('of very many mistakes the first are listed, whatever kind they are, and the rest is not looked for', () => {
  const entity = (more: object) => [Object.fromEntries(Array.from({ length: 400 }, (_, at) => [`m${at}`, more]))];
  const fields = entity({ type: 'jsn' })[0];
  const relations = entity({ kind: 'hasMany', entity: 'nobody' })[0];
  const entities = Object.fromEntries(
    Array.from({ length: 60 }, (_, at) => [`e${at}`, at % 2 === 0 ? { fields } : { fields: {}, relations }]),
  );
  const found = mistakes({ entities });
  assert.equal(found.length, 1000);
  assert.match(found[0] ?? '', /^entities\.e0\.fields\.m0\.type NOT_IN_ENUM/);
  assert.match(found[399] ?? '', /^entities\.e0\.fields\.m399\.type /);
});

test('a default expansion follows 60 relations at most', () => {
  const names = Array.from({ length: 61 }, (_, at) => `r${at}`);
  const relations = Object.fromEntries(names.map((name) => [name, { kind: 'belongsTo', entity: 'b' }]));
  assert.deepEqual(mistakes(withA({ relations, settings: { defaultExpand: names.slice(1) } })), []);
  assert.deepEqual(mistakes(withA({ relations, settings: { defaultExpand: names } })), [
    'entities.a.settings.defaultExpand OUT_OF_RANGE',
  ]);
});
