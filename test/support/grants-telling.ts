// Grants on which one rule of the core decides alone, and writes that they judge: random ones are mostly refused, or
// allowed, for several reasons at once, so that a core without one of the rules answers the same.
import fc, { type GeneratorValue } from 'fast-check';
import type { GrantDocument, GrantsModel, Where } from './grants-model.ts';
import { type Drawn, VALUES, WORDS } from './row-rules-arbitrary.ts';
import type { Model, ModelEntity, Rec, Value } from './row-rules-read-model.ts';
import type { Body, Write } from './row-rules-write-model.ts';
import type { WriteWish } from './row-rules-writes.ts';

const ALL = ['read', 'create', 'update', 'delete'];
const PLAIN = ['word', 'word', 'number', 'flag'];

const listValues = (name: string): readonly Value[] => (name === 'word' ? WORDS : (VALUES[name] ?? [1, 2, 3]));

/** Grants of an entity by which a rule of the core shows. */
export function drawTellingGrants(
  g: GeneratorValue,
  schema: ReadonlyMap<string, Drawn>,
  name: string,
): readonly GrantDocument[] {
  const pick = <T>(values: readonly T[]): T => g(fc.constantFrom, ...values) as T;
  const { fields, references } = schema.get(name) as Drawn;
  const literal = (field: string): Where => ({ field, op: 'eq', value: pick(listValues(field)) });
  const equal = (field: string): Where =>
    pick([literal(field), { field, op: 'eq', value: { claim: field === 'word' ? 'word' : 'number' } }]);
  // Most users lack one of these claims, or have it as a value of another type.
  const missing = (): { readonly claim: string } => ({ claim: pick(['none', 'none', 'flag', 'deep.word']) });

  /** A condition that looks back at its own table, where the statement changes what it finds. */
  function lookBack(): readonly GrantDocument[] {
    const paths = listPathsBack(schema, name);
    if (paths.length === 0) return [{ can: ALL, where: literal('word') }];
    const compare = (): Where => {
      const field = pick(PLAIN.slice(0, 3));
      const path = [...pick(paths), field].join('.');
      return pick<Where>([
        ...[1, 2].map(() => ({ field: path, op: 'eq', value: pick(listValues(field)) })),
        { field: path, op: 'notNull' },
        { field: path, op: 'ne', value: pick(listValues(field)) },
      ]);
    };
    const where = pick<Where>([compare(), { not: compare() }, { not: compare() }, { or: [compare(), compare()] }]);
    // Whatever the write leaves can be read.
    return [{ can: ALL, where }, ...pick([[], [{ can: ['read'] }]])];
  }
  /** A condition on the records that have a reference in common with a new one, which it is one of itself. */
  function compareSiblings(): readonly GrantDocument[] {
    const paths = listPathsBack(schema, name).filter(([first]) =>
      references.some(({ column }) => column === `${first}Id`),
    );
    if (paths.length === 0) return lookBack();
    const field = [...pick(paths), pick(['word', 'number'])].join('.');
    const last = field.slice(field.lastIndexOf('.') + 1);
    const some = pick<Where>([
      { field, op: 'notNull' },
      { field, op: 'ne', value: pick(listValues(last)) },
      { field, op: 'eq', value: pick(listValues(last)) },
    ]);
    return [{ can: ['create', 'update', 'delete'], where: { not: some } }, { can: ['read'] }];
  }
  /** Members of which one is enough set nothing at a create. */
  const choose = (): readonly GrantDocument[] => [
    { can: ALL, where: { or: [equal('word'), pick([equal('number'), { field: 'word', op: 'isNull' }])] } },
  ];
  /** A grant without a condition, of which a claim is missing all the same. */
  const setMissing = (): readonly GrantDocument[] => [
    { can: ALL, set: { [pick(['word', 'number'])]: missing() } },
    { can: ['read'], where: literal('word'), ...pick([{}, { fields: ['word'] }]) },
  ];
  /** Conditions that hold for some records although a claim is missing. */
  function spareMissing(): readonly GrantDocument[] {
    const value = missing();
    const unread: Where = { field: 'number', op: 'eq', value };
    const where = pick<Where>([
      { or: [unread, literal('word')] },
      { not: unread },
      { not: { and: [unread, literal('word')] } },
      { field: 'number', op: 'ne', value },
      { field: 'number', op: 'nin', value },
    ]);
    return [{ can: ALL, where }];
  }
  /** One claim, which most users have as a value of the one type and not of the other. */
  function readTwice(): readonly GrantDocument[] {
    const [positive, negative] = pick<readonly [Where, Where]>([
      [
        { field: 'word', op: 'eq', value: { claim: 'word' } },
        { field: 'number', op: 'ne', value: { claim: 'word' } },
      ],
      [
        { field: 'word', op: 'in', value: { claim: 'words' } },
        { field: 'word', op: 'ne', value: { claim: 'words' } },
      ],
      [
        { field: 'number', op: 'in', value: { claim: 'list' } },
        { field: 'number', op: 'ne', value: { claim: 'list' } },
      ],
    ]);
    return [
      {
        can: ALL,
        where: {
          and: pick([
            [positive, negative],
            [{ not: negative }, positive],
          ]),
        },
      },
    ];
  }
  /** References that can be written and not be read, to records of which the user sees a part. */
  function hideReference(): readonly GrantDocument[] {
    if (references.length === 0) return lookBack();
    const hidden = references.map(({ column }) => column);
    const shown = fields.filter((field) => field !== 'id' && !hidden.includes(field));
    return [
      { can: ['read'], fields: shown },
      { can: ['create', 'update', 'delete'] },
      ...pick([[], [], [{ can: ['read'], where: literal('word') }]]),
    ];
  }
  const make = pick([
    ...[lookBack, lookBack, compareSiblings, compareSiblings, hideReference, hideReference],
    ...[choose, setMissing, spareMissing, readTwice],
  ]);
  return make();
}

/** Returns the paths of at most two relations that lead to the entity, or through it. */
function listPathsBack(schema: ReadonlyMap<string, Drawn>, name: string): readonly (readonly string[])[] {
  const paths: (readonly string[])[] = [];
  for (const [first, relation] of Object.entries((schema.get(name) as Drawn).relations)) {
    if (relation.to === name) paths.push([first]);
    for (const [second, { to, by }] of Object.entries((schema.get(relation.to) as Drawn).relations))
      if (to === name || ('through' in by && by.through === name)) paths.push([first, second]);
  }
  return paths;
}

/** A create or update of a few records of an entity that look alike, and so depend on each other; undefined if there is none. */
export function drawTellingWrite(
  g: GeneratorValue,
  {
    schema,
    model,
    records,
    view,
  }: { schema: ReadonlyMap<string, Drawn>; model: GrantsModel; records: Model; view: Model },
): WriteWish | undefined {
  const pick = <T>(values: readonly T[]): T => g(fc.constantFrom, ...values) as T;
  const chance = (share: number): boolean => g(() => fc.noBias(fc.integer({ min: 1, max: 100 }))) <= share;
  const kind = pick(['create', 'update'] as const);
  const usable = [...schema.keys()].filter(
    (name) => (model.grants[name] ?? null) !== null && model.listUsable(name, kind).length > 0,
  );
  const entities = kind === 'create' ? usable : usable.filter((name) => (view[name]?.records.length ?? 0) > 0);
  if (entities.length === 0) return undefined;
  const entity = pick(entities);
  const { references } = schema.get(entity) as Drawn;
  const target = (to: string): number | undefined => {
    const seen = view[to]?.records ?? [];
    return seen.length === 0 ? undefined : pick(seen).id;
  };
  const targets = new Map(references.map(({ column, to }) => [column, target(to)]));
  const drawBody = (stored: Rec | undefined): Body => {
    const body: Record<string, Value> = {};
    for (const name of ['word', 'number']) if (chance(70)) body[name] = pick([...listValues(name), null]);
    for (const { column, to, unique, required } of references) {
      const isNamed = stored === undefined ? required || chance(unique ? 15 : 75) : chance(35);
      // An update may name the reference that the record has.
      const same = stored?.[column] ?? undefined;
      const other = chance(75) ? targets.get(column) : target(to);
      const value = same !== undefined && chance(70) ? same : other;
      if (isNamed && value !== undefined) body[column] = value;
    }
    return Object.keys(body).length > 0 ? body : { word: pick(WORDS) };
  };
  const count = pick([1, 1, 2, 3]);
  const form = count === 1 && chance(50) ? 'single' : 'bulk';
  let write: Write;
  if (kind === 'create') write = { kind, entity, bodies: Array.from({ length: count }, () => drawBody(undefined)) };
  else {
    const ids = new Set(Array.from({ length: count }, () => pick(view[entity]?.records ?? []).id));
    const stored = (records[entity] as ModelEntity).records.filter(({ id }) => ids.has(id));
    write = { kind, entity, bodies: stored.map((record) => ({ ...drawBody(record), id: record.id })) };
  }
  return { form, isDry: false, isMinimal: false, writes: [write] };
}
