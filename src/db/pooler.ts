// Whether a pooler does what its setting says, asked before the first statement of ours goes through it. What it gets wrong
// would not show at once: a lock that another connection has, a statement that is missing, an answer for somebody else.
import { randomInt } from 'node:crypto';
import type pg from 'pg';
import { destroy, makeConnect, type OpenedConnection } from './connect.ts';
import type { Route, Routes } from './connection-url.ts';
import { InvalidSession, sqlState } from './errors.ts';

// Two connections that take turns get each other's backend in nearly every round, where a pooler shares them.
const ROUNDS = 4;
const PIPELINED = 40;
// Of the whole; a pooler without a free connection keeps its clients waiting for minutes.
const LIMIT_MS = 10_000;

const LIMITS = { statementTimeoutMs: 5000, lockTimeoutMs: 1000, pipeline: true };

/** Throws InvalidSession when statements through the pooler, if there is one, would not be those of a connection of their own. */
export async function checkPooler({ connection: route, direct }: Routes): Promise<void> {
  if (route.pooler === undefined || route.pooler === 'none') return;
  // Sets nothing that outlives a transaction, whatever the pooler turns out to be.
  const connect = makeConnect({ ...route, pooler: 'transaction' });
  const opened: OpenedConnection[] = [];
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    for (const one of opened) destroy(one);
  }, LIMIT_MS);
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
    throw isLate ? new InvalidSession(TOO_FEW) : error;
  } finally {
    clearTimeout(timer);
    for (const { client } of opened) client.end().catch(() => undefined);
  }
}

const TOO_FEW =
  'The pooler in front of the database gave no answer to one connection while another had a transaction open: it needs more connections to the database';

async function pidOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid as number;
}

/** Runs `work` of one connection while the other one has a transaction open, and with that most likely its last backend. */
async function beside<T>(other: pg.Client, work: (otherPid: number) => Promise<T>): Promise<T> {
  await other.query('begin');
  try {
    return await work(await pidOf(other));
  } finally {
    await other.query('rollback').catch(() => undefined);
  }
}

async function checkOwnBackend(a: pg.Client, b: pg.Client): Promise<void> {
  const own = await pidOf(a);
  for (let round = 0; round < ROUNDS; round++) {
    const isOwn = await beside(b, async (other) => other !== own && (await pidOf(a)) === own);
    if (!isOwn) {
      throw new InvalidSession(
        'The pooler in front of the database gives each transaction another connection, and WDA_POOLER=session says that it does not: set pool_mode = session there, or use WDA_POOLER=transaction with DATABASE_DIRECT_URL',
      );
    }
  }
}

/** A lock that is held by the one way is seen by the other, and tables that one makes belong to the other's role. */
async function checkSameDatabase(pooled: pg.Client, direct: Route): Promise<void> {
  const { client } = await makeConnect(direct)(LIMITS);
  try {
    const key = randomInt(2 ** 47);
    const role = (await client.query({ text: 'select pg_advisory_lock($1), current_user as name', values: [key] }))
      .rows[0];
    const seen = await pooled.query({
      text: 'select pg_try_advisory_xact_lock($1) as is_free, current_user as name',
      values: [key],
    });
    if (seen.rows[0].is_free) {
      throw new InvalidSession('DATABASE_DIRECT_URL leads to another server or database than DATABASE_URL');
    }
    if (seen.rows[0].name !== role.name) {
      throw new InvalidSession('DATABASE_DIRECT_URL works as another role than DATABASE_URL');
    }
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** What is prepared in one transaction has to be there in the next, on whichever backend. */
async function checkPrepared(a: pg.Client, b: pg.Client): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const query = { name: `probe${round}`, text: `select $1::int + ${round} as sum`, values: [round] };
    try {
      await a.query(query);
      const { rows } = await beside(b, () => a.query(query));
      if (rows[0]?.sum === 2 * round) continue;
    } catch (error) {
      // Another text under the name, none, or one that is there already.
      if (!['26000', '42P05', '08P01'].includes(sqlState(error) ?? '')) throw error;
    }
    throw new InvalidSession(
      'The pooler in front of the database loses prepared statements between transactions: PgBouncer 1.21 or newer with max_prepared_statements above 0 is needed',
    );
  }
}

/** Statements that are sent without waiting for answers get their own ones, also while others send theirs. */
async function checkPipelining(a: pg.Client, b: pg.Client): Promise<void> {
  const ask = async (client: pg.Client, who: string): Promise<boolean> => {
    const asked = Array.from({ length: PIPELINED }, (_, index) => `${who} ${index}`);
    const answers = await Promise.all(
      asked.map((text) => client.query<{ text: string }>({ text: 'select $1::text as text', values: [text] })),
    );
    return answers.every(({ rows }, index) => rows.length === 1 && rows[0]?.text === asked[index]);
  };
  const own = await Promise.all([ask(a, 'a'), ask(b, 'b')]);
  if (own.includes(false)) {
    throw new InvalidSession(
      'The pooler in front of the database mixes up the answers of statements that are sent without waiting for those before (pipelining)',
    );
  }
}
