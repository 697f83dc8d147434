import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  formatLiterals,
  getKind,
  listClaims,
  listParts,
  moveGrant,
  parseLiteral,
  parseLiterals,
  sayGrant,
  selectGrants,
  setOperator,
  toGroup,
  toRole,
} from '../../../../console/src/access/grants.ts';
import { Digits, stringifyExact } from '../../../../console/src/api/json.ts';

const LARGE = new Digits('9007199254740993');
const compare = { field: 'a', op: 'eq', value: { claim: 'c' } };

test('a role is a text, several are a list, none is every user', () => {
  assert.deepEqual([toRole([]), toRole(['a']), toRole(['a', 'b'])], [undefined, 'a', ['a', 'b']]);
});

test('a node is a group, a negation or a comparison', () => {
  assert.equal(getKind({ and: [compare] }), 'and');
  assert.equal(getKind({ or: [] }), 'or');
  assert.equal(getKind({ not: compare }), 'not');
  assert.equal(getKind(compare), 'compare');
  // Members of a comparison may not be taken for a group.
  assert.equal(getKind({ and: 1 as never, field: 'a' }), 'compare');
  assert.deepEqual(listParts({ or: [compare, compare] }).length, 2);
  assert.deepEqual(toGroup('and', [compare]), compare);
  assert.deepEqual(toGroup('or', [compare, compare]), { or: [compare, compare] });
  assert.equal(toGroup('or', []), undefined);
});

test('another operator keeps the value where it fits', () => {
  const set = (value: unknown, op: string) => setOperator({ field: 'a', op: 'eq', value: value as never }, op).value;
  assert.deepEqual(set(LARGE, 'in'), [LARGE]);
  assert.deepEqual(set([LARGE, '2'], 'eq'), LARGE);
  assert.deepEqual(set({ claim: 'c' }, 'in'), { claim: 'c' });
  assert.deepEqual(set({ claim: 'c' }, 'between'), [{ claim: 'c' }, '']);
  assert.deepEqual(setOperator({ field: 'a', op: 'eq', value: 1 as never }, 'isNull'), { field: 'a', op: 'isNull' });
});

test('typed values have the type of their column, and keep their digits', () => {
  assert.equal(stringifyExact(parseLiteral(' 9007199254740993 ', 'bigint')), '9007199254740993');
  assert.equal(stringifyExact(parseLiteral('1.10', 'decimal')), '1.10');
  assert.equal(parseLiteral('1x', 'integer'), '1x');
  assert.equal(parseLiteral('7', 'string'), '7');
  assert.equal(parseLiteral('true', 'boolean'), true);
  assert.deepEqual(stringifyExact(parseLiterals('1,2', 'relation')), '[1,2]');
  assert.deepEqual(parseLiterals('a\\,b,c', 'string'), ['a,b', 'c']);
  assert.equal(formatLiterals(['a,b', 'c']), 'a\\,b,c');
});

test('a grant moves by one', () => {
  const [a, b] = [{ can: ['read'] }, { can: ['create'] }];
  assert.deepEqual(moveGrant([a, b], 0, 1), [b, a]);
  assert.deepEqual(moveGrant([a, b], 1, -1), [b, a]);
});

test('grants of some roles are those of every user, without the others', () => {
  const grants = [{ can: ['read'] }, { role: 'a', can: ['create'] }, { role: ['b', 'c'], can: ['update'] }];
  assert.deepEqual(selectGrants(grants, ['c']), [{ can: ['read'] }, { can: ['update'] }]);
  assert.deepEqual(selectGrants(grants, ['d']), [{ can: ['read'] }]);
  assert.equal(selectGrants(null, ['a']), null);
});

test('claims of rules and grants are suggested', () => {
  const document = {
    entities: {
      constructor: { rowRules: [{ column: 'a', claim: 'x' }] },
      b: { grants: [{ can: ['read'], where: { and: [compare] }, set: { d: { claim: 'y' } } }] },
    },
  };
  assert.deepEqual(listClaims(document), ['x', 'c', 'y', 'sub', 'email']);
  assert.deepEqual(listClaims(undefined), ['sub', 'email']);
});

test('a grant is said in the words of the server, also while it is written', () => {
  const grant = {
    role: 'agent',
    can: ['read', 'update'],
    where: { or: [{ field: 'total', op: 'eq', value: LARGE }, { not: { field: '', op: 'in', value: { claim: '' } } }] },
    fields: ['total'],
  };
  assert.equal(
    sayGrant(grant, 'orders'),
    'Users with the role agent may read and update records of orders where total is 9007199254740993 or not (… is one of the claim …); they see id and total of these',
  );
  assert.equal(sayGrant({ can: [] }, 'orders'), 'Every user may  all records of orders');
});
