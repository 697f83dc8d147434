// Checks at the start that a pooler does what its setting says. Its mistakes would not show at once: a lock that another
// connection has, a statement that is missing, an answer for another client.
import { randomInt } from 'node:crypto';
import type pg from 'pg';
import { destroy, makeConnect, type OpenedConnection } from './connect.ts';
import type { Route, Routes } from './connection-url.ts';
import { getSqlState, InvalidSession } from './errors.ts';

// Two connections that take turns get each other's backend in nearly every round if a pooler shares them.
const ROUNDS = 4;
const STATEMENT_COUNT = 40;
// Limit of the whole check; a pooler without a free connection keeps its clients waiting for minutes.
const TIMEOUT_MS = 10_000;

const LIMITS = { statementTimeoutMs: 5000, lockTimeoutMs: 1000, pipeline: true };

/** Throws InvalidSession when statements through a pooler, if there is one, do not behave like those of a connection. */
export async function checkPooler({ connection: route, direct }: Routes): Promise<void> {
  if (route.pooler === undefined || route.pooler === 'none') return;
  // Sets nothing that outlives a transaction, whatever kind of pooler it is.
  const connect = makeConnect({ ...route, pooler: 'transaction' });
  const opened: OpenedConnection[] = [];
  let hasTimedOut = false;
  const timer = setTimeout(() => {
    hasTimedOut = true;
    for (const one of opened) destroy(one);
  }, TIMEOUT_MS);
  const open = async (): Promise<pg.Client> => {
    const one = await connect(LIMITS);
    opened.push(one);
    return one.client;
  };
  try {
    const [a, b] = [await open(), await open()];
    if (route.pooler === 'session') return await checkOwnBackend(a, b);
    await checkSameDatabase(a, direct);
    await checkPrepared(a, b);
    await checkPipelining(a, b);
  } catch (error) {
    throw hasTimedOut ? new InvalidSession(TOO_FEW_CONNECTIONS) : error;
  } finally {
    clearTimeout(timer);
    for (const { client } of opened) client.end().catch(() => undefined);
  }
}

const TOO_FEW_CONNECTIONS =
  'The pooler in front of the database gave no answer to one connection while another had a transaction open: it needs more connections to the database';

async function getBackendPid(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid as number;
}

/** Runs `work` of one connection while the other has an open transaction, and with it most likely the first one's last backend. */
async function withOpenTransaction<T>(other: pg.Client, work: (otherPid: number) => Promise<T>): Promise<T> {
  await other.query('begin');
  try {
    return await work(await getBackendPid(other));
  } finally {
    await other.query('rollback').catch(() => undefined);
  }
}

async function checkOwnBackend(a: pg.Client, b: pg.Client): Promise<void> {
  const ownPid = await getBackendPid(a);
  for (let round = 0; round < ROUNDS; round++) {
    const hasOwnBackend = await withOpenTransaction(
      b,
      async (other) => other !== ownPid && (await getBackendPid(a)) === ownPid,
    );
    if (!hasOwnBackend) {
      throw new InvalidSession(
        'The pooler in front of the database gives each transaction another connection, and WDA_POOLER=session says that it does not: set pool_mode = session there, or use WDA_POOLER=transaction with DATABASE_DIRECT_URL',
      );
    }
  }
}

/** Checks that a lock of the one way is seen by the other, and that tables of the one belong to the other's role. */
async function checkSameDatabase(pooled: pg.Client, direct: Route): Promise<void> {
  const { client } = await makeConnect(direct)(LIMITS);
  try {
    const key = randomInt(2 ** 47);
    const role = (await client.query({ text: 'select pg_advisory_lock($1), current_user as name', values: [key] }))
      .rows[0];
    const lockResult = await pooled.query({
      text: 'select pg_try_advisory_xact_lock($1) as is_free, current_user as name',
      values: [key],
    });
    if (lockResult.rows[0].is_free) {
      throw new InvalidSession('DATABASE_DIRECT_URL leads to another server or database than DATABASE_URL');
    }
    if (lockResult.rows[0].name !== role.name) {
      throw new InvalidSession('DATABASE_DIRECT_URL works as another role than DATABASE_URL');
    }
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Checks that a statement prepared in one transaction exists in the next, on whichever backend. */
async function checkPrepared(a: pg.Client, b: pg.Client): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const query = { name: `probe${round}`, text: `select $1::int + ${round} as sum`, values: [round] };
    try {
      await a.query(query);
      const { rows } = await withOpenTransaction(b, () => a.query(query));
      if (rows[0]?.sum === 2 * round) continue;
    } catch (error) {
      // The name has another text, has none, or exists already.
      if (!['26000', '42P05', '08P01'].includes(getSqlState(error) ?? '')) throw error;
    }
    throw new InvalidSession(
      'The pooler in front of the database loses prepared statements between transactions: PgBouncer 1.21 or newer with max_prepared_statements above 0 is needed',
    );
  }
}

/** Checks that statements sent without waiting get their own answers, even while others send theirs. */
async function checkPipelining(a: pg.Client, b: pg.Client): Promise<void> {
  const isAnsweredInOrder = async (client: pg.Client, prefix: string): Promise<boolean> => {
    const texts = Array.from({ length: STATEMENT_COUNT }, (_, index) => `${prefix} ${index}`);
    const results = await Promise.all(
      texts.map((text) => client.query<{ text: string }>({ text: 'select $1::text as text', values: [text] })),
    );
    return results.every(({ rows }, index) => rows.length === 1 && rows[0]?.text === texts[index]);
  };
  const outcomes = await Promise.all([isAnsweredInOrder(a, 'a'), isAnsweredInOrder(b, 'b')]);
  if (outcomes.includes(false)) {
    throw new InvalidSession(
      'The pooler in front of the database mixes up the answers of statements that are sent without waiting for those before (pipelining)',
    );
  }
}
