// Random filters against a reference model in a few lines of JavaScript: the same records, whatever the filter.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { use, useServer } from '../../support/resources.ts';
import type { TestServer, TestWorkspace } from '../../support/server.ts';

const SCHEMA = {
  entities: {
    nodes: {
      fields: {
        name: { type: 'string' },
        n: { type: 'integer' },
        d: { type: 'decimal', precision: 10, scale: 1 },
        on: { type: 'boolean' },
        day: { type: 'date' },
        level: { type: 'enum', values: ['low', 'mid', 'high'] },
      },
      relations: {
        parent: { kind: 'belongsTo', entity: 'nodes', onDelete: 'setNull' },
        children: { kind: 'hasMany', entity: 'nodes', inverse: 'parent' },
        labels: { kind: 'manyToMany', entity: 'labels', through: 'nodeLabels', from: 'node', to: 'label' },
      },
    },
    labels: {
      fields: { name: { type: 'string', required: true } },
      relations: {
        nodes: { kind: 'manyToMany', entity: 'nodes', through: 'nodeLabels', from: 'label', to: 'node' },
      },
    },
    nodeLabels: {
      relations: {
        node: { kind: 'belongsTo', entity: 'nodes', required: true },
        label: { kind: 'belongsTo', entity: 'labels', required: true },
      },
    },
  },
} as const;

type Value = string | number | boolean | null;
type Fields = Readonly<Record<string, Value>>;

const cycle = <T>(values: readonly T[], index: number): T => values[index % values.length] as T;
const NAMES = [
  'Straße',
  'STRASSE',
  'a,b',
  'a;b',
  'x\\y',
  '100%',
  '_',
  '',
  'Ödland',
  'ödland',
  'ΣΑΣ',
  '日本',
  "o'x",
  'dız',
  'DIZ',
];

const NODES: readonly Fields[] = Array.from({ length: 50 }, (_, index) => ({
  id: index + 1,
  name: cycle([...NAMES, null], index),
  n: cycle([0, 1, null, -1, 2, 5, 1], index),
  d: cycle([0.5, null, -2.5, 10, 0], index),
  on: cycle([true, false, null], index),
  day: cycle(['2024-02-29', null, '2024-03-01', '1999-12-31'], index),
  level: cycle(['low', 'mid', 'high', null], index),
  parentId: index === 0 || index % 7 === 3 ? null : Math.floor(index / 3) + 1,
}));
const LABELS: readonly Fields[] = ['gift', 'Gift', 'wrap', 'none'].map((name, index) => ({ id: index + 1, name }));
const NODE_LABELS = NODES.flatMap(({ id }) =>
  [1, 2, 3].filter((label) => Number(id) % (label + 2) === 0).map((labelId) => ({ nodeId: id, labelId })),
);

async function make(server: TestServer): Promise<TestWorkspace> {
  const workspace = await server.workspace('acme/graph', SCHEMA);
  const withoutId = ({ id: _, ...rest }: Fields) => rest;
  await workspace.create('nodes', NODES.map(withoutId));
  await workspace.create('labels', LABELS.map(withoutId));
  await workspace.create('nodeLabels', NODE_LABELS);
  return workspace;
}

const server = useServer();
const workspace = use(() => make(server));

/* ---- the model ---- */

interface Condition {
  readonly field: string;
  readonly op: string;
  readonly value?: Value | readonly Value[];
}
type Tree = Condition | { readonly and: readonly Tree[] } | { readonly or: readonly Tree[] } | { readonly not: Tree };

/** The values at the end of a path: one, perhaps null, along to-one relations; any number behind a to-many one. */
function valuesAt(record: Fields, path: readonly string[]): Value[] {
  const [name = '', ...rest] = path;
  if (rest.length === 0) return [record[name] ?? null];
  const related = ((): Fields[] => {
    switch (name) {
      case 'parent':
        return NODES.filter((node) => node.id === record.parentId);
      case 'children':
        return NODES.filter((node) => node.parentId === record.id);
      case 'labels':
        return LABELS.filter((label) =>
          NODE_LABELS.some((link) => link.nodeId === record.id && link.labelId === label.id),
        );
      default:
        return NODES.filter((node) =>
          NODE_LABELS.some((link) => link.labelId === record.id && link.nodeId === node.id),
        );
    }
  })();
  if (name === 'parent' && related.length === 0 && rest.slice(0, -1).every((next) => next === 'parent')) return [null];
  return related.flatMap((other) => valuesAt(other, rest));
}

const foldPart = (text: string): string => text.toLowerCase().toUpperCase();
/** The upper case of a dotless ı is an I, but it is no i. */
const fold = (value: Value | undefined): string => String(value).split('ı').map(foldPart).join('ı');
const texts = new Intl.Collator('und', { caseFirst: 'false' });

/** Negative, zero or positive, of two values of one type. */
function compare(a: Value, b: Value, field: string): number {
  if (typeof a === 'number') return a - Number(b);
  return field === 'name' || field === 'level'
    ? texts.compare(String(a), String(b))
    : String(a) < String(b)
      ? -1
      : a === b
        ? 0
        : 1;
}

function holds(value: Value, { op, field, value: given }: Condition): boolean {
  const name = field.split('.').at(-1) ?? '';
  const list = Array.isArray(given) ? (given as readonly Value[]) : [];
  const one = given as Value;
  switch (op) {
    case 'isNull':
      return value === null;
    case 'notNull':
      return value !== null;
    case 'ne':
      return value !== one;
    case 'nin':
      return value === null || !list.includes(value);
    default:
  }
  if (value === null) return false;
  switch (op) {
    case 'eq':
      return value === one;
    case 'in':
      return list.includes(value);
    case 'gt':
      return compare(value, one, name) > 0;
    case 'gte':
      return compare(value, one, name) >= 0;
    case 'lt':
      return compare(value, one, name) < 0;
    case 'lte':
      return compare(value, one, name) <= 0;
    case 'between':
      return compare(value, list[0] ?? null, name) >= 0 && compare(value, list[1] ?? null, name) <= 0;
    case 'contains':
      return fold(value).includes(fold(one));
    case 'startsWith':
      return fold(value).startsWith(fold(one));
    case 'endsWith':
      return fold(value).endsWith(fold(one));
    default:
      throw new TypeError(op);
  }
}

function accepts(tree: Tree, record: Fields): boolean {
  if ('and' in tree) return tree.and.every((member) => accepts(member, record));
  if ('or' in tree) return tree.or.some((member) => accepts(member, record));
  if ('not' in tree) return !accepts(tree.not, record);
  return valuesAt(record, tree.field.split('.')).some((value) => holds(value, tree));
}

const expected = (tree: Tree): number[] => NODES.filter((node) => accepts(tree, node)).map((node) => Number(node.id));

/* ---- random filters ---- */

const ORDERED = ['gt', 'gte', 'lt', 'lte'];
const TEXTUAL = ['contains', 'startsWith', 'endsWith'];
const PARTS = [...NAMES, 's', 'ß', 'SS', 'a', ',', ';', '\\', '%', 'Ö', 'σ', '本', 'low', 'i', 'ı'];

const values: Readonly<Record<string, fc.Arbitrary<Value>>> = {
  id: fc.integer({ min: 0, max: 51 }),
  name: fc.constantFrom(...NAMES, 'none'),
  n: fc.integer({ min: -2, max: 6 }),
  d: fc.constantFrom(0.5, -2.5, 10, 0, 3.3),
  on: fc.boolean(),
  day: fc.constantFrom('2024-02-29', '2024-03-01', '1999-12-31', '2000-01-01'),
  level: fc.constantFrom('low', 'mid', 'high'),
  parentId: fc.integer({ min: 0, max: 18 }),
};

const ROUTES = [
  '',
  '',
  '',
  'parent.',
  'parent.parent.',
  'children.',
  'children.parent.',
  'parent.children.',
  'labels.nodes.',
];

function conditionOn(field: string, type: string): fc.Arbitrary<Condition> {
  const value = values[type] as fc.Arbitrary<Value>;
  const list = fc.array(value, { minLength: 1, maxLength: 3 });
  return fc.oneof(
    fc.record({ field: fc.constant(field), op: fc.constantFrom('eq', 'ne'), value }),
    fc.record({ field: fc.constant(field), op: fc.constantFrom('in', 'nin'), value: list }),
    fc.record({ field: fc.constant(field), op: fc.constantFrom('isNull', 'notNull') }),
    ...(type === 'on'
      ? []
      : [
          fc.record({ field: fc.constant(field), op: fc.constantFrom(...ORDERED), value }),
          fc.record({ field: fc.constant(field), op: fc.constant('between'), value: fc.tuple(value, value) }),
        ]),
    ...(type === 'name' || type === 'level'
      ? [fc.record({ field: fc.constant(field), op: fc.constantFrom(...TEXTUAL), value: fc.constantFrom(...PARTS) })]
      : []),
  );
}

const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc
    .tuple(fc.constantFrom(...ROUTES), fc.constantFrom(...Object.keys(values)))
    .chain(([route, type]) => conditionOn(`${route}${type}`, type)),
  fc
    .tuple(
      fc.constantFrom('labels.name', 'parent.labels.name', 'children.labels.name'),
      fc.constantFrom('eq', 'ne', ...TEXTUAL),
      fc.constantFrom('gift', 'GIFT', 'wrap', 'r'),
    )
    .map(([field, op, value]) => ({ field, op, value })),
);

const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3, depthSize: 'medium' },
    condition,
    fc.record({ and: fc.array(tie('tree'), { maxLength: 3 }) }),
    fc.record({ or: fc.array(tie('tree'), { maxLength: 3 }) }),
    fc.record({ not: tie('tree') }),
  ),
}));

test('a filter tree finds what the model finds', async () => {
  await fc.assert(
    fc.asyncProperty(tree, async (filter) => {
      const { status, text, json } = await workspace.call('nodes/_query', {
        method: 'POST',
        body: { filter, fields: ['id'], size: 100 },
      });
      assert.equal(status, 200, text);
      const found = json.data.map((record: { id: number }) => record.id);
      assert.deepEqual(found, expected(filter));
      assert.equal(json.meta.totalElements, found.length);
    }),
    { numRuns: 250 },
  );
});

/** A condition as the query string takes it, alone or in a group. */
function written({ field, op, value }: Condition, isInGroup: boolean): string {
  if (value === undefined) return `${field},${op}`;
  const escapeIn = (one: Value, characters: string): string =>
    [...String(one)].map((character) => (characters.includes(character) ? `\\${character}` : character)).join('');
  if (!Array.isArray(value)) return `${field},${op},${escapeIn(value as Value, isInGroup ? '\\;' : '')}`;
  return `${field},${op},${value.map((one) => escapeIn(one, isInGroup ? '\\,;' : '\\,')).join(',')}`;
}

test('filters and groups of alternatives of a query string find what the model finds', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(condition, { maxLength: 3 }),
      fc.array(fc.array(condition, { minLength: 1, maxLength: 3 }), { maxLength: 2 }),
      async (filters, groups) => {
        const parameters = new URLSearchParams({ fields: 'id', size: '100' });
        for (const one of filters) parameters.append('filter', written(one, false));
        for (const group of groups) parameters.append('or', group.map((one) => written(one, true)).join(';'));
        const { status, text, json } = await workspace.call(`nodes?${parameters}`);
        assert.equal(status, 200, text);
        const meant: Tree = { and: [...filters, ...groups.map((group) => ({ or: group }))] };
        assert.deepEqual(
          json.data.map((record: { id: number }) => record.id),
          expected(meant),
        );
      },
    ),
    { numRuns: 200 },
  );
});
