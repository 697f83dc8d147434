import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Change, diffDocuments } from '../../../src/migrations/diff.ts';
import type { Operation } from '../../../src/migrations/operation.ts';
import { parseExact } from '../../../src/model/exact-json.ts';
import { NO_NAMES } from '../../../src/model/physical-name.ts';
import { parseSchemaDocument } from '../../../src/schema/document.ts';
import type { SchemaDocument } from '../../../src/schema/format.ts';
import { shop } from './exact-shop.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests change JSON freely
type Json = any;

/** What a change of the shop's JSON asks for; `empty` names entities without records. */
function changeShop(
  change: (json: Json) => void,
  empty: readonly string[] = [],
  inForce = shop(),
  strategy: 'online' | 'blocking' = 'online',
): Change {
  const json = parseExact(JSON.stringify(inForce));
  change(json);
  const result = parseSchemaDocument(json, inForce);
  assert.ok(result.ok, JSON.stringify(result));
  const { document: asked, renames } = result;
  return diffDocuments({
    inForce,
    names: NO_NAMES,
    requested: asked,
    renames,
    databaseSchema: 'ws1',
    empty: new Set(empty),
    strategy,
    reserved: new Set(),
    change: '7',
    extensions: { trigrams: 'wda' },
  });
}

function operationsOf(change: Change): readonly Operation[] {
  assert.ok(change.ok, JSON.stringify(change));
  return change.operations;
}

/** `phase text`, as the runner would send it. */
const statements = (operation: Operation): string[] =>
  operation.statements.map((statement) => {
    const { phase, within } = statement;
    const text = within === 'batches' ? '' : statement.sql.text;
    return `${phase}${within === 'transaction' ? '' : ` ${within}`}: ${text}`;
  });

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
  assert.deepEqual(operation.temporaryObjects, [{ kind: 'table', table: 'notes' }]);
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
    'detach: alter table if exists "ws1"."orderTags" drop constraint if exists "orderTags$orderId$fk"',
    'detach: alter table if exists "ws1"."orderTags" drop constraint if exists "orderTags$tagId$fk"',
    'drop: drop table "ws1"."orderTags"',
  ]);
});

test('a new field of an entity with records is checked without blocking anybody', () => {
  const change = changeShop((json) => {
    json.entities.tags.fields.colour = { type: 'enum', values: ['red'], required: true, default: 'red' };
  });
  const [operation] = operationsOf(change) as [Operation];
  assert.deepEqual(statements(operation), [
    `column: alter table "ws1"."tags" add column "colour" text collate "und-x-icu" default 'red'::text not null`,
    `column: alter table "ws1"."tags" add constraint "tags$colour$ck_enum" check ("colour" in ('red')) not valid`,
    'build own: alter table "ws1"."tags" validate constraint "tags$colour$ck_enum"',
  ]);
  assert.equal(operation.conflictCheck, null);
  assert.equal(operation.runsBeforeSwitch, true);
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
    'column: alter table "ws1"."tags" add column "colour" text collate "und-x-icu" not null',
    `column: alter table "ws1"."tags" add constraint "tags$colour$ck_enum" check ("colour" in ('red'))`,
  ]);
  assert.deepEqual(statements(unique), [
    'attach: alter table "ws1"."tags" add constraint "tags$colour$uq" unique ("colour")',
  ]);
  assert.equal(field.runsBeforeSwitch, false);
});

test('a required field without default is in the way of every record', () => {
  const [operation] = operationsOf(
    changeShop((json) => {
      json.entities.tags.fields.colour = { type: 'string', required: true };
    }),
  ) as [Operation];
  assert.equal(operation.conflictCheck?.field, 'colour');
  assert.equal(operation.conflictCheck?.canRun, true);
  assert.equal(
    operation.conflictCheck?.query.text,
    'select count(*) as count, array(select id from "ws1"."tags" order by id limit 10) as ids from "ws1"."tags"',
  );
});

test('a generated value for each record writes the table anew, and says so', () => {
  const add = (of: Json) => (json: Json) => {
    json.entities.tags.fields.token = of;
  };
  const generated = { type: 'uuid', default: 'uuid' };
  const [full] = operationsOf(changeShop(add(generated))) as [Operation];
  assert.equal(full.work, 'rewrite');
  const [empty] = operationsOf(changeShop(add(generated), ['tags'])) as [Operation];
  assert.equal(empty.work, 'none');
  const [now] = operationsOf(changeShop(add({ type: 'datetime', default: 'now' }))) as [Operation];
  assert.equal(now.work, 'none');
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
    json.entities.tags.fields.name.unique = true;
  });
  const [operation] = operationsOf(change) as [Operation];
  assert.deepEqual(statements(operation), [
    'build none: create unique index concurrently "tags$name$uq" on "ws1"."tags" ("name")',
    'attach: alter table "ws1"."tags" add constraint "tags$name$uq" unique using index "tags$name$uq"',
  ]);
  assert.equal(
    operation.conflictCheck?.query.text,
    `with standing as (
  select id from "ws1"."tags" where ("name") in (
    select "name" from "ws1"."tags" group by "name" having count(*) > 1
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
  assert.ok(operationsOf(change).every((operation) => operation.work === 'none' && operation.conflictCheck === null));
});

const CHANGES: readonly [what: string, change: (json: Json) => void, operations: string[]][] = [
  [
    'a type that must be converted',
    (json) => (json.entities.orders.fields.placedAt = { type: 'date' }),
    ['changeType entities.orders.fields.placedAt.type', 'addIndex entities.orders.indexes'],
  ],
  [
    'a type of the same form',
    (json) => (json.entities.customers.fields.country.type = 'text'),
    ['changeType entities.customers.fields.country.type'],
  ],
  [
    'required',
    (json) => (json.entities.orders.fields.status.required = true),
    ['setRequired entities.orders.fields.status.required'],
  ],
  [
    'required no more',
    (json) => (json.entities.tags.fields.name.required = false),
    ['liftRequired entities.tags.fields.name.required'],
  ],
  [
    'required with a default, which comes first',
    (json) => Object.assign(json.entities.customers.fields.email, { required: true, default: 'none' }),
    ['setDefault entities.customers.fields.email.default', 'setRequired entities.customers.fields.email.required'],
  ],
  [
    'other values',
    (json) => json.entities.orders.fields.status.values.push('x'),
    ['changeCheck entities.orders.fields.status.values'],
  ],
  [
    'a wider decimal',
    (json) => Object.assign(json.entities.orders.fields.total, { precision: 13 }),
    ['changeType entities.orders.fields.total.type'],
  ],
  [
    'another scale',
    (json) => Object.assign(json.entities.orders.fields.total, { precision: 13, scale: 3 }),
    ['changeType entities.orders.fields.total.type'],
  ],
  ['a bound', (json) => (json.entities.orders.fields.total.max = 9), ['changeCheck entities.orders.fields.total.min']],
  [
    'a length that was none',
    (json) => (json.entities.tags.fields.name.maxLength = 9),
    ['addCheck entities.tags.fields.name.maxLength'],
  ],
  [
    'no length any more',
    (json) => delete json.entities.customers.fields.name.maxLength,
    ['dropCheck entities.customers.fields.name.maxLength'],
  ],
  [
    'the target of a relation',
    (json) => (json.entities.orders.relations.parent.entity = 'tags'),
    ['changeRelation entities.orders.relations.parent'],
  ],
  [
    'onDelete',
    (json) => (json.entities.orders.relations.parent.onDelete = 'cascade'),
    ['changeRelation entities.orders.relations.parent'],
  ],
  [
    'the field of a relation',
    (json) => (json.entities.orders.relations.parent.column = 'over'),
    ['renameField entities.orders.relations.parent'],
  ],
  [
    'a field that becomes a relation',
    (json) => {
      delete json.entities.customers.fields.points;
      json.entities.customers.relations.tag = { kind: 'belongsTo', entity: 'tags', column: 'points' };
    },
    [
      'setDefault entities.customers.relations.tag.default',
      'dropCheck entities.customers.relations.tag.min',
      'addRelation entities.customers.relations.tag',
      'addIndex entities.customers.relations.tag',
    ],
  ],
  [
    'a relation that becomes a field',
    (json) => {
      delete json.entities.orders.relations.parent;
      json.entities.orders.fields.parentOrder = { type: 'bigint' };
    },
    ['dropRelation entities.orders.relations.parent', 'dropIndex entities.orders.relations.parent'],
  ],
];

/** What reads a whole table while it is locked; of a table with records only an index that is built aside may. */
const READS_ALL = /create (unique )?index (?!concurrently)|add constraint .* (check|foreign key)(?!.* not valid$)/;

for (const [what, change, expected] of CHANGES) {
  for (const strategy of ['online', 'blocking'] as const) {
    test(`${what}, ${strategy}`, () => {
      const operations = operationsOf(changeShop(change, [], shop(), strategy));
      assert.deepEqual(
        operations.map(({ kind, path }) => `${kind} ${path}`),
        expected,
      );
      // What is done at once is done in the transaction of the switch, under locks that are asked for together.
      if (strategy === 'blocking') {
        assert.ok(operations.every(({ statements: all }) => all.every(({ within }) => within === 'transaction')));
        assert.ok(operations.every(({ temporaryObjects: makes }) => makes.length === 0));
      } else {
        for (const line of operations.flatMap(statements)) assert.doesNotMatch(line.split('\n')[0] ?? '', READS_ALL);
      }
      for (const { statements: all, locks } of operations) {
        assert.equal(
          all.some(({ within }) => within !== 'none'),
          locks.length > 0,
        );
      }
    });
  }
}

test('a required field is proven by a check that stands before the table is locked, so that nothing is read then', () => {
  const change = changeShop((json) => {
    json.entities.orders.fields.status.required = true;
  });
  assert.deepEqual(operationsOf(change).flatMap(statements), [
    'link: alter table "ws1"."orders" add constraint "orders$status$ck_null" check ("status" is not null) not valid',
    'build own: alter table "ws1"."orders" validate constraint "orders$status$ck_null"',
    'attach: alter table "ws1"."orders" alter column "status" set not null',
    'attach: alter table if exists "ws1"."orders" drop constraint if exists "orders$status$ck_null"',
  ]);
});

test('a type that means nothing in another is refused while there are records', () => {
  const change = (json: Json): void => {
    json.entities.customers.fields.since = { type: 'uuid' };
  };
  assert.deepEqual(refusals(changeShop(change)), ['entities.customers.fields.since.type UNSUPPORTED_CHANGE']);
  assert.deepEqual(summary(changeShop(change, ['customers'])), ['changeType customers']);
});

test('renaming touches no table, and what speaks of the old names speaks of the new ones', () => {
  const inForce = {
    entities: {
      a: {
        fields: { x: { type: 'string' } },
        relations: { b: { kind: 'belongsTo', entity: 'b' } },
        settings: { defaultExpand: ['b.as'], defaultFields: ['x', 'bId', 'b.as.x'] },
        rowRules: [
          { column: 'x', claim: 'x' },
          { column: 'bId', claim: 'b' },
        ],
      },
      b: { relations: { as: { kind: 'hasMany', entity: 'a', inverse: 'b' } }, settings: { expandable: ['as'] } },
    },
  } satisfies SchemaDocument;
  const json = {
    entities: {
      a: {
        fields: { y: { type: 'string', renamedFrom: 'x' }, x: { type: 'integer' } },
        relations: { c: { kind: 'belongsTo', entity: 'd', renamedFrom: 'b' } },
      },
      d: { renamedFrom: 'b', relations: { all: { kind: 'hasMany', entity: 'a', inverse: 'c', renamedFrom: 'as' } } },
    },
  };
  const mistaken = parseSchemaDocument(json, inForce);
  assert.ok(!mistaken.ok && mistaken.details[0]?.field === 'entities.a.fields.y.renamedFrom');
  delete (json.entities.a.fields as Json).x;
  const asked = parseSchemaDocument(json, inForce);
  assert.ok(asked.ok);
  const { a, d } = asked.document.entities;
  assert.deepEqual(a?.settings, { defaultExpand: ['c.all'], defaultFields: ['y', 'cId', 'c.all.y'] });
  assert.deepEqual(a?.rowRules, [
    { column: 'y', claim: 'x' },
    { column: 'cId', claim: 'b' },
  ]);
  assert.deepEqual(d?.settings, { expandable: ['all'] });
  const change = changeShop((all) => Object.assign(all, json), [], inForce);
  const operations = operationsOf(change);
  assert.ok(operations.every(({ statements: all, destructive }) => all.length === 0 && !destructive));
  assert.deepEqual(
    operations.filter(({ kind }) => kind.startsWith('rename')).map(({ description }) => description),
    [
      'rename field x of a to y',
      'rename relation b of a to c',
      'rename field bId of a to cId',
      'rename entity b to d',
      'rename relation as of d to all',
    ],
  );
  assert.ok(change.ok);
  assert.deepEqual(change.names, { tables: { d: 'b' }, columns: { a: { y: 'x', cId: 'bId' } } });
});

for (const [what, names, reserved, fields, expected] of [
  ['that a dropped or renamed column still has', { a: { x: 'y' } }, [], ['y'], { a: { y: 'y$7' } }],
  ['that was something else a moment ago', {}, ['a.y', 'b', 'c.z'], ['x', 'y', 'z'], { a: { y: 'y$7' } }],
] as const) {
  test(`a name ${what} is not used again`, () => {
    const string = { type: 'string' } as const;
    const requested: Json = { entities: { a: { fields: Object.fromEntries(fields.map((name) => [name, string])) } } };
    if (reserved.length > 0) Object.assign(requested.entities, { b: {}, c: {} });
    const change = diffDocuments({
      inForce: { entities: { a: { fields: { x: string } } } },
      names: { tables: {}, columns: names },
      requested,
      renames: { entities: new Map(), fields: new Map(), relations: new Map() },
      databaseSchema: 'ws1',
      empty: new Set(),
      strategy: 'online',
      reserved: new Set<string>(reserved),
      change: '7',
      extensions: { trigrams: 'wda' },
    });
    assert.ok(change.ok);
    assert.deepEqual(change.names, { tables: reserved.length > 0 ? { b: 'b$7' } : {}, columns: expected });
  });
}

const text = (more: Json): Json => ({ type: 'text', ...more });
const SEARCHED = { entities: { notes: { fields: { a: text({ searchable: true }), b: text({}) } } } };
const ASKED: readonly [string, Json, readonly string[]][] = [
  [
    'another searchable field',
    { fields: { a: text({ searchable: true }), b: text({ searchable: true }) } },
    ['addIndex notes$a$b$words', 'dropIndex notes$a$words'],
  ],
  [
    'another language',
    { fields: { a: text({ searchable: true }), b: text({}) }, searchLanguage: 'english' },
    ['addIndex notes$a$$english$words', 'dropIndex notes$a$words'],
  ],
  ['no searchable field', { fields: { a: text({}), b: text({}) } }, ['dropIndex notes$a$words']],
  [
    'a searchable field that is renamed',
    { fields: { c: text({ searchable: true, renamedFrom: 'a' }), b: text({}) } },
    [],
  ],
  ['a searchable field that goes', { fields: { b: text({}) } }, []],
  [
    'an index of parts',
    { fields: { a: text({ searchable: true, index: 'substring' }), b: text({}) } },
    ['addIndex notes$a$parts'],
  ],
];
for (const [what, notes, expected] of ASKED) {
  test(`search: ${what}`, () => {
    const change = changeShop(
      (json) => {
        json.entities = { notes };
      },
      [],
      SEARCHED as unknown as SchemaDocument,
    );
    const indexing = operationsOf(change).filter(({ kind }) => kind === 'addIndex' || kind === 'dropIndex');
    const named = ({ kind, temporaryObjects: makes, statements: [first] }: Operation): string => {
      const [made] = makes;
      const name =
        made?.kind === 'index'
          ? made.index
          : /\."([^"]+)"$/.exec(first !== undefined && 'sql' in first ? first.sql.text : '')?.[1];
      return `${kind} ${name}`;
    };
    assert.deepEqual(indexing.map(named), expected);
  });
}

test('an index that makes inserts slower says so', () => {
  const change = changeShop(
    (json) => {
      json.entities.notes = { fields: { a: text({ searchable: true, index: 'substring' }) } };
    },
    [],
    { entities: { notes: { fields: { a: { type: 'text' } } } } },
  );
  assert.deepEqual(
    operationsOf(change).map(({ description }) => description),
    [
      'add an index of parts of texts on a of notes, which doubles the time of an insert',
      'add a search index on a of notes, which doubles the time of an insert',
    ],
  );
});
