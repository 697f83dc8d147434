// Versions of a shared schema as values: steps and mistakes against the version before, and what a workspace keeps that
// goes over several of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { diffDocuments } from '../../../src/migrations/diff.ts';
import { assignNames } from '../../../src/migrations/names.ts';
import { makeVersion, NO_VERSION, type Version } from '../../../src/migrations/shared-versions.ts';
import { NO_NAMES, type PhysicalNames } from '../../../src/model/physical-name.ts';
import { buildEntities } from '../../../src/schema/entities.ts';
import { compareIdentities } from '../../../src/schema/identities.ts';
import type { Renames } from '../../../src/schema/renames.ts';

// biome-ignore lint/suspicious/noExplicitAny: documents are JSON
type Json = any;

function publish(...documents: readonly Json[]): Version[] {
  const versions: Version[] = [];
  for (const document of documents) {
    const next = makeVersion(document, versions.at(-1));
    assert.ok(next.ok, JSON.stringify(next));
    versions.push(next.version);
  }
  return versions;
}

const stepsBetween = (from: Version, to: Version): string[] => {
  const change = diffDocuments({
    inForce: from.document,
    requested: to.document,
    renames: compareIdentities(from.identities, to.identities),
    names: NO_NAMES,
    databaseSchema: 'ws1',
    empty: new Set(),
    strategy: 'online',
    reserved: new Set(),
    change: '7',
    extensions: { trigrams: 'wda' },
  });
  assert.ok(change.ok, JSON.stringify(change));
  return change.operations.map(({ description }) => description);
};

const text = { type: 'string' };
const withFields = (fields: Json, more: Json = {}): Json => ({ entities: { tickets: { fields, ...more } } });

test('a version has the steps from the version before it', () => {
  const next = makeVersion(
    withFields({ title: { ...text, renamedFrom: 'subject' } }),
    publish(withFields({ subject: text, note: text }))[0],
  );
  assert.ok(next.ok);
  assert.deepEqual(
    next.steps.map(({ kind, description, destructive }) => [kind, description, destructive]),
    [
      ['renameField', 'rename field subject of tickets to title', false],
      ['dropField', 'drop field note of tickets and its values', true],
    ],
  );
});

test('what a document leaves out is kept from the version before, and mistakes are told against that', () => {
  const [first] = publish({
    roles: ['agent'],
    ...withFields({ subject: text }, { grants: [{ role: 'agent', can: ['read'] }] }),
  });
  const next = makeVersion(withFields({ title: { ...text, renamedFrom: 'subject' } }), first);
  assert.ok(next.ok);
  assert.deepEqual(next.version.document.roles, ['agent']);
  assert.equal(next.version.document.entities.tickets?.grants?.length, 1);
  const mistaken = makeVersion(withFields({ title: { ...text, renamedFrom: 'subjekt' } }), first);
  assert.ok(!mistaken.ok);
  assert.deepEqual(
    mistaken.details.map(({ field, code }) => [field, code]),
    [['entities.tickets.fields.title.renamedFrom', 'REFERENCE_NOT_FOUND']],
  );
  const unsupported = makeVersion(
    withFields({ subject: { type: 'boolean' } }),
    publish(withFields({ subject: { type: 'date' } }))[0],
  );
  assert.ok(!unsupported.ok);
  assert.equal(unsupported.details[0]?.code, 'UNSUPPORTED_CHANGE');
});

const ways: readonly (readonly [name: string, documents: readonly Json[], steps: readonly string[]])[] = [
  [
    'a field that was renamed three times is renamed once',
    ['a', 'b', 'c', 'd'].map((name, index, all) =>
      withFields({ [name]: index === 0 ? text : { ...text, renamedFrom: all[index - 1] } }),
    ),
    ['rename field a of tickets to d'],
  ],
  [
    'a field dropped and made again is a new one',
    [withFields({ a: text, b: text }), withFields({ b: text }), withFields({ a: text, b: text })],
    ['add field a to tickets', 'drop field a of tickets and its values'],
  ],
  [
    'two fields have traded their names',
    [
      withFields({ a: text, b: text }),
      withFields({ c: { ...text, renamedFrom: 'a' }, b: text }),
      withFields({ c: text, a: { ...text, renamedFrom: 'b' } }),
      withFields({ b: { ...text, renamedFrom: 'c' }, a: text }),
    ],
    ['rename field a of tickets to b', 'rename field b of tickets to a'],
  ],
  [
    'an entity dropped and made again is a new one',
    [
      { entities: { a: { fields: { x: text } }, b: {} } },
      { entities: { b: {} } },
      { entities: { a: { fields: { x: text } }, b: {} } },
    ],
    ['create entity a', 'drop entity a and all of its records'],
  ],
  [
    'a field keeps its values as a relation of another name',
    [
      { entities: { a: { fields: { bId: { type: 'bigint' } } }, b: {} } },
      { entities: { a: { relations: { b: { kind: 'belongsTo', entity: 'b' } } }, b: {} } },
      { entities: { a: { relations: { owner: { kind: 'belongsTo', entity: 'b', renamedFrom: 'b' } } }, b: {} } },
    ],
    [
      'rename field bId of a to ownerId',
      'make field ownerId of a the relation owner to b',
      'add an index on ownerId of a',
    ],
  ],
  [
    'a relation without a column is renamed, and nothing is dropped',
    ['items', 'parts', 'pieces'].map((name, index, all) => ({
      entities: {
        a: {
          relations: {
            [name]: {
              kind: 'hasMany',
              entity: 'b',
              inverse: 'a',
              ...(index === 0 ? {} : { renamedFrom: all[index - 1] }),
            },
          },
        },
        b: { relations: { a: { kind: 'belongsTo', entity: 'a' } } },
      },
    })),
    ['rename relation items of a to pieces'],
  ],
];
for (const [name, documents, steps] of ways) {
  test(`over several versions: ${name}`, () => {
    const versions = publish(...documents);
    assert.deepEqual(stepsBetween(versions[0] as Version, versions.at(-1) as Version).sort(), [...steps].sort());
  });
}

/* ---- any number of versions ---- */

interface ModelEntity {
  readonly name: string;
  readonly fields: ReadonlyMap<number, string>;
  readonly relations: ReadonlyMap<number, { readonly name: string; readonly target: number }>;
}
/** Entities, fields and relations by numbers of their own, which the code under test does not see. */
type Model = ReadonlyMap<number, ModelEntity>;

const edit = fc.record({
  kind: fc.constantFrom(
    'entity',
    'field',
    'relation',
    'renameEntity',
    'renameField',
    'renameRelation',
    'dropEntity',
    'dropField',
    'dropRelation',
  ),
  at: fc.nat({ max: 3 }),
  which: fc.nat({ max: 3 }),
  name: fc.constantFrom('a', 'b', 'c', 'd'),
});
type Edit = typeof edit extends fc.Arbitrary<infer T> ? T : never;

let count = 0;

/** Makes the next version by edits, without those that one document cannot say: a name is free in both versions. */
function change(before: Model, edits: readonly Edit[]): Model {
  const next = new Map(before);
  const isFree = (name: string, ...alls: readonly Iterable<string>[]): boolean =>
    alls.every((all) => ![...all].includes(name));
  const namesOf = (model: Model): string[] => [...model.values()].map(({ name }) => name);
  for (const { kind, at, which, name } of edits) {
    const token = [...next.keys()][at % Math.max(1, next.size)];
    if (kind === 'entity') {
      if (isFree(name, namesOf(next), namesOf(before)))
        next.set(++count, { name, fields: new Map(), relations: new Map() });
      continue;
    }
    const entity = token === undefined ? undefined : next.get(token);
    if (token === undefined || entity === undefined) continue;
    const old = before.get(token);
    const fields = new Map(entity.fields);
    const relations = new Map(entity.relations);
    const field = [...fields.keys()][which % Math.max(1, fields.size)];
    const relation = [...relations.keys()][which % Math.max(1, relations.size)];
    const freeField = isFree(`f${name}`, fields.values(), old?.fields.values() ?? []);
    const freeRelation = isFree(
      `r${name}`,
      [...relations.values(), ...(old?.relations.values() ?? [])].map((one) => one.name),
    );
    if (kind === 'field' && freeField) fields.set(++count, `f${name}`);
    if (kind === 'relation' && freeRelation)
      relations.set(++count, { name: `r${name}`, target: [...next.keys()][which % next.size] as number });
    // A name that is new in this version has no other one before.
    if (kind === 'renameField' && field !== undefined && freeField && old?.fields.get(field) === fields.get(field))
      fields.set(field, `f${name}`);
    const end = relation === undefined ? undefined : relations.get(relation);
    if (
      kind === 'renameRelation' &&
      relation !== undefined &&
      end &&
      freeRelation &&
      old?.relations.get(relation)?.name === end.name
    )
      relations.set(relation, { ...end, name: `r${name}` });
    if (kind === 'dropField' && field !== undefined) fields.delete(field);
    if (kind === 'dropRelation' && relation !== undefined) relations.delete(relation);
    const renamed =
      kind === 'renameEntity' && old?.name === entity.name && isFree(name, namesOf(next), namesOf(before));
    next.set(token, { name: renamed ? name : entity.name, fields, relations });
    if (kind !== 'dropEntity') continue;
    next.delete(token);
    for (const [other, one] of next)
      next.set(other, { ...one, relations: new Map([...one.relations].filter(([, { target }]) => target !== token)) });
  }
  return next;
}

const renamedFrom = (before: string | undefined, name: string): Json =>
  before === undefined || before === name ? {} : { renamedFrom: before };

function toDocument(model: Model, before: Model): Json {
  const entities = [...model].map(([token, { name, fields, relations }]) => {
    const old = before.get(token);
    const document = {
      ...renamedFrom(old?.name, name),
      fields: Object.fromEntries(
        [...fields].map(([id, field]) => [field, { ...text, ...renamedFrom(old?.fields.get(id), field) }]),
      ),
      relations: Object.fromEntries(
        [...relations].map(([id, { name: relation, target }]) => [
          relation,
          {
            kind: 'belongsTo',
            entity: model.get(target)?.name,
            ...renamedFrom(old?.relations.get(id)?.name, relation),
          },
        ]),
      ),
    };
    return [name, document];
  });
  return { entities: Object.fromEntries(entities) };
}

/** `entity` and `entity.column` of a model, by what they are. */
const placesOf = (model: Model): ReadonlyMap<number, string> =>
  new Map(
    [...model].flatMap(([token, { name, fields, relations }]) => [
      [token, name] as const,
      ...[...fields].map(([id, field]) => [id, `${name}.${field}`] as const),
      ...[...relations].map(([id, one]) => [id, `${name}.${one.name}Id`] as const),
    ]),
  );

/** Names of tables and columns in PostgreSQL after a change, by those of the document. */
function physicalPlaces(from: Version, names: PhysicalNames, to: Version, renames: Renames) {
  const before = buildEntities(from.document, '', names);
  const assigned = assignNames(before, to.document, renames, new Set(), String(++count)).names;
  const places = new Map<string, string>();
  for (const { name, table, fields } of buildEntities(to.document, '', assigned).values()) {
    places.set(name, table.name);
    for (const field of fields.values()) places.set(`${name}.${field.name}`, `${table.name}.${field.column}`);
  }
  return { places, names: assigned };
}

test('going over several versions at once keeps what going through each of them keeps', () => {
  fc.assert(
    fc.property(fc.array(fc.array(edit, { minLength: 1, maxLength: 8 }), { minLength: 2, maxLength: 7 }), (edits) => {
      const models: Model[] = [];
      for (const some of edits) models.push(change(models.at(-1) ?? new Map(), some));
      const versions = publish(...models.map((model, index) => toDocument(model, models[index - 1] ?? new Map())));
      for (const [first, model] of models.entries()) {
        const from = versions[first] as Version;
        const beforePlaces = placesOf(model);
        let names: PhysicalNames = NO_NAMES;
        for (let last = first + 1; last < versions.length; last++) {
          const [previous, to] = [versions[last - 1] as Version, versions[last] as Version];
          const stepwise = physicalPlaces(previous, names, to, compareIdentities(previous.identities, to.identities));
          names = stepwise.names;
          const atOnce = physicalPlaces(from, NO_NAMES, to, compareIdentities(from.identities, to.identities));
          for (const [token, place] of placesOf(models[last] as Model)) {
            const before = beforePlaces.get(token);
            if (before === undefined) {
              const existing = [...beforePlaces.values()];
              assert.ok(!existing.includes(atOnce.places.get(place) as string), `${place} is new`);
            } else {
              // Nothing has names of its own in the first version, so a name of PostgreSQL says where the values are from.
              assert.equal(atOnce.places.get(place), before);
              assert.equal(stepwise.places.get(place), before);
            }
          }
        }
      }
    }),
    { numRuns: 300 },
  );
});

test('the first version has no steps but those that make it', () => {
  const next = makeVersion(withFields({ a: text }), NO_VERSION);
  assert.ok(next.ok);
  assert.deepEqual(
    next.steps.map(({ kind }) => kind),
    ['createEntity'],
  );
});
