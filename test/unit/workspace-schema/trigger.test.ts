// Triggers of kept totals are known by their names: what is missing of them is made, and all fire always.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '../../../src/sql/fragment.ts';
import { totalTriggers } from '../../../src/workspace-schema/count.ts';
import {
  buildChanger,
  type InstalledTrigger,
  repairTriggers,
  selectInstalledTriggers,
} from '../../../src/workspace-schema/trigger.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

const THINGS = { schema: 'ws1_shop', name: 'things' };

const OWN = [
  'create trigger "$total_insert" after insert on "ws1_shop"."things" referencing new table as added for each statement execute function "ws1_shop"."$count_records_ws1"()',
  'create trigger "$total_delete" after delete on "ws1_shop"."things" referencing old table as removed for each statement execute function "ws1_shop"."$count_records_ws1"()',
  'create trigger "$total_truncate" after truncate on "ws1_shop"."things" for each statement execute function "ws1_shop"."$count_records_ws1"()',
];
const always = (name: string): string => `alter table "ws1_shop"."things" enable always trigger "${name}"`;

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
  await database.query('create schema ws1_shop');
  await database.query('create table ws1_shop.things (id bigint primary key)');
  await database.query(
    'create function ws1_shop."$count_records_ws1"() returns trigger language plpgsql as $$ begin return null; end $$',
  );
  // Somebody's own, which is nobody else's business.
  await database.query(
    'create function public.look() returns trigger language plpgsql as $$ begin return null; end $$',
  );
  await database.query(
    'create trigger "$total_update" after update on ws1_shop.things for each statement execute function public.look()',
  );
});
after(() => database.drop());

async function toDo(): Promise<string[] | undefined> {
  const [row] = await database.query(
    sql`select ${selectInstalledTriggers(sql`'ws1_shop.things'::regclass`, 'total')} as standing`.text,
  );
  const standing = row?.standing as InstalledTrigger[];
  return repairTriggers(THINGS, totalTriggers(THINGS), standing)?.map(({ text }) => text);
}

test('the triggers of totals run a function of their workspace', () => {
  assert.deepEqual(
    totalTriggers(THINGS).map(({ definition }) => definition.text),
    OWN,
  );
});

test('triggers are found, mended until they fire always, and then tidy', async () => {
  const [insert, remove, truncate] = OWN as [string, string, string];
  assert.deepEqual(await toDo(), [
    insert,
    always('$total_insert'),
    remove,
    always('$total_delete'),
    truncate,
    always('$total_truncate'),
  ]);
  for (const statement of OWN) await database.query(statement);
  assert.deepEqual(await toDo(), ['$total_insert', '$total_delete', '$total_truncate'].map(always));
  await database.query('drop trigger "$total_delete" on ws1_shop.things');
  for (const statement of (await toDo()) ?? []) await database.query(statement);
  assert.deepEqual(await toDo(), []);
});

test('a trigger that somebody has disabled is left alone', async () => {
  for (const [how, disabled] of [
    ['disable', true],
    ['enable replica', true],
    ['enable always', false],
  ] as const) {
    await database.query(`alter table ws1_shop.things ${how} trigger "$total_truncate"`);
    assert.deepEqual(await toDo(), disabled ? undefined : [], how);
  }
});

test('a trigger that changes rows is named after its event and its function, however long that name is', () => {
  const run = `${'a'.repeat(62)}z`;
  assert.deepEqual(
    [buildChanger(THINGS, 'insert', 'things$a$7$sync'), buildChanger(THINGS, 'update', run, sql`old.a <> new.a`)].map(
      ({ name, definition }) => [name, definition.text],
    ),
    [
      [
        '~ithings$a$7$sync',
        'create trigger "~ithings$a$7$sync" before insert on "ws1_shop"."things" for each row execute function "ws1_shop"."things$a$7$sync"()',
      ],
      [
        `~u${'a'.repeat(61)}`,
        `create trigger "~u${'a'.repeat(61)}" before update on "ws1_shop"."things" for each row when (old.a <> new.a) execute function "ws1_shop"."${run}"()`,
      ],
    ],
  );
});
