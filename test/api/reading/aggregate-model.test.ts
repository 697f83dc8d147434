// Random aggregates of random records against a model in exact arithmetic, asked by the owner and by a user under row rules.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { numberText, parseExact } from '../../../src/model/exact-json.ts';
import { averageOf, compareExact, dayOf, exactOf, partOf, sumOf, textOf } from '../../support/aggregate-model.ts';
import { use, useIssuer, useServer, useUsers } from '../../support/resources.ts';
import { LOCAL_PROVIDER } from '../../support/users.ts';

const SCHEMA = {
  entities: {
    shops: {
      fields: { city: { type: 'string' }, opened: { type: 'date' }, rank: { type: 'integer' } },
      rowRules: [{ column: 'city', claim: 'city' }],
    },
    sales: {
      fields: {
        kind: { type: 'enum', values: ['a', 'b', 'c'] },
        label: { type: 'string' },
        n: { type: 'integer' },
        big: { type: 'bigint' },
        d: { type: 'decimal', precision: 30, scale: 4 },
        free: { type: 'decimal' },
        f: { type: 'float' },
        on: { type: 'boolean' },
        day: { type: 'date' },
        at: { type: 'datetime' },
        clock: { type: 'time' },
        key: { type: 'uuid' },
      },
      relations: {
        shop: { kind: 'belongsTo', entity: 'shops' },
        before: { kind: 'belongsTo', entity: 'sales' },
        after: { kind: 'hasMany', entity: 'sales', inverse: 'before' },
      },
      rowRules: [{ column: 'kind', claim: 'kind' }],
    },
  },
};

/** Values as JSON text, null for null. */
type Cell = string | null;
type Rec = Readonly<Record<string, Cell>>;

const SEED = Math.floor(Math.random() * 1e9);
const [SHOPS, SALES] = drawRecords(SEED);

function drawRecords(seed: number): [readonly Rec[], readonly Rec[]] {
  const text = (...words: string[]) => fc.constantFrom(...words.map((word) => JSON.stringify(word)), null);
  const maybe = (cell: fc.Arbitrary<string>): fc.Arbitrary<Cell> => fc.option(cell, { freq: 5, nil: null });
  const digits = (whole: number, fraction: number) =>
    fc
      .tuple(
        fc.constantFrom('', '-'),
        fc.bigInt({ min: 0n, max: 10n ** BigInt(whole) - 1n }),
        fc.integer({ min: 0, max: fraction }),
        fc.nat(),
      )
      .map(([sign, units, scale, rest]) => {
        const behind = String(rest).padStart(scale, '0').slice(0, scale);
        const isZero = units === 0n && /^0*$/.test(behind);
        return `${isZero ? '' : sign}${units}${scale === 0 ? '' : `.${behind}`}`;
      });
  const moment = fc
    .integer({ min: Date.parse('1999-12-30'), max: Date.parse('2029-01-02') })
    .map((time) => JSON.stringify(new Date(time - (time % 500)).toISOString().replace('.000Z', 'Z')));
  const near = fc
    .integer({ min: 0, max: 3 * 86_400_000 })
    .map((time) =>
      JSON.stringify(
        new Date(Date.parse('2025-10-25T00:00:00Z') + time - (time % 1000)).toISOString().replace('.000Z', 'Z'),
      ),
    );
  const day = moment.map((cell) => `${cell.slice(0, 11)}"`);
  const float = fc
    .oneof(
      fc.constantFrom(0.1, 0.2, 0.3, 1e21, 1e-7, 1e300, 5e-324, -1.5),
      fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }),
    )
    .map((value) => (value === 0 ? '0' : String(value)));
  const shop = fc.record({
    city: text('Rome', 'Oslo', 'Zürich'),
    opened: maybe(day),
    rank: maybe(fc.integer({ min: -3, max: 3 }).map(String)),
  });
  const sale = fc.record({
    kind: text('a', 'b', 'c'),
    label: text('x', 'Y', 'z', '', "o'x", 'é'),
    n: maybe(fc.integer({ min: -2147483648, max: 2147483647 }).map(String)),
    big: maybe(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String)),
    d: maybe(digits(26, 4)),
    free: maybe(digits(40, 9)),
    f: maybe(float),
    on: maybe(fc.constantFrom('true', 'false')),
    day: maybe(day),
    at: maybe(fc.oneof(moment, near)),
    clock: text('00:00:00', '09:30:00', '23:59:59'),
    key: maybe(fc.uuid().map((uuid) => JSON.stringify(uuid))),
    shopId: maybe(fc.integer({ min: 1, max: 6 }).map(String)),
    beforeId: maybe(fc.integer({ min: 1, max: 60 }).map(String)),
  });
  const numbered = (records: Rec[]) => records.map((record, index) => ({ id: String(index + 1), ...record }));
  // A sale follows one that is there already.
  const follows = ({ beforeId, ...rest }: Rec, index: number): Rec => ({
    ...rest,
    beforeId: beforeId == null || index === 0 ? null : String((Number(beforeId) % index) + 1),
  });
  return [
    numbered(fc.sample(shop, { numRuns: 6, seed })),
    numbered(fc.sample(sale, { numRuns: 60, seed }).map(follows)),
  ];
}

const server = useServer(LOCAL_PROVIDER);
const issuer = useIssuer();
const workspace = use(async () => {
  const made = await server.workspace('acme/sales', SCHEMA);
  for (const [entity, records] of [
    ['shops', SHOPS],
    ['sales', SALES],
  ] as const) {
    for (const { id: _, ...cells } of records) {
      const body = `{${Object.entries(cells)
        .map(([name, cell]) => `"${name}":${cell}`)
        .join()}}`;
      const answer = await made.call(entity, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      assert.equal(answer.status, 201, `${body} ${answer.text}`);
    }
  }
  return made;
});
const tokenOf = useUsers(workspace, issuer, 'READ_ONLY');

/* ---- the model ---- */

interface Claims {
  readonly kind?: string;
  readonly city?: string;
}

const shown = (rule: string | undefined, cell: Cell | undefined): boolean =>
  rule !== undefined && cell === JSON.stringify(rule);

/** The value at the end of a path; null where a record on the way is missing or hidden. */
function valueAt(record: Rec, path: string, claims: Claims | undefined): Cell {
  const [head = '', ...rest] = path.split('.');
  if (rest.length === 0) return record[head] ?? null;
  const isShop = head === 'shop';
  const id = record[`${head}Id`];
  const other = (isShop ? SHOPS : SALES).find((one) => one.id === id);
  if (other === undefined) return null;
  if (claims !== undefined && !(isShop ? shown(claims.city, other.city) : shown(claims.kind, other.kind))) return null;
  return valueAt(other, rest.join('.'), claims);
}

const TYPES: Readonly<Record<string, 'number' | 'text' | 'plain'>> = {
  id: 'number',
  n: 'number',
  big: 'number',
  d: 'number',
  free: 'number',
  f: 'number',
  shopId: 'number',
  rank: 'number',
  kind: 'text',
  label: 'text',
  city: 'text',
  day: 'plain',
  at: 'plain',
  clock: 'plain',
  key: 'plain',
  opened: 'plain',
  on: 'plain',
};
const typeOf = (path: string) => TYPES[path.split('.').at(-1) ?? ''];
const texts = new Intl.Collator('und', { caseFirst: 'false' });

/** Order of two values of one path; null is the greatest. */
function compare(a: Cell, b: Cell, type: 'number' | 'text' | 'plain' | undefined): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  switch (type) {
    case 'number':
      return compareExact(exactOf(a), exactOf(b));
    case 'text':
      return texts.compare(JSON.parse(a), JSON.parse(b));
    case 'plain':
    case undefined:
      // A fraction of a second is left out when it is zero.
      return (
        Number(a.replace('Z"', '~"') > b.replace('Z"', '~"')) - Number(a.replace('Z"', '~"') < b.replace('Z"', '~"'))
      );
    default:
      return type satisfies never;
  }
}

const DIGITS: Readonly<Record<string, number>> = { id: 6, n: 6, big: 6, shopId: 6, rank: 6, d: 10 };
const SCALES: Readonly<Record<string, number>> = { d: 4 };

function result(name: string, group: readonly Rec[], claims: Claims | undefined): Cell {
  const [word = '', path] = name.split(':');
  if (path === undefined) return String(group.length);
  const values = group.map((record) => valueAt(record, path, claims)).filter((cell) => cell !== null);
  const field = path.split('.').at(-1) as string;
  const type = typeOf(path);
  const exacts = () =>
    values
      .map(exactOf)
      .map((value) => (field in SCALES ? exactOf(padded(textOf(value), SCALES[field] as number)) : value));
  switch (word) {
    case 'count':
      return String(values.length);
    case 'countDistinct':
      return String(
        values.filter((cell, at) => values.findIndex((one) => compare(one, cell, type) === 0) === at).length,
      );
    case 'sum':
      return values.length === 0 ? null : textOf(sumOf(exacts()));
    case 'avg':
      return values.length === 0 ? null : textOf(averageOf(exacts(), DIGITS[field] ?? sumOf(exacts()).scale + 6));
    default: {
      const ordered = values.toSorted((a, b) => compare(a, b, type));
      return (word === 'min' ? ordered[0] : ordered.at(-1)) ?? null;
    }
  }
}

const padded = (text: string, scale: number): string => {
  const [whole, fraction = ''] = text.split('.');
  return `${whole}.${fraction.padEnd(scale, '0')}`;
};

function keyOf(record: Rec, name: string, zone: string, claims: Claims | undefined): Cell {
  const [path = '', part] = name.split(':');
  const cell = valueAt(record, path, claims);
  if (cell === null || part === undefined) return cell;
  const text = JSON.parse(cell);
  return JSON.stringify(text.length === 10 ? dayOf(text, part) : partOf(text, part, zone));
}

interface Wish {
  readonly select: readonly string[];
  readonly group: readonly string[];
  readonly zone: string;
  /** `n` of records above it; null for all. */
  readonly above: number | null;
  readonly having: readonly (readonly [name: string, op: string, value: string])[];
  readonly sort: readonly (readonly [name: string, direction: 'asc' | 'desc'])[];
  readonly size: number;
}

const kindOf = (name: string): 'number' | 'text' | 'plain' | undefined => {
  if (!name.includes(':')) return name === 'count' ? 'number' : typeOf(name);
  const [word = '', path = ''] = name.split(':');
  if (word === 'min' || word === 'max') return typeOf(path);
  return ['count', 'countDistinct', 'sum', 'avg'].includes(word) ? 'number' : 'plain';
};

type Row = Readonly<Record<string, Cell>>;

function expected({ select, group, zone, above, having, sort }: Wish, claims: Claims | undefined): Row[] {
  const visible = SALES.filter(
    (record) =>
      (claims === undefined || shown(claims.kind, record.kind)) &&
      (above === null || (record.n != null && Number(record.n) > above)),
  );
  const groups: { keys: Cell[]; records: Rec[] }[] = group.length === 0 ? [{ keys: [], records: [...visible] }] : [];
  if (group.length > 0) {
    for (const record of visible) {
      const keys = group.map((name) => keyOf(record, name, zone, claims));
      const found = groups.find((one) =>
        one.keys.every((key, at) => compare(key, keys[at] ?? null, kindOf(group[at] as string)) === 0),
      );
      if (found === undefined) groups.push({ keys, records: [record] });
      else found.records.push(record);
    }
  }
  const rows = groups.map(
    ({ keys, records }): Row => ({
      ...Object.fromEntries(group.map((name, at) => [name, keys[at] ?? null])),
      ...Object.fromEntries(select.map((name) => [name, result(name, records, claims)])),
    }),
  );
  const order = [
    ...sort,
    ...group.filter((name) => !sort.some(([one]) => one === name)).map((name) => [name, 'asc'] as const),
  ];
  return rows
    .filter((row) =>
      having.every(([name, op, value]) => {
        const cell = row[name] ?? null;
        if (op === 'isNull') return cell === null;
        if (cell === null) return op === 'ne';
        const sign = compareExact(exactOf(cell), exactOf(value));
        return (
          { eq: sign === 0, ne: sign !== 0, gt: sign > 0, gte: sign >= 0, lt: sign < 0, lte: sign <= 0 }[op] === true
        );
      }),
    )
    .sort((a, b) => {
      for (const [name, direction] of order) {
        const sign = compare(a[name] ?? null, b[name] ?? null, kindOf(name));
        if (sign !== 0) return direction === 'asc' ? sign : -sign;
      }
      return 0;
    });
}

/* ---- random aggregates ---- */

const NUMBERS = ['id', 'n', 'big', 'd', 'free', 'f', 'shopId', 'shop.rank', 'before.d', 'before.shop.rank'];
const OTHERS = ['kind', 'label', 'day', 'at', 'clock', 'key', 'shop.city', 'before.label', 'before.shop.city'];
const FUNCTIONS = [
  'count',
  ...NUMBERS.flatMap((path) => ['count', 'countDistinct', 'sum', 'avg', 'min', 'max'].map((word) => `${word}:${path}`)),
  ...OTHERS.flatMap((path) => ['count', 'countDistinct', 'min', 'max'].map((word) => `${word}:${path}`)),
  'count:on',
  'countDistinct:on',
];
const PARTS = ['year', 'quarter', 'month', 'week', 'day'];
const GROUPS = [
  ...NUMBERS,
  ...OTHERS,
  'on',
  ...PARTS.flatMap((part) => ['day', 'at', 'shop.opened', 'before.at'].map((path) => `${path}:${part}`)),
  'at:hour',
  'before.at:hour',
  // Drawn more often than its share: these make groups of several records.
  ...Array(4).fill(['kind', 'label', 'on', 'shop.city', 'clock', 'at:year']).flat(),
];
const ZONES = ['UTC', 'Europe/Berlin', 'America/St_Johns', 'Asia/Kolkata', 'Pacific/Auckland'];

const wish: fc.Arbitrary<Wish> = fc
  .record({
    select: fc.uniqueArray(fc.constantFrom(...FUNCTIONS), { minLength: 1, maxLength: 6 }),
    group: fc.uniqueArray(fc.constantFrom<string>(...GROUPS), { maxLength: 4 }),
    zone: fc.constantFrom(...ZONES),
    above: fc.option(fc.integer({ min: -2e9, max: 2e9 }), { freq: 2 }),
    size: fc.integer({ min: 1, max: 70 }),
  })
  .chain((base) => {
    const numbers = base.select.filter((name) => kindOf(name) === 'number');
    const condition = fc.tuple(
      fc.constantFrom(...numbers, ...(numbers.length === 0 ? ['none'] : [])),
      fc.constantFrom('eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'isNull'),
      fc.constantFrom('0', '1', '2', '5', '1000', '-17'),
    );
    const key = fc.tuple(
      fc.constantFrom(...base.select, ...base.group),
      fc.constantFrom('asc' as const, 'desc' as const),
    );
    return fc
      .record({
        having: numbers.length === 0 ? fc.constant([]) : fc.array(condition, { maxLength: 2 }),
        sort: fc.uniqueArray(key, { maxLength: 3, selector: ([name]) => name }),
      })
      .map((more) => ({ ...base, ...more }));
  });

/** Numbers that are equal may be written in two ways, and a group or an extreme has either. */
function comparable(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      const text = typeof value === 'string' && !value.startsWith('"') ? value : null;
      const isExact = /^(sum|avg):/.test(name);
      if (text === null || isExact || kindOf(name) !== 'number') return [name, value];
      const { units, scale } = exactOf(text);
      const digits = textOf({ units, scale })
        .replace(/(\.\d*?)0+$/, '$1')
        .replace(/\.$/, '');
      return [name, digits];
    }),
  );
}

const cellOf = (value: unknown): Cell => (value === null ? null : (numberText(value) ?? JSON.stringify(value)));

async function holds(request: Wish, claims: Claims | undefined): Promise<void> {
  const { select, group, zone, above, having, sort, size } = request;
  const credential = claims === undefined ? workspace.key : tokenOf(claims);
  const wanted = expected(request, claims).map(comparable);
  const conditions = having.map(([name, op, value]) => (op === 'isNull' ? `${name},${op}` : `${name},${op},${value}`));
  const body = {
    select,
    group,
    tz: zone,
    having: conditions,
    sort: sort.map((key) => key.join()),
    size,
    ...(above === null ? {} : { filter: { field: 'n', op: 'gt', value: above } }),
  };
  const parameters = new URLSearchParams([
    ['select', select.join()],
    ['group', group.join()],
    ['tz', zone],
    ['size', String(size)],
    ...conditions.map((text) => ['having', text]),
    ...sort.map((key) => ['sort', key.join()]),
    ...(above === null ? [] : [['filter', `n,gt,${above}`]]),
  ]);
  for (let page = 0; page === 0 || page * size < wanted.length; page++) {
    for (const answer of [
      await workspace.call('sales/_aggregate', { method: 'POST', credential, body: { ...body, page } }),
      await workspace.call(`sales/_aggregate?${parameters}&page=${page}`, { credential }),
    ]) {
      assert.equal(answer.status, 200, answer.text);
      const { data, meta } = parseExact(answer.text) as { data: Record<string, unknown>[]; meta: unknown };
      const rows = data.map((row) =>
        comparable(Object.fromEntries(Object.entries(row).map(([name, value]) => [name, cellOf(value)]))),
      );
      assert.deepEqual(rows, wanted.slice(page * size, (page + 1) * size), `seed ${SEED}`);
      const pages = Math.ceil(wanted.length / size);
      assert.deepEqual(meta, { page, size, totalElements: wanted.length, totalPages: pages });
    }
  }
}

const claims = fc.record(
  { kind: fc.constantFrom('a', 'b', 'c', 'none'), city: fc.constantFrom('Rome', 'Oslo', 'Zürich') },
  { requiredKeys: [] },
);

test('an aggregate of the owner is that of the model', async () => {
  await fc.assert(
    fc.asyncProperty(wish, (request) => holds(request, undefined)),
    { numRuns: 250 },
  );
});

test('an aggregate of a user is that of the model over the records that the user may see', async () => {
  await fc.assert(fc.asyncProperty(wish, claims, holds), { numRuns: 150 });
});
