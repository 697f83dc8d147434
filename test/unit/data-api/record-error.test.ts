// Errors of PostgreSQL while a migration runs: constraints that no snapshot knows yet, and tables that it holds.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toRecordError, type WriteKind } from '../../../src/data-api/record-error.ts';
import { derivedName, freshName } from '../../../src/model/physical-name.ts';
import type { Workspace } from '../../../src/model/workspace.ts';
import { parseSchemaDocument } from '../../../src/schema/document.ts';
import type { SchemaDocument } from '../../../src/schema/format.ts';
import { makeWorkspace } from '../../../src/store/load-workspace.ts';
import { makeShop, withGate } from '../../support/field-types-fixture.ts';

const SHOP = makeShop();
const GATE = { blocksReads: true, blocksWrites: true, retryAfterSeconds: 7 };
const LONG = 'aNameThatIsAsLongAsNamesMayBeAndThatIsCutWhereverItIsDerived';

/** As after a renaming of table and column, and a change of type; with names that PostgreSQL's limit cuts. */
function renamed(): Workspace {
  const parsed = parseSchemaDocument({
    entities: {
      parts: {
        fields: {
          weight: { type: 'integer', min: 0 },
          code: { type: 'string' },
          [LONG]: { type: 'string', maxLength: 9 },
        },
      },
    },
  });
  assert.ok(parsed.ok);
  return makeWorkspace({
    id: '7',
    organization: 'acme',
    slug: 'shop',
    name: 'shop',
    version: '1',
    databaseSchema: 'ws7_shop',
    document: parsed.document as SchemaDocument,
    names: { tables: { parts: 'pieces' }, columns: { parts: { weight: 'mass$12' } } },
    entityIds: {},
    gates: {},
  });
}

function refusal(
  facts: { code: string; constraint?: string; column?: string },
  { workspace = SHOP, entity = 'orders', kind = 'create' as WriteKind } = {},
) {
  const error = toRecordError(Object.assign(new Error('secret'), facts), workspace, entity, kind);
  assert.ok(!JSON.stringify([error.message, error.details]).includes('$'), 'no name of the database shows');
  return error;
}

for (const [what, code, constraint, status, field, detail] of [
  ['a range that replaces another', '23514', 'orders$total$ck_range$next', 400, 'total', 'OUT_OF_RANGE'],
  ['a new list of values', '23514', 'orders$status$ck_enum$next', 400, 'status', 'OUT_OF_RANGE'],
  ['a check on a column of a new type', '23514', 'orders$total$17$ck_range', 400, 'total', 'OUT_OF_RANGE'],
  ['a field about to be required', '23514', 'orders$placedAt$ck_null', 400, 'placedAt', 'REQUIRED'],
  ['one about to be required with a new type', '23514', 'orders$total$17$ck_null', 400, 'total', 'REQUIRED'],
  ['a new unique index', '23505', 'orders$placedAt$uq', 409, 'placedAt', 'NOT_UNIQUE'],
  ['a unique index on a column of a new type', '23505', 'orders$total$17$uq', 409, 'total', 'NOT_UNIQUE'],
  ['one over two columns', '23505', 'orders$status$total$17$uq', 409, 'status, total', 'NOT_UNIQUE'],
  [
    'a foreign key that replaces another',
    '23503',
    'orders$customerId$fk$next',
    400,
    'customerId',
    'REFERENCE_NOT_FOUND',
  ],
  ['a foreign key of a new type', '23503', 'orders$total$17$fk', 400, 'total', 'REFERENCE_NOT_FOUND'],
  ['a check that nobody knows', '23514', 'made_by_hand', 400, null, 'OUT_OF_RANGE'],
  ['a check of a field that is yet to come', '23514', 'orders$weight$ck_range', 400, null, 'OUT_OF_RANGE'],
  ['a unique index that nobody knows', '23505', 'made_by_hand', 409, null, 'NOT_UNIQUE'],
  ['a foreign key that nobody knows', '23503', 'made_by_hand', 400, null, 'REFERENCE_NOT_FOUND'],
] as const) {
  test(`${what} refuses with ${status} ${detail} for ${field}`, () => {
    const error = refusal({ code, constraint });
    assert.equal(error.status, status);
    assert.deepEqual(
      error.details?.map((each) => [each.field, each.code]),
      [[field, detail]],
    );
  });
}

test('a foreign key of a running migration says which records refer to the one deleted', () => {
  const error = refusal(
    { code: '23503', constraint: 'orders$customerId$fk$next' },
    { entity: 'customers', kind: 'delete' },
  );
  assert.equal(error.status, 409);
  assert.deepEqual(
    error.details?.map((each) => [each.field, each.code]),
    [['orders.customer', 'STILL_REFERENCED']],
  );
});

test('tables and columns that carry other names than the document lead to its names', () => {
  const workspace = renamed();
  for (const [constraint, field] of [
    ['pieces$mass$12$ck_range$next', 'weight'],
    ['pieces$mass$12$ck_null', 'weight'],
    ['pieces$weight$31$ck_range', 'weight'],
    ['pieces$code$mass$12$uq', 'code, weight'],
    [derivedName('pieces', [LONG], 'ck_enum'), LONG],
    [freshName(derivedName('pieces', [LONG], 'ck_length'), 'next'), LONG],
  ] as const) {
    const error = refusal({ code: '23514', constraint }, { workspace, entity: 'parts' });
    assert.equal(error.details?.[0]?.field, field, constraint);
  }
  for (const [column, field] of [
    ['mass$12', 'weight'],
    ['weight$31', 'weight'],
    ['unheardOf', null],
  ] as const) {
    const missing = refusal({ code: '23502', column }, { workspace, entity: 'parts' });
    assert.deepEqual(missing.details, [{ field, code: 'REQUIRED', message: 'is required' }]);
  }
});

test('a lock that a migration holds is answered by its 503, whichever of the linked tables it is at', () => {
  for (const migrating of ['orders', 'customers', 'items']) {
    const error = refusal({ code: '55P03' }, { workspace: withGate(SHOP, migrating, GATE) });
    assert.equal(error.status, 503);
    assert.equal(error.code, 'SCHEMA_MIGRATION_IN_PROGRESS');
    assert.equal(error.message, `Table ${migrating} is being migrated; retry after the migration completes`);
    assert.deepEqual(error.members, { retryAfterSeconds: 7, blocksReads: true, blocksWrites: true });
    assert.deepEqual(error.headers, { 'Retry-After': '7' });
  }
});

test('a lock that others hold is not taken for that of a migration', () => {
  for (const workspace of [SHOP, withGate(SHOP, 'things', GATE)]) {
    const error = refusal({ code: '55P03' }, { workspace });
    assert.deepEqual([error.status, error.code], [503, 'SERVICE_UNAVAILABLE']);
  }
});

for (const [what, facts, write, code, message] of [
  [
    'a read that would build too much',
    { code: 'WDA54', message: 'beyond 1000' },
    undefined,
    'BAD_REQUEST',
    /than 1000 bytes/,
  ],
  [
    'a write that would',
    { code: 'WDA54', message: 'beyond 1000' },
    'update',
    'VALIDATION_FAILED',
    /record would be larger/,
  ],
  ['a read that built too much', { code: '54000' }, undefined, 'BAD_REQUEST', /than an answer may be/],
  [
    'a write that did',
    { code: '54000', routine: 'enlargeStringInfo' },
    'create',
    'VALIDATION_FAILED',
    /record would be/,
  ],
  [
    'a value too long for an index',
    { code: '54000', routine: 'index_form_tuple' },
    'create',
    'VALIDATION_FAILED',
    /too long for the index/,
  ],
  ['the last id', { code: '2200H' }, 'create', 'CONFLICT', /ids of orders are used up/],
  ['a foreign key, for a delete', { code: '23503' }, 'delete', 'CONFLICT', /cannot be deleted: other records refer/],
  ['a restricting foreign key', { code: '23001' }, 'update', 'CONFLICT', /cannot be deleted: other records refer/],
  ['a value out of range', { code: '22003' }, 'create', 'VALIDATION_FAILED', /./],
  ['a value of the wrong form', { code: '22P02' }, 'create', 'VALIDATION_FAILED', /./],
  ['a deadlock', { code: '40P01' }, 'create', 'SERVICE_UNAVAILABLE', /locked by other changes/],
  ['a statement that took too long', { code: '57014' }, undefined, 'QUERY_TIMEOUT', /took too long/],
  ['a table that is gone', { code: '42P01' }, undefined, 'SERVICE_UNAVAILABLE', /schema is changing/],
  ['what nobody has thought of', { code: 'XX000' }, 'create', 'INTERNAL_ERROR', /./],
] as const) {
  test(`${what} is ${code}`, () => {
    const error = toRecordError(Object.assign(new Error('secret'), facts), SHOP, 'orders', write);
    assert.equal(error.code, code);
    assert.match(error.message, message);
  });
}
