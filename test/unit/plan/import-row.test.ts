// Files that are imported: headers and rows against the schema, every mistake of them, and the text that is staged.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Detail } from '../../../src/errors.ts';
import { parseExact } from '../../../src/model/exact-json.ts';
import type { Principal } from '../../../src/model/principal.ts';
import { getEntity, type Workspace } from '../../../src/model/workspace.ts';
import { checkImport, planCsvImport, planNdjsonImport } from '../../../src/plan/import-plan.ts';
import { makeCellDecoder, makeMemberDecoder } from '../../../src/plan/import-row.ts';
import { type ImportRequest, parseImportRequest } from '../../../src/request/import-request.ts';
import { refusalOf, refuses } from '../../support/error-response.ts';
import { external, makePlanContext, makeShop, OWNER } from '../../support/field-types-fixture.ts';

const SHOP = makeShop();
const RULED = makeShop({ customers: { rowRules: [{ column: 'country', claim: 'country' }] } });

interface Asked {
  readonly entity?: string;
  readonly query?: string;
  readonly principal?: Principal;
  readonly workspace?: Workspace;
}

const request = (query: string, type = 'text/csv'): ImportRequest =>
  parseImportRequest(query, { 'content-type': type });

function csv(headers: readonly string[], rows: readonly (readonly string[])[], asked: Asked = {}) {
  const { entity = 'customers', query = '', principal = OWNER, workspace = SHOP } = asked;
  const [target, view] = [getEntity(workspace, entity), makePlanContext(workspace, principal)];
  const asks = request(query);
  const file = planCsvImport(asks, headers, target, view);
  const decode = makeCellDecoder(file, asks, target, view);
  const details: Detail[] = [];
  const staged = rows.map((row, index) => decode(row, index + 1, (detail) => details.push(detail) > 0));
  return {
    columns: file.plan.columns.map(({ name }) => name),
    staged,
    mistakes: told(details),
    plan: file.plan,
    notes: file.notes,
  };
}

function ndjson(lines: readonly string[], asked: Asked = {}) {
  const { entity = 'customers', query = '', principal = OWNER, workspace = SHOP } = asked;
  const [target, view] = [getEntity(workspace, entity), makePlanContext(workspace, principal)];
  const asks = request(query, 'application/x-ndjson');
  const plan = planNdjsonImport(asks, target, view);
  const decode = makeMemberDecoder(plan, asks, target, view);
  const details: Detail[] = [];
  const staged = lines.map((line, index) => decode(parseExact(line), index + 1, (detail) => details.push(detail) > 0));
  return { columns: plan.columns.map(({ name }) => name), staged, mistakes: told(details), plan };
}

const told = (details: readonly Detail[]): string[] =>
  details.map(({ row, field: at, code }) => `${row} ${at} ${code}`);

test('columns of a CSV file are staged in its order, an empty cell as null', () => {
  const { columns, staged, mistakes } = csv(['email', 'name'], [['a@b', 'Ann'], ['', 'Bob']]); // biome-ignore format: a file
  assert.deepEqual(columns, ['email', 'name']);
  assert.deepEqual(staged, [['a@b', 'Ann'], [null, 'Bob']]); // biome-ignore format: a file
  assert.deepEqual(mistakes, []);
});

test('the null of JSON is null, and passes no required field', () => {
  const file = csv(['aJson', 'aString'], [['null', 'nul'], [' null\n', ''], ['[null]', '']], { entity: 'things' }); // biome-ignore format: a file
  assert.deepEqual(file.staged, [[null, 'nul'], [null, null], ['[null]', null]]); // biome-ignore format: a file
  const workspace = makeShop({ things: { fields: { aJson: { type: 'json', required: true } } } });
  assert.deepEqual(csv(['aJson'], [['null'], ['0']], { entity: 'things', workspace }).mistakes, ['1 aJson REQUIRED']);
});

test('headers are mapped to fields, and left out', () => {
  const { columns, staged } = csv(['Full name', 'Age'], [['Ann', '7']], { query: 'map=Full name:name,Age:' });
  assert.deepEqual(columns, ['name']);
  assert.deepEqual(staged, [['Ann']]);
});

test('headers are matched without regard to case, spaces and _, which is told', () => {
  const workspace = makeShop({
    things: { fields: { aText: { type: 'text' }, a_date: { type: 'date' }, ADATE: { type: 'date' } } },
  });
  const asked = { entity: 'things', workspace };
  assert.deepEqual(csv(['aText', 'a_date'], [], asked).notes, []);
  const { columns, notes } = csv(['A TEXT', 'ADATE', 'Id'], [], asked);
  assert.deepEqual(columns, ['aText', 'ADATE', 'id']);
  assert.deepEqual(notes, ['the column A TEXT was read as aText', 'the column Id was read as id']);
  assert.deepEqual(told(refusalOf(() => csv(['a_text', 'aText'], [], asked)).details ?? []), ['0 aText INVALID']);
  assert.deepEqual(told(refusalOf(() => csv(['A Date'], [], asked)).details ?? []), ['0 A Date UNKNOWN_FIELD']);
  assert.deepEqual(told(refusalOf(() => csv(['a-text'], [], asked)).details ?? []), ['0 a-text UNKNOWN_FIELD']);
});

test('the columns of rejected rows are left out of a file that comes again', () => {
  assert.deepEqual(csv(['name', '_row', '_reason'], [['Ann', '1', 'x']]).staged, [['Ann']]);
  assert.deepEqual(ndjson(['{"name":"Ann","_row":1,"_reason":"x"}']).mistakes, []);
});

test('a reference is staged by the unique field that finds it', () => {
  const workspace = makeShop({ customers: { fields: { name: { type: 'string' }, number: { type: 'integer', unique: true } } } }); // biome-ignore format: one line
  const asked = { entity: 'orders', query: 'map=Customer:customer.number', workspace };
  const { columns, staged, mistakes, plan } = csv(['status', 'Customer'], [['open', '7'], ['open', 'x'], ['open', '']], asked); // biome-ignore format: a file
  assert.deepEqual([columns, plan.lookups.map(({ field }) => field.name)], [['status', 'customerId'], ['number']]);
  assert.deepEqual(staged.slice(0, 1), [['open', null, '7']]);
  assert.deepEqual(mistakes.slice(0, 1), ['2 customerId TYPE_MISMATCH']);
  const lines = ndjson(['{"status":"open","Customer":7}', '{"Customer":7,"customerId":1}'], asked);
  const [row] = lines.staged;
  assert.equal(row?.[lines.columns.length], '7');
  assert.equal(row?.[lines.columns.indexOf('customerId')], null);
  assert.equal(row?.at(-1)?.[lines.columns.indexOf('customerId')], '1');
  assert.deepEqual(lines.mistakes, ['2 customerId INVALID']);
  assert.deepEqual(told(refusalOf(() => csv(['status', 'Customer', 'customerId'], [], asked)).details ?? []), [
    '0 customerId INVALID',
  ]);
  assert.deepEqual(csv(['Customer'], [], { ...asked, query: 'map=Customer:customer.id' }).plan.lookups, []);
});

test('cells are read by the formats of the request, and by nothing else', () => {
  const query = `formats=${encodeURIComponent('date:d.M.yyyy;decimal:1.234,50;boolean:ja/nein')}`;
  const file = csv(
    ['aDate', 'aDecimal', 'anInteger', 'aFloat', 'aBoolean'],
    [['31.1.2026', '123,5', '4', '-1,5e1', 'JA'], ['2026-01-31', '1.5', '1,0', '', 'true'], ['31.02.2026', '', '', '', '']], // biome-ignore format: a file
    { entity: 'things', query },
  );
  assert.deepEqual(file.staged[0], ['2026-01-31', '123.5', '4', '-15', 'true']);
  assert.deepEqual(file.mistakes, [
    '2 aDate INVALID',
    '2 aDecimal TYPE_MISMATCH',
    '2 anInteger TYPE_MISMATCH',
    '2 aBoolean TYPE_MISMATCH',
    '3 aDate INVALID',
  ]);
});

for (const [name, headers, query, mistakes] of [
  ['a name that is no field', ['name', 'nmae'], '', ['0 nmae UNKNOWN_FIELD']],
  ['a relation', ['name', 'orders'], '', ['0 orders UNKNOWN_FIELD']],
  ['a field twice', ['name', 'name'], '', ['0 name INVALID']],
  ['a field twice by its map', ['name', 'Name'], 'map=Name:name', ['0 Name INVALID']],
  ['a header without a name', ['name', ''], '', ['0  INVALID']],
  ['a required field that is missing', ['email'], '', ['0 name REQUIRED']],
  ['a required field that is missing for new records', ['email'], 'onConflict=update', ['0 name REQUIRED']],
  ['a required field that is missing, with ids', ['id', 'email'], 'onConflict=skip', ['0 name REQUIRED']],
  ['a required field that its map leaves out', ['name'], 'map=name:', ['0 name REQUIRED']],
  ['a map of a header that is not there', ['name'], 'map=Age:', ['0 Age UNKNOWN_FIELD']],
  ['semicolons', ['name;email'], '', ['0 name;email UNKNOWN_FIELD', '0 name REQUIRED']],
] as const) {
  test(`headers with ${name} are refused`, () => {
    const refusal = refusalOf(() => csv(headers, [], { query }));
    assert.equal(refusal.code, 'VALIDATION_FAILED');
    assert.deepEqual(told(refusal.details ?? []), mistakes);
  });
}

for (const [header, message] of [
  [
    'customer',
    'is the relation customer, whose id is the field customerId: map=customer:customer.email looks the record up by its email, map=customer:customerId takes ids',
  ],
  [
    'Customer',
    'is the relation customer, whose id is the field customerId: map=Customer:customer.email looks the record up by its email, map=Customer:customerId takes ids',
  ],
  ['Items', 'is the relation items; import the records of items instead'],
] as const) {
  test(`the message for the header ${header} says what the file may give in place of a relation`, () => {
    const end = '; map=Header:field gives it another name, map=Header: leaves it out';
    const [detail] = refusalOf(() => csv(['status', header], [], { entity: 'orders' })).details ?? [];
    const words = detail?.message ?? '';
    assert.ok(words.endsWith(end), words);
    if (typeof message === 'string') assert.equal(words, `${message}${end}`);
    else assert.match(words, message);
  });
}

test('a relation that the row rules set, or without a unique field, is not looked up', () => {
  const ruled = makeShop({ orders: { rowRules: [{ column: 'customerId', claim: 'customer' }] } });
  const words = (asked: Asked): string | undefined =>
    refusalOf(() => csv(['status', 'Customer'], [], { entity: 'orders', ...asked })).details?.[0]?.message;
  assert.match(
    words({ workspace: ruled, principal: external({ customer: 1 }) }) ?? '',
    /^is the relation customer, which the row rules set: map=Customer: leaves it out/,
  );
  const plain = makeShop({ customers: { fields: { name: { type: 'string' } } } });
  assert.match(
    words({ workspace: plain }) ?? '',
    /^is the relation customer, whose id is the field customerId: map=Customer:customerId takes ids;/,
  );
});

test('every mistake of a row is told, and the row is not staged', () => {
  const rows = [
    ['', '0', 'x'],
    ['p', '5', '1'],
    ['p', '5'],
  ];
  const { staged, mistakes } = csv(['product', 'quantity', 'orderId'], rows, { entity: 'items' });
  assert.deepEqual(mistakes, ['1 quantity OUT_OF_RANGE', '1 orderId TYPE_MISMATCH', '3 null INVALID']);
  assert.deepEqual(staged, [undefined, ['p', '5', '1'], undefined]);
});

test('lines of JSON say which columns they give', () => {
  const { columns, staged, mistakes } = ndjson(['{"name":"x"}', '{"id":7,"name":"y"}'], { entity: 'tags' });
  assert.deepEqual(columns, ['id', 'name']);
  assert.deepEqual(staged, [
    [null, 'x', '01'],
    ['7', 'y', '11'],
  ]);
  assert.deepEqual(mistakes, []);
});

for (const [line, mistakes] of [
  ['{}', ['1 name REQUIRED']],
  ['{"name":null}', ['1 name REQUIRED']],
  ['{"name":1,"x":2,"orders":[]}', ['1 name TYPE_MISMATCH', '1 x UNKNOWN_FIELD', '1 orders UNKNOWN_FIELD']],
  ['{"name":"Ann","createdAt":"junk"}', ['1 createdAt INVALID']],
  ['[]', ['1 null TYPE_MISMATCH']],
  ['null', ['1 null TYPE_MISMATCH']],
  ['1.50', ['1 null TYPE_MISMATCH']],
] as const) {
  test(`the line ${line} is refused`, () => {
    const refused = ndjson([line]);
    assert.deepEqual(refused.mistakes, mistakes);
    assert.deepEqual(refused.staged, [undefined]);
  });
}

test('an update needs no field but the id, a create all that are required', () => {
  const { mistakes } = ndjson(['{"id":1}', '{"email":"a@b"}'], { query: 'onConflict=update' });
  assert.deepEqual(mistakes, ['2 name REQUIRED']);
});

test('owners give ids and timestamps, users may not', () => {
  const user = external({ country: 'nl' });
  assert.deepEqual(csv(['id', 'name', 'createdAt'], []).columns, ['id', 'name', 'createdAt']);
  const refusal = refusalOf(() => csv(['id', 'name', 'createdAt'], [], { principal: user }));
  assert.deepEqual(told(refusal.details ?? []), ['0 id READ_ONLY', '0 createdAt READ_ONLY']);
  const { plan } = csv(['id', 'name'], [], { principal: user, query: 'onConflict=update' });
  assert.equal(plan.ids, 'known');
  assert.deepEqual(ndjson(['{"id":1,"name":"Ann"}'], { principal: user }).mistakes, ['1 id READ_ONLY']);
});

test('a row rule stamps its column on every row, and refuses rows of others', () => {
  const asked: Asked = { principal: external({ country: 'nl' }), workspace: RULED };
  assert.deepEqual(csv(['name'], [['Ann']], asked).staged, [['Ann', 'nl']]);
  assert.deepEqual(csv(['name', 'country'], [['Ann', 'nl']], asked).staged, [['Ann', 'nl']]);
  refuses(() => csv(['name', 'country'], [['Ann', 'be']], asked), /^Column country may only/, 'FORBIDDEN');
  refuses(() => csv(['name', 'country'], [['Ann', '']], asked), /^Column country may only/, 'FORBIDDEN');
  const { columns, staged } = ndjson(['{"name":"Ann"}'], asked);
  assert.deepEqual(staged[0]?.[columns.indexOf('country')], 'nl');
  refuses(() => ndjson(['{"name":"Ann","country":null}'], asked), /^Column country may only/, 'FORBIDDEN');
});

for (const [map, message] of [
  [
    'Mail:customr.email',
    'Unknown relation customr on entity orders. Did you mean customer? Known: customer, items, tags',
  ],
  ['Mail:items.id', 'map looks up items.id, but items is no reference'],
  ['Mail:customer.', 'map looks up customer., which names no field of customers after the dot. Possible: id, email'],
  ['Mail:.email', 'map looks up .email, which names no relation before the dot. Known: customer, items, tags'],
  ['Mail:customer.mail', /^Unknown field mail on entity customers\. Did you mean email\?/],
  ['Mail:customer.name', /^map looks up customer\.name, but name is not unique in customers\. Possible: id, email/],
] as const) {
  test(`map=${map} is refused`, () => {
    const view = makePlanContext(SHOP);
    const words = refusalOf(() => checkImport(request(`map=${map}`), getEntity(SHOP, 'orders'), view)).message;
    if (typeof message === 'string') assert.equal(words, message);
    else assert.match(words, message);
  });
}

test('one reference is looked up by one field', () => {
  const workspace = makeShop({ customers: { fields: { name: { type: 'string' }, number: { type: 'integer', unique: true }, code: { type: 'string', unique: true } } } }); // biome-ignore format: one line
  const check = (map: string) => checkImport(request(`map=${map}`), getEntity(workspace, 'orders'), makePlanContext(workspace)); // biome-ignore format: one line
  refuses(
    () => check('A:customer.number,B:customer.code'),
    'map looks up customerId by customer.number and by customer.code: one of them is possible',
  );
  check('A:customer.code,B:customer.id,C:customerId');
});

test('a reference that the row rules set is not looked up', () => {
  const workspace = makeShop({ orders: { rowRules: [{ column: 'customerId', claim: 'customer' }] } });
  const view = makePlanContext(workspace, external({ customer: 1 }));
  refuses(
    () => checkImport(request('map=Mail:customer.email'), getEntity(workspace, 'orders'), view),
    'map looks up customer.email, but the row rules set customerId: leave the column out by map=Header:',
  );
});

test('what can be refused before the first byte of a file is', () => {
  const customers = getEntity(RULED, 'customers');
  checkImport(request('map=A:name,B:'), customers, makePlanContext(RULED));
  refuses(
    () => checkImport(request('map=A:nmae'), customers, makePlanContext(RULED)),
    /^Unknown field nmae on entity customers\. Did you mean name\?/,
  );
  refuses(
    () => checkImport(request(''), customers, makePlanContext(RULED, external({}))),
    /no usable value for it$/,
    'FORBIDDEN',
  );
});
