// What the nodes of a Citus cluster ask of the statements of schema changes, held on any PostgreSQL: one statement a text,
// one change a statement, no renamed constraint, nothing volatile in an update and nothing stable outside of a query of its own, nothing outside of the workspace in functions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addKeys, createBareTable, createTables, rename } from '../../../src/migrations/ddl.ts';
import { diffDocuments } from '../../../src/migrations/diff.ts';
import { findRenamings } from '../../../src/migrations/names.ts';
import type { Operation, OperationKind, Statement } from '../../../src/migrations/operation.ts';
import { parseExact } from '../../../src/model/exact-json.ts';
import { NO_NAMES } from '../../../src/model/physical-name.ts';
import { parseSchemaDocument } from '../../../src/schema/document.ts';
import { buildTables } from '../../../src/schema/tables.ts';
import { shop } from './exact-shop.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests change JSON freely
type Json = any;

/** What makes each kind of operation of the shop. */
const KINDS: Readonly<Record<Exclude<OperationKind, 'keepChanges' | 'dropChanges'>, (json: Json) => void>> = {
  createEntity: ({ entities }) => {
    entities.notes = {
      fields: { text: { type: 'text', searchable: true, maxLength: 9, index: 'substring' } },
      relations: { order: { kind: 'belongsTo', entity: 'orders' }, about: { kind: 'belongsTo', entity: 'notes' } },
    };
  },
  dropEntity: ({ entities }) => {
    delete entities.orderTags;
    delete entities.tags;
    delete entities.orders.relations.tags;
  },
  addField({ entities }) {
    entities.tags.fields.colour = { type: 'enum', values: ['red'], required: true, default: 'red', unique: true };
    entities.tags.fields.token = { type: 'uuid', default: 'uuid', required: true };
    entities.tags.fields.size = { type: 'integer', min: 1, max: 9 };
    entities.tags.timestamps = true;
  },
  dropField: ({ entities }) => delete entities.customers.fields.country,
  addRelation({ entities }) {
    entities.tags.relations = { owner: { kind: 'belongsTo', entity: 'customers', onDelete: 'setNull' } };
  },
  dropRelation({ entities }) {
    delete entities.orders.relations.parent;
    delete entities.orders.relations.children;
  },
  changeRelation: ({ entities }) => {
    entities.orders.relations.parent.onDelete = 'cascade';
  },
  renameEntity({ entities }) {
    entities.labels = { ...entities.tags, renamedFrom: 'tags' };
    delete entities.tags;
    entities.orders.relations.tags.entity = 'labels';
    entities.orderTags.relations.tag.entity = 'labels';
  },
  renameField({ entities }) {
    entities.orders.fields.sum = { ...entities.orders.fields.total, renamedFrom: 'total' };
    delete entities.orders.fields.total;
  },
  renameRelation({ entities }) {
    entities.orders.relations.above = { ...entities.orders.relations.parent, renamedFrom: 'parent' };
    delete entities.orders.relations.parent;
    delete entities.orders.relations.children;
  },
  changeType({ entities }) {
    entities.orders.fields.placedAt = { type: 'date', required: true, default: 'now', min: '2000-01-01' };
    entities.orders.fields.total.type = 'string';
    delete entities.orders.fields.total.min;
    delete entities.orders.fields.total.max;
    delete entities.orders.fields.total.precision;
    delete entities.orders.fields.total.scale;
    entities.orders.fields.total.maxLength = 99;
  },
  setRequired: ({ entities }) => {
    entities.orders.fields.status.required = true;
  },
  liftRequired: ({ entities }) => {
    entities.tags.fields.name.required = false;
  },
  addCheck: ({ entities }) => {
    entities.customers.fields.country.maxLength = 99;
  },
  changeCheck: ({ entities }) => {
    entities.orders.fields.total.max = '77';
  },
  dropCheck: ({ entities }) => delete entities.customers.fields.weight.max,
  addIndex: ({ entities }) => {
    entities.customers.fields.country.index = true;
    entities.customers.fields.country.searchable = true;
  },
  dropIndex: ({ entities }) => delete entities.orders.indexes,
  addUnique: ({ entities }) => {
    entities.tags.fields.name.unique = true;
  },
  dropUnique: ({ entities }) => delete entities.customers.fields.email.unique,
  setDefault: ({ entities }) => {
    entities.customers.fields.country.default = 'Chile';
  },
  changeDescription: ({ entities }) => {
    entities.customers.description = 'Whoever buys';
  },
  changeSettings: ({ entities }) => {
    entities.orders.settings.maxExpandDepth = 2;
  },
  changeRowRules: ({ entities }) => entities.orders.rowRules.push({ column: 'total', claim: 'total' }),
  changeGrants: ({ entities }) => {
    entities.orders.grants = [{ can: ['read'] }];
  },
  changeRoles(json) {
    json.roles = ['agent'];
  },
};

const STRIPE = { after: '0', last: '9', stripe: 0 } as const;

const textsOf = (statement: Statement): readonly string[] =>
  statement.within === 'batches'
    ? [statement.batch.next('0', 9).text, statement.batch.fill(STRIPE).text]
    : [statement.sql.text];

/** Of migrations, and of what takes them back. */
function operationsOf(change: (json: Json) => void, strategy: 'online' | 'blocking', empty: readonly string[]) {
  const inForce = shop();
  const json = parseExact(JSON.stringify(inForce)) as Json;
  if (change !== KINDS.changeSettings) json.entities.orders.settings = {};
  change(json);
  const parsed = parseSchemaDocument(json, inForce);
  assert.ok(parsed.ok, JSON.stringify(parsed));
  const changed = diffDocuments({
    inForce,
    names: NO_NAMES,
    requested: parsed.document,
    renames: parsed.renames,
    databaseSchema: 'ws1_shop',
    empty: new Set(empty),
    strategy,
    reserved: new Set(),
    change: '7',
    extensions: { trigrams: 'wda' },
  });
  assert.ok(changed.ok, JSON.stringify(changed));
  return changed.operations;
}

/** The statement without what stands in quotes, and how deep each comma is in brackets. */
function bare(text: string): string {
  return text.replaceAll(/"[^"]*"|'[^']*'/g, '_');
}

function commasOutside(text: string): number {
  let depth = 0;
  let commas = 0;
  for (const character of bare(text)) {
    if (character === '(') depth++;
    else if (character === ')') depth--;
    else if (character === ',' && depth === 0) commas++;
  }
  return commas;
}

function assertFitForNodes(text: string): void {
  assert.doesNotMatch(bare(text), /;/, `more than one statement: ${text}`);
  assert.doesNotMatch(text, /rename constraint/, text);
  if (/^alter table/.test(text)) assert.equal(commasOutside(text), 0, `more than one change: ${text}`);
  if (/\bupdate\b[\s\S]*\bset\b/.test(bare(text))) {
    assert.doesNotMatch(text, /gen_random_uuid|now\(\)|random\(|clock_/, text);
    assert.match(bare(text), /\bset _ = \(select /, `a function that is not immutable would be refused: ${text}`);
  }
  if (/^create (or replace )?(function|trigger)/.test(text)) assert.doesNotMatch(text, /\bwda\b/, text);
}

const texts = (operations: readonly Operation[]): readonly string[] =>
  operations.flatMap(({ statements, temporaryObjects: makes }) => [
    ...statements.flatMap(textsOf),
    ...makes.flatMap((made) => (made.kind === 'default' ? [made.undo] : [])),
  ]);

for (const [kind, change] of Object.entries(KINDS)) {
  test(`the nodes of a cluster take the statements of ${kind}`, () => {
    const everything = Object.keys(shop().entities);
    const ways = [
      operationsOf(change, 'online', []),
      operationsOf(change, 'blocking', []),
      operationsOf(change, 'online', everything),
    ];
    for (const operations of ways) {
      assert.ok(
        operations.some((operation) => operation.kind === kind),
        operations.map((operation) => operation.kind).join(),
      );
      for (const text of texts(operations)) assertFitForNodes(text);
    }
  });
}

test('the nodes of a cluster take the statements of new and restored workspaces, and of tables that get their own names', () => {
  const document = shop();
  const tables = [...buildTables(document, 'ws1_shop').values()];
  const before = { tables: { orders: 'was' }, columns: { customers: { email: 'old', name: 'called' } } };
  const all = [
    ...createTables(tables, { trigrams: 'wda' }),
    ...tables.map(createBareTable),
    ...tables.flatMap(addKeys),
    ...findRenamings(document, 'ws1_shop', before, NO_NAMES).flatMap(({ table, renamings }) =>
      renamings.map((renaming) => rename({ schema: 'ws1_shop', name: table }, renaming)),
    ),
  ];
  for (const { text } of all) assertFitForNodes(text);
});

test('what the nodes of a cluster refuse is found', () => {
  for (const text of [
    'select 1; select 2',
    'alter table "a" rename constraint "b" to "c"',
    'alter table "a" add column "b" int4, add column "c" numeric(1, 2)',
    'update "a" set "b" = (select gen_random_uuid())',
    'update "a" set "b" = to_jsonb("c")',
    'create function "ws"."f"() returns int language sql as \'select from wda.workspace\'',
  ]) {
    assert.throws(() => assertFitForNodes(text), assert.AssertionError, text);
  }
});
