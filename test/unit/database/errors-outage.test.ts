// What an error of the database says about it: words for everybody, details for the log, and whether waiting helps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InstallError, InvalidSession, retryUntilAvailable, toOutage } from '../../../src/database/errors.ts';
import { badRequest, databaseUnavailable } from '../../../src/errors.ts';

const failed = (code: string | undefined, message = `something of ${code}`): Error =>
  Object.assign(new Error(message), code === undefined ? {} : { code });

const TABLE: readonly (readonly [error: unknown, isPassing: boolean, words: RegExp])[] = [
  [failed('ECONNREFUSED', 'connect ECONNREFUSED 10.0.0.1:5432'), true, /nothing listens/],
  [failed('ENOENT', 'connect ENOENT /run/.s.PGSQL.5432'), true, /nothing listens/],
  [failed('ENOTFOUND', 'getaddrinfo ENOTFOUND db'), true, /name of its host/],
  [failed('EAI_AGAIN', 'getaddrinfo EAI_AGAIN db'), true, /name of its host/],
  [failed('EHOSTUNREACH'), true, /no way to its host/],
  [failed('ETIMEDOUT'), true, /in time/],
  [failed(undefined, 'timeout expired'), true, /in time/],
  [failed('ECONNRESET', 'read ECONNRESET'), true, /connection broke/],
  [failed(undefined, 'Connection terminated unexpectedly'), true, /connection broke/],
  [failed('08006'), true, /connection broke/],
  [failed('08P01', 'unsupported startup parameter: options'), true, /pooler/],
  [failed('57P03', 'the database system is starting up'), true, /starting up/],
  [failed('57P01', 'terminating connection due to administrator command'), true, /shut down/],
  [failed('25006', 'cannot execute CREATE SCHEMA in a read-only transaction'), true, /takes no writes/],
  [failed('53300', 'sorry, too many clients already'), true, /no free connection/],
  [failed('53100', 'could not extend file'), true, /disk is full/],
  [failed('40P01', 'deadlock detected'), true, /log/],
  [databaseUnavailable(failed('ECONNREFUSED')), true, /nothing listens/],
  [databaseUnavailable(), true, /log/],
  [new AggregateError([failed('ECONNREFUSED'), failed('ENOTFOUND')], ''), true, /nothing listens/],
  [failed('28P01', 'password authentication failed for user "me"'), false, /refuses the user/],
  [failed('3D000', 'database "x" does not exist'), false, /no database of that name/],
  [failed('42501', 'permission denied for schema wda'), false, /log/],
  [failed('SELF_SIGNED_CERT_IN_CHAIN'), false, /certificate/],
  [failed('ERR_TLS_CERT_ALTNAME_INVALID'), false, /certificate/],
  [
    new InvalidSession('The pooler ignores our settings: TimeZone'),
    true,
    /^the pooler ignores our settings: TimeZone$/,
  ],
  [databaseUnavailable(new InvalidSession('The database takes no writes')), true, /^the database takes no writes$/],
  [badRequest('INVALID_BODY', 'x'), false, /log/],
  [new TypeError('x is not a function'), false, /log/],
  ['just text', false, /log/],
  [undefined, false, /log/],
];

for (const [error, isTransient, reason] of TABLE) {
  const name = error instanceof AggregateError ? 'several' : String((error as { code?: string })?.code ?? error);
  test(`${name}: ${reason.source}`, () => {
    const outage = toOutage(error);
    assert.equal(outage.isTransient, isTransient);
    assert.match(outage.reason, reason);
    assert.doesNotMatch(outage.reason, /\d|ECONN|\//);
  });
}

test('the details are the messages as they came, each once', () => {
  const [one, other] = [failed('A', 'connect to a'), failed('B', 'connect to b')];
  assert.equal(
    toOutage(databaseUnavailable(new AggregateError([one, other, one], ''))).detail,
    'connect to a; connect to b',
  );
});

test('work is tried again while the database is away, and its failure thrown when that does not help', async () => {
  const outcomes: (Error | undefined)[] = [databaseUnavailable(failed('ECONNREFUSED')), undefined];
  const waited: string[] = [];
  const makeRetryOptions = (isCancelled: boolean) => ({
    onOutage: ({ reason }: { readonly reason: string }) => void waited.push(reason),
    isCancelled: () => isCancelled,
  });
  const work = async (): Promise<string> => {
    const outcome = outcomes.shift();
    if (outcome !== undefined) throw outcome;
    return 'done';
  };
  assert.equal(await retryUntilAvailable(work, makeRetryOptions(false)), 'done');
  assert.deepEqual(waited, ['nothing listens at its address']);
  for (const error of [failed('28P01'), new InstallError('PostgreSQL 15 or newer is needed'), new TypeError('odd')]) {
    outcomes.push(error);
    await assert.rejects(retryUntilAvailable(work, makeRetryOptions(false)), error);
  }
  outcomes.push(failed('ECONNREFUSED'));
  await assert.rejects(retryUntilAvailable(work, makeRetryOptions(true)), { code: 'ECONNREFUSED' });
});
