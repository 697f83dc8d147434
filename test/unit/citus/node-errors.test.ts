// What a coordinator says of a node that it has lost: whether a write may have been done, and which node it is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CITUS_DIALECT } from '../../../src/citus/node-errors.ts';
import {
  findLostNode,
  isNodeLoss,
  isNodeOutcomeUnknown,
  isSessionBroken,
  setClusterDialect,
} from '../../../src/database/cluster-dialect.ts';
import { isConnectionLoss, translateStatementError } from '../../../src/database/errors.ts';

setClusterDialect(CITUS_DIALECT);

const AT = 'connection to the remote node wda@10.0.0.11:5432 failed';

for (const { what, code, routine, message, isUnknown, node } of [
  {
    what: 'nobody listens there',
    code: '08006',
    routine: 'ReportConnectionError',
    message: `${AT} with the following error: Connection refused\n\tIs the server running on that host and accepting TCP/IP connections?`,
    isUnknown: false,
    node: '10.0.0.11:5432',
  },
  {
    what: 'it starts',
    code: '08006',
    routine: 'ReportConnectionError',
    message: `${AT} with the following error: FATAL:  the database system is starting up`,
    isUnknown: false,
    node: '10.0.0.11:5432',
  },
  {
    what: 'it went under the statement',
    code: '08006',
    routine: 'ReportConnectionError',
    message: `${AT} with the following error: server closed the connection unexpectedly`,
    isUnknown: true,
    node: '10.0.0.11:5432',
  },
  {
    what: 'it went at the COMMIT',
    code: 'XX000',
    routine: 'ErrorIfPostCommitFailedShardPlacements',
    message: 'could not commit transaction for shard 102025 on at least one active node',
    isUnknown: true,
    node: undefined,
  },
  {
    what: 'a change of all nodes met it',
    code: 'XX000',
    routine: 'MarkRemoteTransactionFailed',
    message: 'failure on connection marked as essential: 10.0.0.11:5432',
    isUnknown: false,
    node: '10.0.0.11:5432',
  },
  {
    what: 'a move could not ask it for its space',
    code: 'XX000',
    routine: 'CheckSpaceConstraints',
    message: 'Could not fetch disk stats for node: 10.0.0.11-5432',
    isUnknown: false,
    node: undefined,
  },
  {
    what: 'it was killed between the parts of a statement',
    code: 'XX000',
    routine: 'ReportResultError',
    message:
      'server closed the connection unexpectedly\n\tThis probably means the server terminated abnormally\n\tbefore or while processing the request.',
    isUnknown: true,
    node: undefined,
  },
  {
    what: 'it was told to end the session',
    code: '57P01',
    routine: 'ReportResultError',
    message: 'terminating connection due to administrator command',
    isUnknown: true,
    node: undefined,
  },
]) {
  test(`a node is lost: ${what}`, () => {
    const error = Object.assign(new Error(message), { code, routine });
    assert.equal(isNodeLoss(error), true);
    assert.equal(isNodeOutcomeUnknown(error), isUnknown);
    assert.equal(findLostNode(error), node);
    // The connection to the coordinator goes on.
    assert.equal(isConnectionLoss(error), false);
    const refusal = translateStatementError(error);
    assert.deepEqual([refusal.status, refusal.headers['Retry-After']], [503, '2']);
    assert.doesNotMatch(refusal.message, /10\.0\.0\.11/);
  });
}

test('what a node refuses, and what has no function, is no loss of a node', () => {
  for (const error of [
    Object.assign(new Error('duplicate key'), { code: '23505', routine: 'ReportResultError' }),
    Object.assign(new Error('cache lookup failed'), { code: 'XX000', routine: 'ReportResultError' }),
    Object.assign(new Error(AT), { code: '08006' }),
    new Error(AT),
    undefined,
  ]) {
    assert.equal(isNodeLoss(error), false);
    assert.equal(findLostNode(error), undefined);
  }
});

test('a coordinator whose connection to a node has lost its transaction is known, and refused with 503', () => {
  const message = 'This is an internal Citus function can only be used in a distributed transaction';
  const error = Object.assign(new Error(message), { code: '55000', routine: 'ReportResultError' });
  assert.ok(isSessionBroken(error));
  assert.equal(isNodeLoss(error), false);
  assert.equal(translateStatementError(error).status, 503);
  assert.equal(
    isSessionBroken(Object.assign(new Error('currval is not defined'), { code: '55000', routine: 'currval_oid' })),
    false,
  );
});

test('a mistake in what Citus writes is of a schema that changes, and one of ours is not', () => {
  const mistake = Object.assign(new Error('syntax error'), { code: '42601' });
  assert.equal(translateStatementError(mistake).code, 'INTERNAL_ERROR');
  const passedOn = Object.assign(mistake, { where: 'while executing command on 10.0.0.11:5432' });
  assert.equal(translateStatementError(passedOn).code, 'SERVICE_UNAVAILABLE');
});
