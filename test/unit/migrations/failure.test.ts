// Why a migration failed, in the words that its administrator reads.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CITUS_DIALECT } from '../../../src/citus/node-errors.ts';
import { setClusterDialect } from '../../../src/database/cluster-dialect.ts';
import { toMigrationError } from '../../../src/migrations/failure.ts';

setClusterDialect(CITUS_DIALECT);

const thrown = (code: string, routine: string, message = 'as PostgreSQL says it'): Error =>
  Object.assign(new Error(message), { code, routine });

for (const [what, error, code, words] of [
  [
    'a node that nobody reaches',
    thrown('08006', 'ReportConnectionError', 'connection to the remote node wda@10.0.0.11:5432 failed'),
    'INTERRUPTED',
    /node of the cluster was lost/,
  ],
  ['a lock', thrown('55P03', 'ProcSleep'), 'LOCK_TIMEOUT', /held the tables/],
  ['a view', thrown('2BP01', 'reportDependentObjects'), 'DEPENDENT_OBJECTS', /outside of this API/],
  ['records', thrown('23505', '_bt_check_unique'), 'DATA_CONFLICT', /Records stand in the way/],
  ['a mistake of ours', new TypeError('x is undefined'), 'INTERNAL_ERROR', /log of the server/],
] as const) {
  test(`${what}: ${code}`, () => {
    const failure = toMigrationError(error, undefined);
    assert.equal(failure.code, code);
    assert.match(failure.message, words);
    // Nothing of the database's own words, which name tables and values.
    assert.ok(!failure.message.includes(error.message));
  });
}
