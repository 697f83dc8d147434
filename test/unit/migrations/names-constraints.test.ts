import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diffDocuments } from '../../../src/migrations/diff.ts';
import { finalizeNames } from '../../../src/migrations/names.ts';
import { NO_NAMES, type PhysicalNames } from '../../../src/model/physical-name.ts';
import { parseSchemaDocument } from '../../../src/schema/document.ts';
import { EMPTY_DOCUMENT, type SchemaDocument } from '../../../src/schema/format.ts';
import { buildTables } from '../../../src/schema/tables.ts';

interface Standing {
  readonly document: SchemaDocument;
  readonly names: PhysicalNames;
  /** Checks and foreign keys, as the statements have left them. */
  readonly present: ReadonlySet<string>;
}

function parsed(json: unknown, inForce: SchemaDocument) {
  const result = parseSchemaDocument(json, inForce);
  assert.ok(result.ok, JSON.stringify(result));
  return result;
}

let changes = 0;

/** The next document with what its statements do to constraints; tables and columns then get their own names. */
function become(
  { document: inForce, names, present }: Standing,
  json: unknown,
  strategy: 'online' | 'blocking',
): Standing {
  const { document, renames } = parsed(json, inForce);
  const change = diffDocuments({
    inForce,
    names,
    requested: document,
    renames,
    databaseSchema: 'ws',
    empty: new Set(),
    strategy,
    reserved: new Set(),
    change: String(++changes),
    extensions: { trigrams: 'wda' },
  });
  assert.ok(change.ok, JSON.stringify(change));
  const standing = new Set(present);
  for (const { statements } of change.operations) {
    for (const statement of statements) {
      if (statement.within === 'batches') continue;
      const { text } = statement.sql;
      for (const [, name = ''] of text.matchAll(/(?<!drop )constraint "([^"]*\$(?:ck_[a-z]+|fk)[^"]*)"/g)) {
        if (text.includes('validate')) continue;
        assert.ok(!standing.has(name), `${name} is there already: ${text}`);
        standing.add(name);
      }
    }
  }
  for (const { statements } of change.operations) {
    for (const statement of statements) {
      if (statement.within === 'batches') continue;
      for (const [, name = ''] of statement.sql.text.matchAll(/drop constraint if exists "([^"]*)"/g)) {
        assert.ok(standing.delete(name), `${name} is not there`);
      }
    }
  }
  return { document, names: finalizeNames(document, change.names, new Set(), String(++changes)), present: standing };
}

const namesOf = ({ document, names }: Standing): ReadonlySet<string> =>
  new Set(
    [...buildTables(document, 'ws', names).values()].flatMap(({ checks, references }) =>
      [...checks, ...references].map(({ name }) => name),
    ),
  );

const shop = (fields: object, relations: object = {}, name = 'orders', renamedFrom?: string) => ({
  entities: {
    [name]: { fields, relations, ...(renamedFrom === undefined ? {} : { renamedFrom }) },
    people: { fields: { name: { type: 'string' } } },
    teams: {},
  },
});
const to = (entity: string, onDelete = 'restrict') => ({ owner: { kind: 'belongsTo', entity, onDelete } });
const range = (max: number) => ({ type: 'integer', max });

for (const strategy of ['online', 'blocking'] as const) {
  test(`constraints are known by the names that they were made under (${strategy})`, () => {
    const steps = [
      shop({ total: range(1) }, to('people')),
      shop({ total: range(2) }, to('teams')),
      shop({ total: range(3) }, to('teams', 'cascade')),
      shop({ total: range(4) }, to('people', 'cascade')),
      // The column keeps its check; the new field of its name needs another name for its own.
      shop({ sum: { ...range(4), renamedFrom: 'total' } }, to('people', 'cascade')),
      shop({ sum: range(4), total: range(9) }, to('people', 'cascade')),
      shop({ sum: range(5), total: range(8) }, to('people', 'cascade'), 'purchases', 'orders'),
      shop({ sum: range(6), total: range(8) }, to('people'), 'purchases'),
      { ...shop({ sum: range(6) }, {}, 'purchases') },
      shop({ sum: { type: 'integer' } }, {}, 'purchases'),
    ];
    let now: Standing = { document: EMPTY_DOCUMENT, names: NO_NAMES, present: new Set() };
    const first = parsed(steps[0], EMPTY_DOCUMENT).document;
    now = { document: first, names: NO_NAMES, present: new Set() };
    now = { ...now, present: namesOf(now) };
    for (const step of steps.slice(1, -2)) {
      now = become(now, step, strategy);
      assert.deepEqual(now.present, namesOf(now), JSON.stringify(step));
    }
    // Checks go with their columns, but not by a statement of their own.
    const dropped = become(now, steps.at(-2), strategy);
    assert.ok([...namesOf(dropped)].every((name) => dropped.present.has(name)));
    const bare = become(dropped, steps.at(-1), strategy);
    assert.deepEqual(namesOf(bare), new Set());
    assert.equal(bare.names.constraints, undefined);
  });
}
