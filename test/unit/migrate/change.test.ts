import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Change, changeOf } from '../../../src/migrate/change.ts';
import type { Operation } from '../../../src/migrate/operation.ts';
import { parseExact } from '../../../src/model/exact-json.ts';
import { parseSchemaDocument } from '../../../src/model/schema-document.ts';
import type { SchemaDocument } from '../../../src/model/schema-format.ts';
import { shop } from './shop-document.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests change JSON freely
type Json = any;

/** What a change of the shop's JSON asks for; `empty` names entities without records. */
function changeShop(change: (json: Json) => void, empty: readonly string[] = [], inForce = shop()): Change {
  const json = parseExact(JSON.stringify(inForce));
  change(json);
  const result = parseSchemaDocument(json, inForce);
  assert.ok(result.ok, JSON.stringify(result));
  const { document: asked, renames } = result;
  return changeOf({ inForce, asked, renames, databaseSchema: 'ws1', empty: new Set(empty) });
}

function operationsOf(change: Change): readonly Operation[] {
  assert.ok(change.ok, JSON.stringify(change));
  return change.operations;
}

/** `phase text`, as the runner would send it. */
const statements = (operation: Operation): string[] =>
  operation.statements.map(
    ({ phase, sql, within }) => `${phase}${within === 'transaction' ? '' : ` ${within}`}: ${sql.text}`,
  );

const summary = (change: Change): string[] =>
  operationsOf(change).map(({ kind, entity, destructive }) => `${kind} ${entity}${destructive ? ' destructive' : ''}`);

const refusals = (change: Change): string[] => {
  assert.ok(!change.ok, 'the change should be refused');
  return change.details.map(({ field, code }) => `${field} ${code}`);
};

test('the same document is no change', () => {
  assert.deepEqual(summary(changeShop(() => undefined)), []);
});

test('the same bounds in other words are no change', () => {
  const change = changeShop((json) => {
    json.entities.orders.fields.total.min = '0.00';
    json.entities.orders.fields.status.required = false;
    json.entities.customers.fields.since.min = '2000-01-01';
  });
  assert.deepEqual(summary(change), []);
});

test('a new entity comes with its table, and locks what it refers to', () => {
  const change = changeShop((json) => {
    json.entities.notes = {
      fields: { text: { type: 'text' } },
      relations: { order: { kind: 'belongsTo', entity: 'orders' }, about: { kind: 'belongsTo', entity: 'notes' } },
    };
  });
  const [operation] = operationsOf(change) as [Operation];
  assert.deepEqual(summary(change), ['createEntity notes']);
  assert.deepEqual(
    operation.statements.map(({ phase }) => phase),
    ['create', 'link', 'link', 'link', 'link'],
  );
  assert.deepEqual(operation.locks, [{ table: 'orders', mode: 'share row exclusive' }]);
  assert.deepEqual(operation.makes, [{ kind: 'table', table: 'notes' }]);
});

test('dropping entities lets go of what they refer to before the tables go', () => {
  const change = changeShop((json) => {
    delete json.entities.orderTags;
    delete json.entities.tags;
    delete json.entities.orders.relations.tags;
    json.entities.orders.settings = {};
  });
  assert.deepEqual(summary(change), [
    'dropRelation orders destructive',
    'changeSettings orders',
    'dropEntity tags destructive',
    'dropEntity orderTags destructive',
  ]);
  assert.deepEqual(statements(operationsOf(change)[3] as Operation), [
    'detach: alter table "ws1"."orderTags" drop constraint if exists "orderTags$orderId$fk"',
    'detach: alter table "ws1"."orderTags" drop constraint if exists "orderTags$tagId$fk"',
    'drop: drop table "ws1"."orderTags"',
  ]);
});

test('a new field of an entity with records is checked without blocking anybody', () => {
  const change = changeShop((json) => {
    json.entities.tags.fields.colour = { type: 'enum', values: ['red'], required: true, default: 'red' };
  });
  const [operation] = operationsOf(change) as [Operation];
  assert.deepEqual(statements(operation), [
    `column: alter table "ws1"."tags" add column "colour" text collate "und-x-icu" default 'red'::text not null, add constraint "tags$colour$ck_enum" check ("colour" in ('red')) not valid`,
    'build own: alter table "ws1"."tags" validate constraint "tags$colour$ck_enum"',
  ]);
  assert.equal(operation.obstacle, null);
  assert.equal(operation.ahead, true);
});

test('on an entity without records everything is done at once', () => {
  const change = changeShop(
    (json) => {
      json.entities.tags.fields.colour = { type: 'enum', values: ['red'], required: true, unique: true };
    },
    ['tags'],
  );
  const [field, unique] = operationsOf(change) as [Operation, Operation];
  assert.deepEqual(statements(field), [
    `column: alter table "ws1"."tags" add column "colour" text collate "und-x-icu" not null, add constraint "tags$colour$ck_enum" check ("colour" in ('red'))`,
  ]);
  assert.deepEqual(statements(unique), [
    'build: alter table "ws1"."tags" add constraint "tags$colour$uq" unique ("colour")',
  ]);
  assert.equal(field.ahead, false);
});

test('a required field without default is in the way of every record', () => {
  const [operation] = operationsOf(
    changeShop((json) => {
      json.entities.tags.fields.colour = { type: 'string', required: true };
    }),
  ) as [Operation];
  assert.equal(operation.obstacle?.field, 'colour');
  assert.equal(operation.obstacle?.known, true);
  assert.equal(
    operation.obstacle?.query.text,
    'select count(*) as count, array(select id from "ws1"."tags" order by id limit 10) as ids from "ws1"."tags"',
  );
});

test('a generated value for each record writes the table anew, and says so', () => {
  const add = (of: Json) => (json: Json) => {
    json.entities.tags.fields.token = of;
  };
  const generated = { type: 'uuid', default: 'uuid' };
  const [full] = operationsOf(changeShop(add(generated))) as [Operation];
  assert.deepEqual([full.blocksReads, full.blocksWrites, full.work], [true, true, 'rewrite']);
  const [empty] = operationsOf(changeShop(add(generated), ['tags'])) as [Operation];
  assert.deepEqual([empty.blocksReads, empty.blocksWrites, empty.work], [false, false, 'none']);
  const [now] = operationsOf(changeShop(add({ type: 'datetime', default: 'now' }))) as [Operation];
  assert.deepEqual([now.blocksReads, now.blocksWrites, now.work], [false, false, 'none']);
});

test('a new belongsTo brings its column, its foreign key and its index', () => {
  const change = changeShop((json) => {
    json.entities.tags.relations = { owner: { kind: 'belongsTo', entity: 'customers', onDelete: 'setNull' } };
  });
  assert.deepEqual(operationsOf(change).flatMap(statements), [
    'column: alter table "ws1"."tags" add column "ownerId" int8 constraint "tags$ownerId$fk" references "ws1"."customers" ("id") on delete set null deferrable',
    'build none: create index concurrently "tags$ownerId$ix" on "ws1"."tags" ("ownerId")',
  ]);
  assert.deepEqual(operationsOf(change)[0]?.locks, [
    { table: 'tags', mode: 'access exclusive' },
    { table: 'customers', mode: 'share row exclusive' },
  ]);
});

test('timestamps come and go as fields', () => {
  const add = changeShop((json) => {
    json.entities.tags.timestamps = true;
  });
  assert.deepEqual(summary(add), ['addField tags', 'addField tags']);
  const drop = changeShop((json) => {
    json.entities.customers.timestamps = false;
  });
  assert.deepEqual(summary(drop), ['dropField customers destructive', 'dropField customers destructive']);
  assert.equal(operationsOf(drop)[0]?.path, 'entities.customers.timestamps');
});

test('unique on a field with records is built aside, then attached', () => {
  const change = changeShop((json) => {
    json.entities.tags.fields.label.unique = true;
  });
  const [operation] = operationsOf(change) as [Operation];
  assert.deepEqual(statements(operation), [
    'build none: create unique index concurrently "tags$label$uq" on "ws1"."tags" ("label")',
    'attach: alter table "ws1"."tags" add constraint "tags$label$uq" unique using index "tags$label$uq"',
  ]);
  assert.equal(
    operation.obstacle?.query.text,
    `with standing as (
  select id from "ws1"."tags" where ("label") in (
    select "label" from "ws1"."tags" group by "label" having count(*) > 1
  )
)
select (select count(*) from standing) as count, array(select id from standing order by id limit 10) as ids`,
  );
});

test('a unique key makes its plain index superfluous, and the other way round', () => {
  const unique = changeShop((json) => {
    json.entities.orders.relations.parent.unique = true;
  });
  assert.deepEqual(operationsOf(unique).flatMap(statements), [
    'build none: create unique index concurrently "orders$parentOrder$uq" on "ws1"."orders" ("parentOrder")',
    'attach: alter table "ws1"."orders" add constraint "orders$parentOrder$uq" unique using index "orders$parentOrder$uq"',
    'detach: drop index if exists "ws1"."orders$parentOrder$ix"',
  ]);
  const plain = changeShop((json) => {
    json.entities.passports.relations.holder.unique = false;
    delete json.entities.customers.relations.passport;
  });
  assert.deepEqual(summary(plain), [
    'dropRelation customers destructive',
    'addIndex passports',
    'dropUnique passports',
  ]);
});

test('a row rule brings the index on its column', () => {
  const change = changeShop((json) => {
    json.entities.orders.rowRules.push({ column: 'total', claim: 'total' });
  });
  assert.deepEqual(summary(change), ['addIndex orders', 'changeRowRules orders']);
});

test('an index goes with its field, without a step of its own', () => {
  const change = changeShop((json) => {
    delete json.entities.customers.fields.country;
    delete json.entities.customers.fields.email;
  });
  assert.deepEqual(summary(change), ['dropField customers destructive', 'dropField customers destructive']);
});

test('defaults, descriptions, settings and relations without a column take no look at records', () => {
  const change = changeShop((json) => {
    json.entities.customers.description = 'Whoever buys';
    json.entities.customers.fields.country.default = 'Chile';
    json.entities.orders.settings.maxExpandDepth = 2;
    json.entities.tags.relations = {
      orders: { kind: 'manyToMany', entity: 'orders', through: 'orderTags', from: 'tag', to: 'order' },
    };
    json.entities.customers.relations.purchases = json.entities.customers.relations.orders;
  });
  assert.deepEqual(summary(change), [
    'setDefault customers',
    'addRelation customers',
    'changeDescription customers',
    'changeSettings orders',
    'addRelation tags',
  ]);
  assert.ok(operationsOf(change).every((operation) => operation.work === 'none' && operation.obstacle === null));
});

const O = 'entities.orders';
const UNSUPPORTED: readonly [string, (json: Json) => void, string[]][] = [
  ['a type', (json) => (json.entities.orders.fields.placedAt.type = 'date'), [`${O}.fields.placedAt.type`]],
  ['required', (json) => (json.entities.orders.fields.status.required = true), [`${O}.fields.status.required`]],
  ['values', (json) => json.entities.orders.fields.status.values.push('x'), [`${O}.fields.status.values`]],
  [
    'precision and scale',
    (json) => Object.assign(json.entities.orders.fields.total, { precision: 13, scale: 3 }),
    [`${O}.fields.total.precision`, `${O}.fields.total.scale`],
  ],
  ['a bound', (json) => (json.entities.orders.fields.total.max = 100), [`${O}.fields.total.max`]],
  [
    'a length',
    (json) => (json.entities.customers.fields.name.maxLength = 9),
    ['entities.customers.fields.name.maxLength'],
  ],
  [
    'the target of a relation',
    (json) => (json.entities.orders.relations.parent.entity = 'tags'),
    [`${O}.relations.parent.entity`],
  ],
  [
    'onDelete',
    (json) => (json.entities.orders.relations.parent.onDelete = 'cascade'),
    [`${O}.relations.parent.onDelete`],
  ],
  [
    'required of a relation',
    (json) => (json.entities.orders.relations.customer.required = false),
    [`${O}.relations.customer.required`],
  ],
  [
    'the field of a relation',
    (json) => (json.entities.orders.relations.parent.column = 'over'),
    [`${O}.relations.parent.column`],
  ],
  [
    'a field into a relation',
    (json) => {
      delete json.entities.orders.fields.placedAt;
      json.entities.orders.indexes = [];
      json.entities.orders.relations.placed = { kind: 'belongsTo', entity: 'tags', column: 'placedAt' };
    },
    [`${O}.relations.placed`],
  ],
];
for (const [what, change, fields] of UNSUPPORTED) {
  test(`changing ${what} is refused by name for now`, () => {
    assert.deepEqual(
      refusals(changeShop(change)),
      fields.map((field) => `${field} UNSUPPORTED_CHANGE`),
    );
  });
}

test('renaming is refused by name for now, and nothing is dropped for it', () => {
  const inForce = {
    entities: {
      a: { fields: { x: { type: 'string' } }, relations: { b: { kind: 'belongsTo', entity: 'b' } } },
      b: { relations: { as: { kind: 'hasMany', entity: 'a', inverse: 'b' } } },
    },
  } satisfies SchemaDocument;
  const change = changeShop(
    (json) => {
      json.entities = {
        a: {
          fields: { y: { type: 'string', renamedFrom: 'x' } },
          relations: { c: { kind: 'belongsTo', entity: 'd', renamedFrom: 'b' } },
        },
        d: { renamedFrom: 'b', relations: { all: { kind: 'hasMany', entity: 'a', inverse: 'c', renamedFrom: 'as' } } },
      };
    },
    [],
    inForce,
  );
  assert.deepEqual(refusals(change), [
    'entities.a.fields.y.renamedFrom UNSUPPORTED_CHANGE',
    'entities.a.relations.c.renamedFrom UNSUPPORTED_CHANGE',
    'entities.d.renamedFrom UNSUPPORTED_CHANGE',
  ]);
});
