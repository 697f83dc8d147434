import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lockTable } from '../../../src/database/transaction.ts';
import {
  addCheck,
  addColumn,
  addReference,
  addUnique,
  attachUnique,
  createIndexConcurrently,
  createSchema,
  createTables,
  dropColumn,
  dropConstraint,
  dropIndex,
  dropIndexConcurrently,
  dropSchema,
  dropTable,
  prepareIndex,
  setDefault,
  validateConstraint,
} from '../../../src/migrations/ddl.ts';
import type { Field } from '../../../src/model/entity.ts';
import { buildTables, type Index, type Table } from '../../../src/schema/tables.ts';
import { script, tableRef } from '../../../src/sql/fragment.ts';
import { shop } from './exact-shop.ts';

const EXTENSIONS = { trigrams: 'extensions' };
const tables = buildTables(shop(), 'ws1_shop');
const table = (name: string): Table => tables.get(name) as Table;
const column = (of: string, name: string): Field => table(of).columns.get(name) as Field;
const index = (of: string, name: string): Index => table(of).indexes.get(name) as Index;

test('a document becomes tables, then indexes and references', () => {
  assert.equal(script(createTables([...tables.values()], EXTENSIONS)), SHOP);
});

test('DDL never has bound values: PostgreSQL takes none there', () => {
  for (const statement of createTables([...tables.values()], EXTENSIONS)) assert.deepEqual(statement.values, []);
});

const searched = (): ReadonlyMap<string, Index> => {
  const field = { type: 'text', searchable: true, index: 'substring' } as const;
  const document = {
    a: { fields: { x: field } },
    b: { fields: { x: field, y: { ...field, index: false } }, searchLanguage: 'german' },
  };
  return new Map([...buildTables({ entities: document }, 'ws1').values()].flatMap(({ indexes }) => [...indexes]));
};

const TEXT_INDEXES: readonly [string, string, string][] = [
  ['a$x$words', `using gin (to_tsvector('"simple"'::regconfig, "ws1"."$words"("x")))`, "select wda.use_words('ws1')"],
  [
    'b$x$y$$german$words',
    `using gin (to_tsvector('"german"'::regconfig, "ws1"."$words"(coalesce("x", '') || ' ' || coalesce("y", ''))))`,
    "select wda.use_words('ws1')",
  ],
  [
    'b$x$parts',
    'using gin ((upper(lower("x" collate "und-x-icu"))) "extensions".gin_trgm_ops)',
    "select wda.use_extension('pg_trgm')",
  ],
];
for (const [name, expected, ready] of TEXT_INDEXES) {
  test(`the index ${name}`, () => {
    const of = searched().get(name) as Index;
    const { text } = createIndexConcurrently({ schema: 'ws1', name: 't' }, of, EXTENSIONS);
    assert.equal(text, `create index concurrently "${name}" on "ws1"."t" ${expected}`);
    assert.deepEqual(
      prepareIndex({ schema: 'ws1', name: 't' }, of).map((statement) => statement.text),
      [ready],
    );
  });
}

const STATEMENTS: readonly [{ readonly text: string }, string][] = [
  [createSchema('ws1_shop'), 'create schema "ws1_shop"'],
  [dropSchema('ws1_shop'), 'drop schema if exists "ws1_shop" cascade'],
  [tableRef({ schema: 'ws1_a"b', name: 'select' }), '"ws1_a""b"."select"'],
  [dropTable(table('tags')), 'drop table "ws1_shop"."tags"'],
  [dropColumn(table('tags'), 'name'), 'alter table if exists "ws1_shop"."tags" drop column if exists "name"'],
  [dropConstraint(table('tags'), 'x'), 'alter table if exists "ws1_shop"."tags" drop constraint if exists "x"'],
  [validateConstraint(table('tags'), 'x'), 'alter table "ws1_shop"."tags" validate constraint "x"'],
  [dropIndex(table('tags'), 'x'), 'drop index if exists "ws1_shop"."x"'],
  [dropIndexConcurrently(table('tags'), 'x'), 'drop index concurrently if exists "ws1_shop"."x"'],
  [lockTable(table('tags'), 'share row exclusive'), 'lock table "ws1_shop"."tags" in share row exclusive mode'],
  [
    createIndexConcurrently(table('orders'), index('orders', 'orders$status$placedAt$ix'), EXTENSIONS),
    'create index concurrently "orders$status$placedAt$ix" on "ws1_shop"."orders" ("status", "placedAt")',
  ],
  [
    createIndexConcurrently(table('orderTags'), index('orderTags', 'orderTags$orderId$tagId$uq'), EXTENSIONS),
    'create unique index concurrently "orderTags$orderId$tagId$uq" on "ws1_shop"."orderTags" ("orderId", "tagId")',
  ],
  [
    attachUnique(table('orderTags'), 'orderTags$orderId$tagId$uq'),
    'alter table "ws1_shop"."orderTags" add constraint "orderTags$orderId$tagId$uq" unique using index "orderTags$orderId$tagId$uq"',
  ],
  [
    addUnique(table('customers'), index('customers', 'customers$email$uq')),
    'alter table "ws1_shop"."customers" add constraint "customers$email$uq" unique ("email")',
  ],
  [
    addReference(table('orders'), table('orders').references[0] as never),
    'alter table "ws1_shop"."orders" add constraint "orders$customerId$fk" foreign key ("customerId") references "ws1_shop"."customers" ("id") on delete no action deferrable',
  ],
  [
    addColumn(table('orders'), column('orders', 'parentOrder'), table('orders').references[1]),
    'alter table "ws1_shop"."orders" add column "parentOrder" int8 constraint "orders$parentOrder$fk" references "ws1_shop"."orders" ("id") on delete set null deferrable',
  ],
  [
    addColumn(table('customers'), column('customers', 'name')),
    'alter table "ws1_shop"."customers" add column "name" text collate "und-x-icu" not null',
  ],
  [
    addCheck(table('customers'), table('customers').checks[0] as never, false),
    'alter table "ws1_shop"."customers" add constraint "customers$name$ck_length" check (char_length("name") <= 40) not valid',
  ],
  [
    setDefault(table('orders'), column('orders', 'placedAt')),
    'alter table "ws1_shop"."orders" alter column "placedAt" set default now()',
  ],
  [
    setDefault(table('orders'), column('orders', 'total')),
    'alter table "ws1_shop"."orders" alter column "total" drop default',
  ],
];
for (const [statement, text] of STATEMENTS) {
  test(text, () => assert.equal(statement.text, text));
}

const SHOP = `create table "ws1_shop"."customers" (
  "id" bigint generated by default as identity (sequence name "ws1_shop"."customers$id$sequence$pk" maxvalue 9007199254740991),
  "name" text collate "und-x-icu" not null,
  "email" text collate "und-x-icu",
  "country" text collate "und-x-icu" default  E'it''s \\\\ here'::text,
  "points" int8 default '9007199254740993'::int8,
  "token" uuid default gen_random_uuid(),
  "since" date default (now() at time zone 'UTC')::date,
  "extra" jsonb default '{"rate":1.10}'::jsonb,
  "weight" float8,
  "active" bool default 'true'::bool,
  "createdAt" timestamptz(3) default now() not null,
  "updatedAt" timestamptz(3) default now() not null,
  constraint "customers$id$pk" primary key ("id"),
  constraint "customers$name$ck_length" check (char_length("name") <= 40),
  constraint "customers$points$ck_range" check ("points" >= '-9223372036854775808'::int8),
  constraint "customers$since$ck_range" check ("since" >= '2000-01-01'::date),
  constraint "customers$weight$ck_range" check ("weight" <= '1000'::float8),
  constraint "customers$email$uq" unique ("email")
);
create table "ws1_shop"."passports" (
  "id" bigint generated by default as identity (sequence name "ws1_shop"."passports$id$sequence$pk" maxvalue 9007199254740991),
  "number" text collate "und-x-icu" not null,
  "holderId" int8 not null,
  constraint "passports$id$pk" primary key ("id"),
  constraint "passports$holderId$uq" unique ("holderId")
);
create table "ws1_shop"."orders" (
  "id" bigint generated by default as identity (sequence name "ws1_shop"."orders$id$sequence$pk" maxvalue 9007199254740991),
  "status" text collate "und-x-icu" default 'open'::text,
  "total" numeric(12, 2),
  "placedAt" timestamptz(3) default now(),
  "customerId" int8 not null,
  "parentOrder" int8,
  constraint "orders$id$pk" primary key ("id"),
  constraint "orders$status$ck_enum" check ("status" in ('open', 'paid', 'it''s')),
  constraint "orders$total$ck_range" check ("total" >= '0'::numeric and "total" <= '99.5'::numeric)
);
create table "ws1_shop"."tags" (
  "id" bigint generated by default as identity (sequence name "ws1_shop"."tags$id$sequence$pk" maxvalue 9007199254740991),
  "name" text collate "und-x-icu" not null,
  constraint "tags$id$pk" primary key ("id")
);
create table "ws1_shop"."orderTags" (
  "id" bigint generated by default as identity (sequence name "ws1_shop"."orderTags$id$sequence$pk" maxvalue 9007199254740991),
  "orderId" int8 not null,
  "tagId" int8 not null,
  constraint "orderTags$id$pk" primary key ("id"),
  constraint "orderTags$orderId$tagId$uq" unique ("orderId", "tagId")
);
create index "customers$country$ix" on "ws1_shop"."customers" ("country");
alter table "ws1_shop"."passports" add constraint "passports$holderId$fk" foreign key ("holderId") references "ws1_shop"."customers" ("id") on delete cascade deferrable;
create index "orders$status$placedAt$ix" on "ws1_shop"."orders" ("status", "placedAt");
create index "orders$status$ix" on "ws1_shop"."orders" ("status");
create index "orders$customerId$ix" on "ws1_shop"."orders" ("customerId");
create index "orders$parentOrder$ix" on "ws1_shop"."orders" ("parentOrder");
alter table "ws1_shop"."orders" add constraint "orders$customerId$fk" foreign key ("customerId") references "ws1_shop"."customers" ("id") on delete no action deferrable;
alter table "ws1_shop"."orders" add constraint "orders$parentOrder$fk" foreign key ("parentOrder") references "ws1_shop"."orders" ("id") on delete set null deferrable;
create index "orderTags$orderId$ix" on "ws1_shop"."orderTags" ("orderId");
create index "orderTags$tagId$ix" on "ws1_shop"."orderTags" ("tagId");
alter table "ws1_shop"."orderTags" add constraint "orderTags$orderId$fk" foreign key ("orderId") references "ws1_shop"."orders" ("id") on delete cascade deferrable;
alter table "ws1_shop"."orderTags" add constraint "orderTags$tagId$fk" foreign key ("tagId") references "ws1_shop"."tags" ("id") on delete no action deferrable;
`;
