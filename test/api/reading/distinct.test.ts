// `distinct`: one record for each value of a field, against a model in plain JavaScript, on every way to a list.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ListQuery } from '../../../client/src/index.ts';
import { type Agent, connectAgent } from '../../support/agent.ts';
import { prepare, use, useIssuer, useServer } from '../../support/resources.ts';
import type { Call } from '../../support/server.ts';
import { LOCAL_PROVIDER, makeUsers, type TokenOf } from '../../support/users.ts';

const SCHEMA = {
  entities: {
    owners: { fields: { name: { type: 'string' } } },
    cars: {
      fields: {
        color: { type: 'string', searchable: true },
        doors: { type: 'integer' },
        price: { type: 'decimal' },
        electric: { type: 'boolean' },
        extras: { type: 'json' },
      },
      relations: { owner: { kind: 'belongsTo', entity: 'owners' } },
      rowRules: [{ column: 'ownerId', claim: 'owner' }],
    },
  },
};

interface Car {
  readonly id: number;
  readonly color: string | null;
  readonly doors: number | null;
  readonly electric: boolean | null;
  readonly ownerId: number | null;
}

const COLORS = ['red', 'green', 'blue', null, 'dark red'];
const CARS: readonly Car[] = Array.from({ length: 60 }, (_, index) => ({
  id: index + 1,
  color: COLORS[(index * 7) % 5] as string | null,
  doors: [3, 5, null, 2, 4, 5][(index * index) % 6] as number | null,
  electric: [true, false, null][(index * 5) % 3] as boolean | null,
  ownerId: [1, 2, null][(index >> 1) % 3] as number | null,
}));

const issuer = useIssuer();
const server = useServer(LOCAL_PROVIDER);
const shop = use(() => server.workspace('acme/distinct', SCHEMA));
const agent: Agent = use(
  () => connectAgent(server, shop.path, shop.readOnlyKey),
  (connected) => connected.close(),
);
let tokenOf: TokenOf;
prepare(async () => {
  tokenOf = await makeUsers(shop, issuer);
  await shop.create('owners', [{ name: 'Ann' }, { name: 'Bo' }]);
  await shop.create('cars', CARS.map(({ id: _, ...car }) => car)); // biome-ignore format: a line
});

type Column = 'color' | 'doors' | 'electric' | 'ownerId' | 'id';

/** Nulls come last ascending and first descending, ties by id in the same direction. */
function sorted(cars: readonly Car[], column: Column, isDescending: boolean): readonly Car[] {
  const compare = (a: Car, b: Car): number => {
    const [x, y] = [a[column], b[column]];
    if (x === y) return a.id - b.id;
    if (x === null || y === null) return x === null ? 1 : -1;
    return Number(x) - Number(y);
  };
  return cars.toSorted((a, b) => (isDescending ? compare(b, a) : compare(a, b)));
}

const firstOfEach = (cars: readonly Car[], column: Column): readonly Car[] =>
  cars.filter((car, index) => cars.findIndex((other) => other[column] === car[column]) === index);

async function list(query: string, call: Call = {}) {
  const answer = await shop.call(`cars?${query}`, call);
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

const idsOf = ({ data }: { readonly data: readonly Car[] }): number[] => data.map(({ id }) => id);

test('any list of distinct values is that of the model, by pages and by cursors', async () => {
  const asked = fc.record({
    column: fc.constantFrom<Column>('color', 'doors', 'electric', 'ownerId', 'id'),
    sort: fc.constantFrom<Column>('doors', 'electric', 'ownerId', 'id'),
    isDescending: fc.boolean(),
    atLeast: fc.integer({ min: 1, max: 61 }),
    size: fc.integer({ min: 1, max: 7 }),
    owner: fc.constantFrom(undefined, 1, 2, 3),
    expand: fc.constantFrom('', 'owner'),
  });
  await fc.assert(
    fc.asyncProperty(asked, async ({ column, sort, isDescending, atLeast, size, owner, expand }) => {
      const seen = CARS.filter((car) => car.id >= atLeast && (owner === undefined || car.ownerId === owner));
      const expected = firstOfEach(sorted(seen, sort, isDescending), column);
      const call = owner === undefined ? {} : { credential: tokenOf({ owner }) };
      const query = `distinct=${column}&sort=${sort}${isDescending ? ',desc' : ''}&filter=id,gte,${atLeast}&size=${size}&expand=${expand}`;
      const byPage: number[] = [];
      for (let page = 0; page * size < expected.length; page++) {
        const { data, meta } = await list(`${query}&page=${page}`, call);
        assert.equal(meta.totalElements, expected.length);
        byPage.push(...idsOf({ data }));
      }
      assert.deepEqual(byPage, idsOf({ data: expected }));
      const byCursor: number[] = [];
      for (let after: string | null = ''; after !== null; ) {
        const { data, meta } = await list(`${query}&count=none${after === '' ? '' : `&after=${after}`}`, call);
        byCursor.push(...idsOf({ data }));
        after = meta.nextCursor;
      }
      assert.deepEqual(byCursor, byPage);
    }),
    { numRuns: 60 },
  );
});

test('the total is the number of values, whatever is kept, and an estimate is a number', async () => {
  assert.equal((await list('distinct=color')).meta.totalElements, 5);
  assert.equal((await list('distinct=color&size=1&page=9')).meta.totalElements, 5);
  assert.equal((await list('distinct=color&count=none')).meta.totalElements, null);
  assert.equal(typeof (await list('distinct=color&count=estimated')).meta.totalElements, 'number');
});

test('a search chooses records, and the order stays that of the list', async () => {
  const { data, meta } = await list('distinct=doors&search=red&sort=id,desc');
  const red = sorted(CARS, 'id', true).filter(({ color }) => color?.includes('red'));
  assert.deepEqual(idsOf({ data }), idsOf({ data: firstOfEach(red, 'doors') }));
  assert.equal(meta.totalElements, data.length);
  const byId = firstOfEach(sorted(red, 'id', false), 'doors');
  assert.deepEqual(idsOf(await list('distinct=doors&search=red')), idsOf({ data: byId }));
});

test('the first may be decided by a related record; versions and previews are those of what is shown', async () => {
  const { data, meta } = await list(
    'distinct=color&sort=owner.name,desc&sort=id&versions=true&preview=2&fields=id,color',
  );
  assert.deepEqual(idsOf({ data }), idsOf({ data: firstOfEach(
    CARS.toSorted((a, b) => (b.ownerId ?? 9) - (a.ownerId ?? 9) || a.id - b.id), 'color') })); // biome-ignore format: one call
  assert.equal(meta.versions.length, data.length);
  assert.ok(meta.previews.length > 0);
});

test('a body and an agent ask for the same', async () => {
  const { data } = await list('distinct=color&fields=id');
  const body = JSON.stringify({ distinct: 'color', fields: ['id'] });
  const answer = await shop.call('cars/_query', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  assert.deepEqual(answer.json.data, data);
  const told = JSON.parse(await agent.data('query_records', { entity: 'cars', distinct: 'color', fields: ['id'] }));
  assert.deepEqual(told.data, data);
});

for (const [path, message] of [
  ['cars?distinct=colr', /^Unknown field colr on entity cars\. Did you mean color\? Known: id, color, doors, /],
  ['cars?distinct=', /^Unknown field {2}on entity cars\./],
  ['cars?distinct=owner', /^distinct: owner is a relation of cars; name a field of it/],
  ['cars?distinct=owner.name', /^distinct takes a field of cars itself, and no path$/],
  ['cars?distinct=extras', /^distinct does not apply to extras of type json$/],
  ['cars?distinct=color&distinct=doors', /^Query parameter distinct may be given only once$/],
  ['cars/_export?distinct=color', /^Unknown query parameter distinct\./],
  ['cars/_aggregate?select=count&distinct=color', /^Unknown query parameter distinct\./],
  ['cars/1?distinct=color', /^Unknown query parameter distinct\./],
] as const) {
  test(`${path} is refused`, async () => {
    const answer = await shop.call(path);
    assert.equal(answer.status, 400);
    assert.match(answer.json.error.message, message);
  });
}

interface Types {
  readonly cars: { readonly row: Car; readonly create: object; readonly update: object; readonly relations: object };
}

test('the client takes the name of a field alone', () => {
  const query = (one: ListQuery<Types, 'cars', undefined, object>) => one;
  assert.equal(query({ distinct: 'color' }).distinct, 'color');
  // @ts-expect-error: an unknown field
  assert.equal(query({ distinct: 'colr' }).distinct, 'colr');
});
