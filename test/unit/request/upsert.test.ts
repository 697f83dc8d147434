// `onConflict` and `conflict` of creates, by table.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCreateOptions, type Upsert } from '../../../src/request/upsert.ts';
import { refuses } from '../../support/error-response.ts';

const READ: readonly (readonly [query: string, expected: Upsert | undefined])[] = [
  ['', undefined],
  ['_=1', undefined],
  ['onConflict=email', { fields: ['email'], mode: 'update' }],
  ['onConflict=team,number', { fields: ['team', 'number'], mode: 'update' }],
  ['onConflict=team%2Cnumber&conflict=update', { fields: ['team', 'number'], mode: 'update' }],
  ['onConflict=', { fields: [], mode: 'update' }],
  ['onConflict=a,,b,', { fields: ['a', '', 'b', ''], mode: 'update' }],
  ['conflict=skip&onConflict=id', { fields: ['id'], mode: 'skip' }],
];
for (const [query, expected] of READ)
  test(`a create with ${query || 'nothing'}`, () => assert.deepEqual(parseCreateOptions(query), expected));

const REFUSED: readonly (readonly [query: string, message: string])[] = [
  ['onConflict=a,b,a', 'onConflict names a twice'],
  ['onConflict=a&onConflict=b', 'Query parameter onConflict may be given only once'],
  ['conflict=skip', 'conflict is for requests with onConflict=<field>[,<field>…]'],
  ['onConflict=a&conflict=skp', 'Unknown conflict skp. Did you mean skip? Known: update, skip'],
  ['onconflict=a', 'Unknown query parameter onconflict. Did you mean onConflict? Known: onConflict, conflict'],
];
for (const [query, message] of REFUSED)
  test(`a create with ${query} is refused`, () => refuses(() => parseCreateOptions(query), message));
