import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { finalizeNames, findReleasedKeys, findRenamings } from '../../../src/migrations/names.ts';
import type { PhysicalNames } from '../../../src/model/physical-name.ts';
import { NO_NAMES } from '../../../src/model/physical-name.ts';
import { buildEntities } from '../../../src/schema/entities.ts';
import type { SchemaDocument } from '../../../src/schema/format.ts';
import { buildTables } from '../../../src/schema/tables.ts';

const NOTHING: ReadonlySet<string> = new Set();
const text = { type: 'string', unique: true, index: true, maxLength: 9 } as const;
const document = {
  entities: { a: { fields: { x: text, y: text, z: text } }, b: { fields: { x: text } }, c: {} },
} satisfies SchemaDocument;

const finalize = (names: PhysicalNames, reserved: readonly string[] = []): PhysicalNames =>
  finalizeNames(document, names, new Set(reserved), '9');

const checksOf = (names: PhysicalNames): string[] =>
  [...buildTables(document, '', names).values()].flatMap(({ checks }) => checks.map(({ name }) => name));

/** Names of tables and columns. */
const next = (names: PhysicalNames, reserved: readonly string[] = []): PhysicalNames => {
  const { tables, columns } = finalize(names, reserved);
  return { tables, columns };
};

test('what has another name gets its own', () => {
  const names = { tables: { a: 'old' }, columns: { b: { x: 'x$3' } } };
  assert.deepEqual(next(names), NO_NAMES);
});

test('a name that something has, or lately was something else, is not given', () => {
  const chain = { tables: { a: 'b', b: 'b$2' }, columns: {} };
  assert.deepEqual(next(chain), { tables: { b: 'b$2' }, columns: {} });
  assert.deepEqual(next({ tables: { b: 'b$2' }, columns: {} }, ['b']), { tables: { b: 'b$2' }, columns: {} });
  const column = { tables: {}, columns: { a: { x: 'x$2' } } };
  assert.deepEqual(next(column, ['a.x']), column);
  assert.deepEqual(next(column, ['b.x', 'x', 'a']), NO_NAMES);
});

test('two that have each other’s names go a way round', () => {
  const swapped = { tables: { a: 'b', b: 'a' }, columns: { a: { x: 'y', y: 'z', z: 'x' } } };
  assert.deepEqual(next(swapped), { tables: { a: 'a$9', b: 'a' }, columns: { a: { x: 'x$9', y: 'z', z: 'x' } } });
});

test('checks and foreign keys keep the names that they have', () => {
  const once = finalize({ tables: { a: 'old' }, columns: { b: { x: 'x$3' } } });
  const a = { x$ck_length: 'old$x$ck_length', y$ck_length: 'old$y$ck_length', z$ck_length: 'old$z$ck_length' };
  assert.deepEqual(once.constraints, { a, b: { x$ck_length: 'b$x$3$ck_length' } });
  assert.deepEqual(finalize(once), once);
  assert.deepEqual(finalize({ ...once, columns: { a: { x: 'x$5' } } }).constraints, once.constraints);
});

test('everything else that is called after a table or column is renamed with it', () => {
  const before = { tables: { b: 'was' }, columns: { b: { x: 'old' } } };
  const [only] = findRenamings(document, 'ws', before, NO_NAMES);
  assert.equal(only?.table, 'was');
  assert.deepEqual(
    only?.renamings.map(({ kind, from, to }) => `${kind} ${from} ${to}`),
    [
      'column old x',
      'index was$id$pk b$id$pk',
      'sequence was$id$sequence$pk b$id$sequence$pk',
      'index was$old$uq b$x$uq',
      'table was b',
    ],
  );
});

test('from any names the way ends at those of the document, and no name is ever two things', () => {
  const column = fc.constantFrom('x', 'y', 'z', 'q', 'r$1', 's$2');
  const property = fc.property(
    fc.uniqueArray(column, { minLength: 3, maxLength: 3 }),
    fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e$1'), { minLength: 3, maxLength: 3 }),
    ([x, y, z], [a, b, c]) => {
      const differing = (names: Record<string, string | undefined>): Record<string, string> =>
        Object.fromEntries(
          Object.entries(names).flatMap(([name, now]) => (name === now || now === undefined ? [] : [[name, now]])),
        );
      const columns = differing({ x, y, z });
      const start: PhysicalNames = {
        tables: differing({ a, b, c }),
        columns: Object.keys(columns).length === 0 ? {} : { a: columns },
      };
      let names = start;
      // What was freed by one step is held during the next, and forgotten by the one after that.
      let reserved = NOTHING;
      for (let step = 0; step < 12; step++) {
        const after = finalizeNames(document, names, reserved, String(100 + step));
        const entities = buildEntities(document, '', after);
        const tables = [...entities.values()].map(({ table }) => table.name);
        assert.equal(new Set(tables).size, tables.length);
        for (const { fields } of entities.values()) {
          const own = [...fields.values()].map((field) => field.column);
          assert.equal(new Set(own).size, own.length);
        }
        const before = buildEntities(document, '', names);
        for (const key of findReleasedKeys(entities, before)) assert.ok(!reserved.has(key), `${key} is given too soon`);
        reserved = new Set(findReleasedKeys(before, entities));
        names = after;
      }
      assert.deepEqual({ ...names, constraints: undefined }, { ...NO_NAMES, constraints: undefined });
      assert.deepEqual(checksOf(names), checksOf(start));
    },
  );
  fc.assert(property, { numRuns: 500 });
});
