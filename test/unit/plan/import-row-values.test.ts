// Values of files: what each type takes from a CSV cell and from a member of a line.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Field } from '../../../src/model/entity.ts';
import { parseExact } from '../../../src/model/exact-json.ts';
import { getEntity } from '../../../src/model/workspace.ts';
import { decodeCell, decodeMember } from '../../../src/plan/import-row.ts';
import { makeShop } from '../../support/field-types-fixture.ts';

const things = getEntity(makeShop(), 'things');
const fieldOf = (name: string): Field => things.fields.get(name) as Field;

/** Text that is stored, or the code of the mistake after a `!`. */
const CELLS: readonly (readonly [field: string, cell: string, stored: string])[] = [
  ['aString', ' x ', ' x '],
  ['aText', 'a\u0000b', '!INVALID'],
  ['anInteger', '5', '5'],
  ['anInteger', '+05', '5'],
  ['anInteger', '6', '!OUT_OF_RANGE'],
  ['anInteger', '1.0', '!TYPE_MISMATCH'],
  ['anInteger', ' 1', '!TYPE_MISMATCH'],
  ['aBigint', '9223372036854775807', '9223372036854775807'],
  ['aBigint', '9223372036854775808', '!OUT_OF_RANGE'],
  ['aDecimal', '1.50', '1.50'],
  ['aDecimal', '1,5', '!TYPE_MISMATCH'],
  ['aFloat', '1e2', '100'],
  ['aFloat', 'NaN', '!TYPE_MISMATCH'],
  ['aBoolean', 'F', 'false'],
  ['aBoolean', '1', 'true'],
  ['aBoolean', '0', 'false'],
  ['aBoolean', 'TRUE', 'true'],
  ['aBoolean', 'yes', '!TYPE_MISMATCH'],
  ['aDate', '2026-01-31', '2026-01-31'],
  ['aDate', '31.01.2026', '!INVALID'],
  ['aDatetime', '2026-01-31T12:00:00Z', '2026-01-31T12:00:00.000Z'],
  ['aDatetime', '2026-01-31T12:00:00', '2026-01-31T12:00:00.000Z'],
  ['aDatetime', '2026-01-31 12:00:00.25+02', '2026-01-31T10:00:00.250Z'],
  ['aDatetime', '2026-01-31', '!INVALID'],
  ['aDatetime', '2031-01-31T12:00:00', '!OUT_OF_RANGE'],
  ['aTime', '12:00', '12:00:00'],
  ['aTime', '12:00:00.000', '!INVALID'],
  ['aUuid', '00000000-0000-4000-8000-00000000000A', '00000000-0000-4000-8000-00000000000a'],
  ['aJson', '{"a": 1.0}', '{"a":1.0}'],
  ['aJson', 'text', '!INVALID'],
  ['aJson', `${'['.repeat(64)}${']'.repeat(64)}`, `${'['.repeat(64)}${']'.repeat(64)}`],
  ['aJson', `${'['.repeat(65)}${']'.repeat(65)}`, '!INVALID'],
  ['anEnum', 'red', 'red'],
  ['anEnum', 'RED', '!NOT_IN_ENUM'],
  ['id', '1', '1'],
  ['id', '9007199254740991', '9007199254740991'],
  ['id', '9007199254740992', '!OUT_OF_RANGE'],
  ['id', '0', '!OUT_OF_RANGE'],
  ['id', '-1', '!OUT_OF_RANGE'],
  ['id', '1.5', '!TYPE_MISMATCH'],
  ['id', 'x', '!TYPE_MISMATCH'],
];
for (const [name, cell, stored] of CELLS) {
  test(`cell ${JSON.stringify(cell.slice(0, 40))} of ${name} is ${stored.slice(0, 40)}`, () => {
    const decoded = decodeCell(fieldOf(name), cell);
    assert.equal(decoded.ok ? decoded.value : `!${decoded.code}`, stored);
  });
}

const MEMBERS: readonly (readonly [field: string, json: string, stored: string])[] = [
  ['aString', '1', '!TYPE_MISMATCH'],
  ['anInteger', '"5"', '!TYPE_MISMATCH'],
  ['anInteger', '5.0', '5'],
  ['aBigint', '9223372036854775807', '9223372036854775807'],
  ['aBigint', '"9223372036854775807"', '9223372036854775807'],
  ['aDecimal', '1.50', '1.50'],
  ['aBoolean', '"t"', '!TYPE_MISMATCH'],
  ['aDatetime', '"2026-01-31T12:00:00"', '2026-01-31T12:00:00.000Z'],
  ['aDatetime', '1769860800', '!TYPE_MISMATCH'],
  ['aJson', '{"a": 1.50}', '{"a":1.50}'],
  ['id', '7', '7'],
  ['id', '"7"', '7'],
  ['id', '9007199254740993', '!OUT_OF_RANGE'],
  ['id', 'true', '!TYPE_MISMATCH'],
];
for (const [name, json, stored] of MEMBERS) {
  test(`member ${json} of ${name} is ${stored}`, () => {
    const decoded = decodeMember(fieldOf(name), parseExact(json));
    assert.equal(decoded.ok ? decoded.value : `!${decoded.code}`, stored);
  });
}
