// Random schemas, rules, records and claims for the properties of row rules.
import assert from 'node:assert/strict';
import fc, { type Arbitrary, type GeneratorValue } from 'fast-check';
import type { Claims, Model, ModelEntity, ModelRelation, Rec, Value } from './row-rules-read-model.ts';
import type { TestWorkspace } from './server.ts';

type OnDelete = 'restrict' | 'cascade' | 'setNull';

interface Reference {
  readonly column: string;
  readonly to: string;
  readonly unique: boolean;
  readonly required: boolean;
  readonly onDelete: OnDelete;
}

/** An entity as it was drawn: for the model, and for the schema document. */
export interface Drawn {
  readonly fields: string[];
  readonly relations: Record<string, ModelRelation>;
  readonly document: { fields: object; relations: Record<string, object>; rowRules: ModelEntity['rules'] };
  readonly references: Reference[];
  rules: ModelEntity['rules'];
}

export const NAMES = ['alpha', 'beta', 'gamma'] as const;
export const WORDS = ['x', 'y', 'z'] as const;
/** Values of the fields that only some tests draw, by their names. */
export const VALUES: Readonly<Record<string, readonly Value[]>> = {
  flag: [true, false],
  day: ['2020-02-29', '2021-01-01', '2999-12-31'],
  at: ['2020-02-29T12:00:00Z', '2021-01-01T00:00:00Z', '2999-12-31T23:59:59Z'],
};
export const COUNT = 6;
const CLAIMS = ['word', 'number', 'https://acme.example/ref', 'other.word'] as const;

/** Entities with row rules. */
export function drawSchema(g: GeneratorValue): Map<string, Drawn> {
  const drawn = drawEntities(g);
  drawRules(g, drawn);
  return drawn;
}

/** Three entities that belong to each other at random, each relation with its inverse, and one many-to-many relation. */
export function drawEntities(g: GeneratorValue): Map<string, Drawn> {
  const drawn = new Map<string, Drawn>();
  for (const name of [...NAMES, 'link']) {
    const document = {
      fields: {
        word: { type: 'string', searchable: true },
        number: { type: 'integer' },
        code: { type: 'integer', unique: true },
      },
      relations: {},
      rowRules: [],
    };
    drawn.set(name, { fields: ['id', 'word', 'number', 'code'], relations: {}, document, references: [], rules: [] });
  }
  const onDelete = g(fc.constantFrom, 'restrict', 'cascade', 'setNull') as OnDelete;
  const get = (name: string): Drawn => drawn.get(name) as Drawn;
  const belongsTo = (
    from: string,
    relation: string,
    to: string,
    attributes: { unique?: boolean; required?: boolean },
  ): void => {
    const column = `${relation}Id`;
    const unique = attributes.unique === true;
    const [near, far] = [get(from), get(to)];
    near.fields.push(column);
    const required = attributes.required === true;
    // What is required cannot be forgotten.
    const policy = required && onDelete === 'setNull' ? 'cascade' : onDelete;
    near.references.push({ column, to, unique, required, onDelete: policy });
    near.relations[relation] = { to, isToOne: true, by: { own: column } };
    near.document.relations[relation] = { kind: 'belongsTo', entity: to, ...attributes, onDelete: policy };
    const inverse = `${from}Of${relation}`;
    far.relations[inverse] = { to: from, isToOne: unique, by: { theirs: column } };
    far.document.relations[inverse] = { kind: unique ? 'hasOne' : 'hasMany', entity: from, inverse: relation };
  };
  for (const from of NAMES) {
    const count = g(fc.integer, { min: 0, max: 2 });
    for (let index = 0; index < count; index++) {
      belongsTo(from, `${from}Ref${index}`, g(fc.constantFrom, ...NAMES) as string, { unique: g(fc.boolean) });
    }
  }
  belongsTo('link', 'left', 'alpha', { required: true });
  belongsTo('link', 'right', 'beta', { required: true });
  const through = (on: string, relation: string, to: string, from: string, other: string): void => {
    get(on).relations[relation] = {
      to,
      isToOne: false,
      by: { through: 'link', from: `${from}Id`, other: `${other}Id` },
    };
    get(on).document.relations[relation] = { kind: 'manyToMany', entity: to, through: 'link', from, to: other };
  };
  through('alpha', 'betas', 'beta', 'left', 'right');
  through('beta', 'alphas', 'alpha', 'right', 'left');
  return drawn;
}

export function drawRules(g: GeneratorValue, drawn: ReadonlyMap<string, Drawn>): void {
  for (const entity of drawn.values()) {
    const columns = entity.fields;
    const rules = new Map<string, ModelEntity['rules'][number]>();
    const count = g(fc.constantFrom, 0, 1, 1, 2) as number;
    for (let index = 0; index < count; index++) {
      const column = g(fc.constantFrom, ...columns) as string;
      const claim =
        column === 'word'
          ? (g(fc.constantFrom, 'word', 'other.word') as string)
          : (g(fc.constantFrom, ...CLAIMS.slice(1, 3)) as string);
      rules.set(`${column} ${claim}`, {
        column,
        claim,
        enabled: g(fc.constantFrom, true, true, true, false) as boolean,
      });
    }
    entity.rules = [...rules.values()];
  }
}

export function documentOf(drawn: ReadonlyMap<string, Drawn>): object {
  const entities = [...drawn].map(([name, { document, rules }]) => [name, { ...document, rowRules: rules }]);
  return { entities: Object.fromEntries(entities) };
}

/** Puts random records into the workspace; references once every record is there. */
export async function fill(
  g: GeneratorValue,
  workspace: TestWorkspace,
  drawn: ReadonlyMap<string, Drawn>,
): Promise<Model> {
  const model = drawRecords(g, drawn);
  for (const name of NAMES)
    await workspace.create(
      name,
      (model[name] as ModelEntity).records.map(({ word = null, number = null, code = null }) => ({
        word,
        number,
        code,
      })),
    );
  for (const [name, { records }] of Object.entries(model)) {
    for (const { id, ...body } of records) {
      const answer =
        name === 'link'
          ? await workspace.call(name, { method: 'POST', body })
          : await workspace.call(`${name}/${id}`, { method: 'PUT', body });
      assert.deepEqual(answer.json.data, { id, ...body }, answer.text);
    }
  }
  return model;
}

/** Random records. */
export function drawRecords(g: GeneratorValue, drawn: ReadonlyMap<string, Drawn>): Model {
  const word = (): Value => g(fc.constantFrom, ...WORDS, ...WORDS, null) as Value;
  const number = (): Value => g(fc.constantFrom, 1, 2, 3, 2, null) as Value;
  const refer = (references: Drawn['references'], id: number, mayBeNull: boolean): Record<string, Value> =>
    Object.fromEntries(
      references.map(({ column, unique }) => {
        // Unique references count through the records, so that no two are the same.
        const target = unique ? ((id * 5) % COUNT) + 1 : g(fc.integer, { min: 1, max: COUNT });
        return [column, mayBeNull && g(fc.integer, { min: 0, max: 4 }) === 0 ? null : target];
      }),
    );
  const entities = [...drawn].map(([name, { fields, relations, references, rules }]): [string, ModelEntity] => {
    const isLink = name === 'link';
    const records = Array.from({ length: isLink ? 2 * COUNT : COUNT }, (_, index): Rec => {
      const id = index + 1;
      const record = { id, word: word(), number: number(), code: id, ...refer(references, id, !isLink) };
      const others = fields.flatMap((name): [string, Value][] => {
        const values = VALUES[name];
        return values === undefined ? [] : [[name, g(fc.constantFrom, ...values, null) as Value]];
      });
      return { ...record, ...Object.fromEntries(others) };
    });
    return [name, { fields, relations, rules, records }];
  });
  return Object.fromEntries(entities);
}

/** Claims of a user: what rules need, most of the time. */
export function drawClaims(g: GeneratorValue): Claims {
  const odd: Arbitrary<unknown> = fc.constantFrom(null, [1], ['x'], { x: 1 }, true, '');
  const claims: Record<string, unknown> = { sub: 'user' };
  for (const [name, usual] of [
    ['word', WORDS],
    ['other.word', WORDS],
    ['number', [1, 2, 3, '2']],
    ['https://acme.example/ref', [1, 2, 3, 4, '3']],
  ] as const) {
    const kind = g(fc.integer, { min: 0, max: 9 });
    if (kind === 0) continue;
    claims[name] = kind === 1 ? g(() => odd) : g(fc.constantFrom, ...(usual as readonly unknown[]));
  }
  return claims;
}
