// Every digit of a record comes to the client, and goes back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient, type Digits, type DigitsIn } from '../../client/src/index.ts';
import { use, useServer } from '../support/resources.ts';

interface Sums {
  sums: {
    row: { id: number; big: Digits | null; wide: Digits | null; ratio: number | null; details: unknown };
    create: { big?: DigitsIn | null; wide?: DigitsIn | null; ratio?: number | null; details?: unknown };
    update: Partial<Sums['sums']['create']>;
    relations: Record<never, never>;
  };
}

const server = useServer();
const workspace = use(() =>
  server.workspace('acme/sums', {
    entities: {
      sums: {
        fields: {
          big: { type: 'bigint' },
          wide: { type: 'decimal', precision: 40, scale: 12 },
          ratio: { type: 'float' },
          details: { type: 'json' },
        },
      },
    },
  }),
);
const sums = () =>
  createClient<Sums>({ url: server.url, workspace: workspace.path, credential: workspace.key }).entity('sums');

const VALUES: readonly (readonly [sent: DigitsIn, got: Digits])[] = [
  ['12345678901234567890.10', '12345678901234567890.100000000000'],
  ['1.10', 1.1],
  ['1e-7', 1e-7],
  [0.1, 0.1],
  [12345678901234567890n, '12345678901234567890.000000000000'],
  [5n, 5],
];

for (const [sent, got] of VALUES) {
  test(`${sent}${typeof sent === 'bigint' ? 'n' : ''} is stored, read, and written back`, async () => {
    const { data } = await sums().create({ wide: sent });
    assert.equal(data.wide, got);
    await sums().modify(data.id, ({ wide }) => ({ wide, ratio: 0.1 }));
    const { data: after } = await sums().read(data.id);
    assert.deepEqual([after.wide, after.ratio], [got, 0.1]);
    assert.equal((await sums().list({ filter: { id: data.id, wide: got } })).data.length, 1);
    assert.equal((await sums().query({ filter: { id: data.id, wide: { in: [got] } } })).data.length, 1);
  });
}

test('a bigint beyond what a double holds', async () => {
  const { data } = await sums().create({ big: 9007199254740993n });
  assert.equal(data.big, '9007199254740993');
  await sums().modify(data.id, ({ big }) => ({ big: BigInt(big ?? 0) + 1n }));
  assert.equal((await sums().read(data.id)).data.big, 9007199254740994);
  const { data: found } = await sums().aggregate({ select: ['sum:big', 'count'] });
  assert.equal(String(found[0]?.['sum:big']), '9007199254740994');
});

test('a float and json', async () => {
  const { data } = await sums().create({ ratio: 1.7976931348623157e308, details: { a: 1e21, b: [0.1] } });
  assert.deepEqual([data.ratio, data.details], [Number.MAX_VALUE, { a: 1e21, b: [0.1] }]);
});
