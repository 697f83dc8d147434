// Whatever JSON comes as a schema document: it is refused with reasons, or it becomes tables.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createTables } from '../../../src/migrations/ddl.ts';
import { diffDocuments } from '../../../src/migrations/diff.ts';
import { parseExact } from '../../../src/model/exact-json.ts';
import { NO_NAMES } from '../../../src/model/physical-name.ts';
import { parseSchemaDocument } from '../../../src/schema/document.ts';
import { EMPTY_DOCUMENT } from '../../../src/schema/format.ts';
import type { Renames } from '../../../src/schema/renames.ts';
import { buildTables } from '../../../src/schema/tables.ts';
import { script } from '../../../src/sql/fragment.ts';
import { SHOP_TEXT, shop } from '../migrations/exact-shop.ts';

const NO_RENAMES: Renames = { entities: new Map(), fields: new Map(), relations: new Map() };

function pathsOf(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, member]) => pathsOf(member, [...path, key]))];
}

const PATHS = pathsOf(JSON.parse(SHOP_TEXT));
// Values that are right somewhere, so that many of the documents get past the check of their shape.
const WORDS = [
  ...new Set(PATHS.flat()),
  'id',
  'customerId',
  'now',
  'uuid',
  'string',
  'json',
  'belongsTo',
  'xmin',
  '__proto__',
];
const junk = fc.oneof(
  fc.constantFrom<unknown>(
    ...WORDS,
    0,
    1,
    2.5,
    -1,
    1e300,
    '',
    null,
    true,
    false,
    [],
    {},
    [[]],
    '9'.repeat(40),
    '\u0000',
  ),
  fc.jsonValue(),
  fc.constantFrom(...PATHS).map((path) => at(JSON.parse(SHOP_TEXT), path)),
);

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((parent, key) => (parent as Record<string, unknown>)[key], value);
}

function isOpen(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Object.isFrozen(value);
}

/** The shop with values replaced, added or taken away. */
const documents = fc
  .array(fc.record({ path: fc.constantFrom(...PATHS), key: fc.constantFrom(...WORDS), value: junk, how: fc.nat(2) }), {
    minLength: 1,
    maxLength: 4,
  })
  .map((changes) => {
    const root = { document: parseExact(SHOP_TEXT) };
    for (const { path, key, value, how } of changes) {
      const full = ['document', ...path, ...(how === 0 ? [key] : [])];
      let parent: unknown = root;
      for (const part of full.slice(0, -1))
        parent = isOpen(parent) && Object.hasOwn(parent, part) ? parent[part] : undefined;
      const last = full.at(-1) as string;
      if (!isOpen(parent)) continue;
      if (how === 2) delete parent[last];
      // As JSON.parse does: __proto__ becomes a member like any other.
      else
        Object.defineProperty(parent, last, {
          value: structuredClone(value),
          enumerable: true,
          configurable: true,
          writable: true,
        });
    }
    return root.document;
  });

const REST = {
  names: NO_NAMES,
  databaseSchema: 'ws',
  empty: new Set<string>(),
  reserved: new Set<string>(),
  change: '7',
  extensions: { trigrams: 'wda' },
} as const;

test('a document is refused with reasons or becomes tables, and is the same change back', () => {
  let taken = 0;
  fc.assert(
    fc.property(documents, (document) => {
      const result = parseSchemaDocument(document, shop());
      if (!result.ok) {
        assert.ok(result.details.length > 0);
        for (const { field, message } of result.details) assert.ok((field === null || field !== '') && message !== '');
        return;
      }
      taken++;
      const tables = [...buildTables(result.document, 'ws').values()];
      assert.ok(script(createTables(tables, { trigrams: 'wda' })).length > 0 || tables.length === 0);
      const text = JSON.stringify(result.document);
      const again = parseSchemaDocument(parseExact(text), result.document);
      assert.ok(again.ok);
      assert.equal(JSON.stringify(again.document), text);
      for (const [inForce, asked] of [
        [EMPTY_DOCUMENT, result.document],
        [result.document, shop()],
        [shop(), result.document],
      ] as const) {
        for (const strategy of ['online', 'blocking'] as const) {
          diffDocuments({ inForce, requested: asked, renames: NO_RENAMES, strategy, ...REST });
        }
      }
      const none = diffDocuments({
        inForce: result.document,
        requested: again.document,
        renames: again.renames,
        strategy: 'online',
        ...REST,
      });
      assert.deepEqual(none, { ok: true, operations: [], names: NO_NAMES });
    }),
    { numRuns: 1500 },
  );
  assert.ok(taken > 50, `only ${taken} of the documents were taken`);
});
