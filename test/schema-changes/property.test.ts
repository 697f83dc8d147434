// However a schema came about, its tables are the same: changed from another document, with and without records, or
// created anew, online or at once. And a change that failed has left nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseSchemaDocument } from '../../src/schema/document.ts';
import { assertTidy, freshShape, type Json, shapeOf } from '../support/migration.ts';
import { prepare, useServer } from '../support/resources.ts';
import { ADMIN_KEY, type Answer } from '../support/server.ts';

let count = 0;
const server = useServer();
prepare(() => admin('POST', '/organizations', { slug: 'any' }));

const admin = (method: string, path: string, body?: unknown): Promise<Answer> =>
  server.call(`/api/admin/v1${path}`, { credential: ADMIN_KEY, method, ...(body === undefined ? {} : { body }) });

/** Fields by type with what may go wrong in SQL: quotes, ends of ranges, generated defaults. */
const FIELDS: readonly Json[] = [
  { type: 'string', maxLength: 10, default: "q'\\$1" },
  { type: 'text' },
  { type: 'integer', min: -5, max: '2147483647', default: 6 },
  { type: 'bigint', min: '-9223372036854775808', default: '9223372036854775807' },
  { type: 'decimal', precision: 12, scale: 1, default: 0.5 },
  { type: 'decimal', min: `0.${'1'.repeat(50)}` },
  { type: 'float', min: 5e-324, max: 1.7e308 },
  { type: 'boolean', default: true },
  { type: 'date', min: '0001-01-01', max: '9999-12-31', default: 'now' },
  { type: 'datetime', max: '9999-12-31T23:59:59.999Z', default: '2020-02-29T00:00:00+05:30' },
  { type: 'uuid', default: 'uuid' },
  { type: 'json', default: { a: "it's \\ \u2028" } },
  { type: 'enum', values: ['a', "it's", '\\', 'ü,"'], default: '\\' },
];
const field = fc
  .record({ of: fc.constantFrom(...FIELDS), required: fc.boolean(), unique: fc.boolean(), index: fc.boolean() })
  .map(({ of, required, unique, index }) => ({ ...of, required, ...(of.type === 'json' ? {} : { unique, index }) }));
const entity = fc.record({
  fields: fc.dictionary(fc.constantFrom('f', 'g', 'toString'), field, { maxKeys: 3 }),
  keys: fc.dictionary(
    fc.constantFrom('r', 's'),
    fc.record({
      entity: fc.constantFrom('a', 'b', 'constructor'),
      required: fc.boolean(),
      unique: fc.boolean(),
      onDelete: fc.constantFrom('restrict', 'cascade'),
    }),
    { maxKeys: 2 },
  ),
  timestamps: fc.boolean(),
  index: fc.uniqueArray(fc.constantFrom('f', 'g', 'rId', 'createdAt'), { maxLength: 3 }),
  unique: fc.boolean(),
  rule: fc.constantFrom('f', 'rId'),
});
const documents = fc
  .dictionary(fc.constantFrom('a', 'b', 'constructor'), entity, { minKeys: 1, maxKeys: 3 })
  .map((made) => {
    const entities: Json = {};
    for (const [name, { fields, keys, timestamps, index, unique, rule }] of Object.entries(made)) {
      const relations = Object.fromEntries(
        Object.entries(keys)
          .filter(([, key]) => Object.hasOwn(made, key.entity))
          .map(([relation, key]) => [relation, { kind: 'belongsTo', ...key }]),
      );
      const columns = [
        ...Object.keys(fields).filter((one) => fields[one].type !== 'json'),
        ...Object.keys(relations).map((one) => `${one}Id`),
        ...(timestamps ? ['createdAt'] : []),
      ];
      const indexed = index.filter((column) => columns.includes(column));
      entities[name] = {
        fields,
        relations,
        timestamps,
        indexes: indexed.length === 0 ? [] : [{ fields: indexed, unique }],
        rowRules: columns.includes(rule) ? [{ column: rule, claim: 'sub' }] : [],
      };
    }
    return { entities };
  });

// At once, a change of filled tables waits a second before it begins.
const strategy = fc.constantFrom('online', 'online', 'online', 'blocking');

test('a changed schema is the same as a created one, and a failed change is none', async () => {
  const seen = { succeeded: 0, failed: 0, unsupported: 0 };
  await fc.assert(
    fc.asyncProperty(documents, documents, fc.boolean(), strategy, async (from, to, withRecords, strategy) => {
      fc.pre(parseSchemaDocument(from).ok && parseSchemaDocument(to).ok);
      const slug = `w${++count}`;
      const path = `/organizations/any/workspaces/${slug}`;
      const made = await admin('POST', '/organizations/any/workspaces', { slug, schema: from });
      assert.equal(made.status, 201, made.text);
      if (withRecords) {
        for (const name of Object.keys(from.entities)) {
          // Not every entity can have a record without values.
          await server.call(`/api/v1/any/${slug}/${name}`, { method: 'POST', credential: ADMIN_KEY, body: {} });
        }
      }
      const answer = await admin('PUT', `${path}/schema?allowDestructive=true&wait=60&strategy=${strategy}`, to);
      if (answer.status === 400) {
        seen.unsupported++;
        for (const { code } of answer.json.error.details) assert.equal(code, 'UNSUPPORTED_CHANGE', answer.text);
      } else {
        const { state, error } = answer.json.data;
        assert.ok(state === 'succeeded' || (state === 'failed' && error.code === 'DATA_CONFLICT'), answer.text);
        seen[state as 'succeeded' | 'failed']++;
        assert.deepEqual(
          await shapeOf(server.database, slug),
          await freshShape(server, state === 'succeeded' ? to : from),
        );
        await assertTidy(server, slug);
      }
      await admin('DELETE', `${path}?confirm=${slug}`);
    }),
    { numRuns: 40 },
  );
  assert.ok(seen.succeeded > 5, JSON.stringify(seen));
});
