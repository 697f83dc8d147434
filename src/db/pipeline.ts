// A lane of pipelined connections: quick statements one after the other without waiting for the answers of those before,
// each on the connection where it costs least, prepared once and kept prepared while they are used.
import type { Query } from '../sql/fragment.ts';
import { destroy, type OpenedConnection } from './connect.ts';
import { note, noteWork, type StatementCost } from './cost.ts';
import { MessageTooLong } from './message-limit.ts';
import { isConnectionLoss, isReadOnlyServer, translateConnectionError } from './pg-error.ts';
import { makePrepared, type Naming, type Prepared } from './prepared.ts';
import { watchSilence } from './silence.ts';
import { type Row, runStatement } from './statement.ts';
import { makeWaitingLine, refusalOf, type Waiting } from './waiting-line.ts';
import type { Parameter } from './wire.ts';
import { queueFull, shuttingDown, type Work } from './work.ts';

export interface LaneOptions {
  readonly open: () => Promise<OpenedConnection>;
  /**
   * How many connections are worth to be busy at once. A further one is used when all of these have long to do: on a
   * machine without a free core another busy backend only takes time from the others (with one instead of four, 32
   * clients on two cores: 1.2 times the requests, and a p99 of 7 instead of 50 ms).
   */
  readonly parallel: number;
  readonly maxQueue: number;
  /** How long who names no deadline waits; also the longest silence of a connection that has something to answer. */
  readonly statementTimeoutMs: number;
  /**
   * May what was sent behind a statement, and was never begun, be sent again elsewhere when its connection ends? Reads
   * may: nobody can tell of a write whether it was begun.
   */
  readonly repeatable: boolean;
  /** Was the statement ended because it kept the others waiting? */
  readonly isFault: (error: Error) => boolean;
  /** What becomes of it then; missing: the error is its answer. */
  readonly goOn?: (waiting: Waiting, fault: Error) => Promise<readonly Row[]>;
  /** A write met a server that takes none. */
  readonly onReadOnly: () => void;
  readonly onError: (message: string, error: unknown) => void;
}

// Statements kept prepared on a connection: PostgreSQL keeps the plan of each (10 to 100 kB, most 30).
const MAX_STATEMENTS = 1200;
// While the database is away, connecting is tried again at most this often; requests in between fail at once.
const RECONNECT_PAUSE_MS = 250;
// What it costs to send a statement to a connection, in ms that it could wait elsewhere instead: to prepare it, to make
// one more backend busy, to prepare it in place of another that will be asked for again (which is dearer than a further
// backend, or thousands of statements would all crowd the first: 0.57 instead of 0.67 of the requests over 2,000
// workspaces).
const PREPARE_MS = 0.5;
const FURTHER_MS = 5;
const REPLACE_MS = 6;
// What a statement is supposed to take before it was seen.
const UNKNOWN_MS = 1;
// The least that one takes.
const MIN_WORK_MS = 0.02;
// The quickest answer tells the round trip; should that become longer, it is learned after some thousand answers.
const ROUND_TRIP_GROWTH = 1.0001;
// No more is sent to a connection that has so much to do; what waits here can still go to whichever is free first.
const FULL_MS = 10;
// Nor to one whose statement at work has taken so long: it may be one that takes its whole time.
const STUCK_MS = 25;
// How many of those that wait are looked at for one that is prepared on the connection that is free.
const LOOK_AHEAD = 32;
// After so long a statement goes to the next free connection, prepared there or not.
const MAX_DETOUR_MS = 5;
// A tenant is one of several for so long after another was seen.
const COMPANY_MS = 5000;

/** A statement on its way: sent, and not answered. */
interface Sent {
  readonly waiting: Waiting;
  readonly naming: Naming;
  readonly started: number;
  readonly isAlone: boolean;
  readonly work: number;
  /** Another connection has it now. */
  isMoved: boolean;
}

interface PipelinedConnection {
  readonly opened: OpenedConnection;
  readonly prepared: Prepared;
  /** In the order in which they are answered. */
  readonly sent: Sent[];
  /** What those sent take together, in milliseconds. */
  work: number;
  answeredAt: number;
  usable: boolean;
}

export interface PipelinedLane {
  /** `cost`: what is known of the statement, and is learned from its run. */
  run(query: Query, work: Work, cost?: StatementCost): Promise<readonly Row[]>;
  /** Statements that wait or run. */
  pending(): number;
  size(): number;
  /** Leaves the connections that there are for new ones; what is under way there is still answered. */
  renew(): void;
  close(): Promise<void>;
}

/** `size` connections at most, opened as they are needed. */
export function makePipelinedLane(size: number, options: LaneOptions): PipelinedLane {
  const connections: PipelinedConnection[] = [];
  const queue = makeWaitingLine(options.maxQueue, feedAll);
  let sent = 0;
  let closing = false;
  let connecting: Promise<void> | undefined;
  let failedAt = Number.NEGATIVE_INFINITY;
  let failure: unknown;
  let roundTripMs = Number.POSITIVE_INFINITY;
  let lastTenant: string | undefined;
  let companyUntil = Number.NEGATIVE_INFINITY;
  // One tenant never has more connections than these while there are others: what it may keep waiting is half.
  const tenantConnections = Math.max(1, Math.floor(size / 2));

  /** It gets nothing more; what it has is still answered, if it can. */
  function retire(connection: PipelinedConnection): void {
    if (!connection.usable) return;
    connection.usable = false;
    const index = connections.indexOf(connection);
    // It may have failed before it was one of them.
    if (index < 0) return;
    connections.splice(index, 1);
    if (connections.length > 0) feedAll();
    else for (const waiting of queue.drain()) start(waiting, performance.now());
  }

  async function connect(): Promise<void> {
    const opened = await options.open();
    const connection: PipelinedConnection = {
      opened,
      prepared: makePrepared(MAX_STATEMENTS),
      sent: [],
      work: 0,
      answeredAt: 0,
      usable: true,
    };
    const unwatch = watchSilence(opened.client, options.statementTimeoutMs, () => connection.sent.length > 0);
    opened.client.once('end', unwatch);
    opened.onRetired((reason) => {
      // Not one that was left on purpose.
      if (connection.usable && !closing) options.onError('database connection lost', reason);
      retire(connection);
      // One that is sound still answers what it has.
      opened.client.end().catch(() => undefined);
    });
    if (!connection.usable) throw new Error('Connection terminated');
    if (closing) {
      opened.client.end().catch(() => undefined);
      return;
    }
    connections.push(connection);
    feed(connection);
  }

  /** Opens one more connection in the background. Without any, its failure is that of all who wait. */
  function grow(): void {
    connecting ??= connect()
      .catch((error) => {
        failedAt = performance.now();
        failure = error;
        options.onError('database connection failed', error);
        if (connections.length === 0) for (const { reject } of queue.drain()) reject(translateConnectionError(error));
      })
      .finally(() => {
        connecting = undefined;
      });
  }

  /** The connection where the statement costs least; undefined when it had better wait. */
  function pick(query: Query, tenant: string | undefined, now: number): PipelinedConnection | undefined {
    let best: PipelinedConnection | undefined;
    let least = Number.POSITIVE_INFINITY;
    const isBound = tenant !== undefined && now < companyUntil && connectionsOf(tenant) >= tenantConnections;
    for (let index = 0; index < connections.length; index++) {
      const connection = connections[index] as PipelinedConnection;
      let price = index < options.parallel ? connection.work : connection.work + FURTHER_MS;
      if (price >= least) continue;
      if (query.name !== undefined && !connection.prepared.has(query)) {
        price += connection.prepared.isFull() ? REPLACE_MS : PREPARE_MS;
      }
      if (price >= least || !hasRoom(connection, now)) continue;
      if (isBound && !connection.sent.some((one) => one.waiting.work.tenant === tenant)) continue;
      best = connection;
      least = price;
    }
    return best;
  }

  function connectionsOf(tenant: string): number {
    let count = 0;
    for (const { sent: on } of connections) if (on.some(({ waiting }) => waiting.work.tenant === tenant)) count++;
    return count;
  }

  function hasRoom({ sent: on, work, answeredAt }: PipelinedConnection, now: number): boolean {
    const [first] = on;
    return first === undefined || (work < FULL_MS && now - Math.max(first.started, answeredAt) < STUCK_MS);
  }

  function feedAll(): void {
    for (const connection of [...connections]) feed(connection);
  }

  /** Gives a connection that has room what it should run next. */
  function feed(connection: PipelinedConnection): void {
    while (queue.length > 0 && connection.usable) {
      const now = performance.now();
      if (!hasRoom(connection, now)) return;
      const waiting = nextFor(connection, now);
      if (waiting === undefined) return;
      send(connection, waiting, now);
    }
  }

  function nextFor(connection: PipelinedConnection, now: number): Waiting | undefined {
    const hasCompany = now < companyUntil;
    const isFree = connection.sent.length === 0;
    return queue.take(
      ({ query, work, since }) =>
        (!hasCompany || mayHave(connection, work.tenant)) &&
        (isFree || now - since > MAX_DETOUR_MS || query.name === undefined || connection.prepared.has(query)),
      // Of those who may not go there many may stand in front.
      hasCompany ? queue.length : LOOK_AHEAD,
    );
  }

  function mayHave({ sent: on }: PipelinedConnection, tenant: string | undefined): boolean {
    if (tenant === undefined || on.some(({ waiting }) => waiting.work.tenant === tenant)) return true;
    return connectionsOf(tenant) < tenantConnections;
  }

  /** `now`: performance.now(), which takes half a microsecond on some machines. */
  function send(connection: PipelinedConnection, waiting: Waiting, now: number): void {
    const refusal = refusalOf(waiting, now);
    if (refusal !== undefined) {
      waiting.reject(refusal);
      return;
    }
    const { query, cost } = waiting;
    const naming = connection.prepared.name(query);
    const run = { ...naming, text: query.text, parameters: query.values as Parameter[], gather: sent > 0 };
    const one: Sent = {
      waiting,
      naming,
      started: now,
      isAlone: connection.sent.length === 0,
      work: cost?.work ?? UNKNOWN_MS,
      isMoved: false,
    };
    connection.work += one.work;
    connection.sent.push(one);
    sent++;
    runStatement(connection.opened.client, run, (error, rows) => {
      if (!one.isMoved) answer(connection, one, error, rows);
    });
  }

  function answer(connection: PipelinedConnection, one: Sent, error: Error | null, rows: readonly Row[]): void {
    const { waiting, naming } = one;
    const isFirst = take(connection, one);
    const now = performance.now();
    if (error === null) {
      learn(waiting.cost, one.isAlone, now - one.started, now - connection.answeredAt);
      connection.answeredAt = now;
      waiting.resolve(rows);
    } else {
      connection.answeredAt = now;
      connection.prepared.failed(naming, error);
      if (isReadOnlyServer(error)) options.onReadOnly();
      const isLost = isConnectionLoss(error) || error instanceof MessageTooLong;
      if (isLost) lose(connection, isFirst);
      const isFault = !isLost && options.isFault(error);
      if (isFault) spare(connection, waiting);
      if (isFault && options.goOn !== undefined) {
        options.goOn(waiting, error).then(waiting.resolve, waiting.reject);
      } else waiting.reject(isLost ? translateConnectionError(error) : error);
    }
    feed(connection);
  }

  /** Takes a statement off the list of its connection; was it the one at work? */
  function take(connection: PipelinedConnection, one: Sent): boolean {
    const index = connection.sent.indexOf(one);
    if (index === 0) connection.sent.shift();
    else connection.sent.splice(index, 1);
    // Sums of fractions drift.
    connection.work = connection.sent.length === 0 ? 0 : connection.work - one.work;
    sent--;
    return index === 0;
  }

  /** What stood behind the statement with which the connection ended was never begun. */
  function lose(connection: PipelinedConnection, isFirst: boolean): void {
    retire(connection);
    if (!options.repeatable || !isFirst) return;
    move(connection);
  }

  /** Statements that wait behind others like the one that was too slow would each wait as long: they go elsewhere. */
  function spare(connection: PipelinedConnection, slow: Waiting): void {
    if (!options.repeatable) return;
    const isPile = connection.sent.some(({ waiting }) => waiting.query.text === slow.query.text);
    if (!isPile || !connection.sent.some(({ waiting }) => waiting.work.tenant !== slow.work.tenant)) return;
    retire(connection);
    move(connection);
    destroy(connection.opened, 'Connection terminated: left for slow statements');
  }

  function move(connection: PipelinedConnection): void {
    for (const one of [...connection.sent]) {
      take(connection, one);
      one.isMoved = true;
      if (closing) one.waiting.reject(shuttingDown());
      else start(one.waiting, performance.now());
    }
  }

  /** Only a statement that was alone on its connection tells its own time; the others began when the one before ended. */
  function learn(cost: StatementCost | undefined, isAlone: boolean, took: number, sinceLast: number): void {
    if (isAlone) roundTripMs = Math.min(took, roundTripMs * ROUND_TRIP_GROWTH);
    if (cost === undefined) return;
    if (isAlone) note(cost, took);
    noteWork(cost, Math.max(MIN_WORK_MS, isAlone ? took - roundTripMs : Math.min(took, sinceLast)));
  }

  function start(waiting: Waiting, now: number): void {
    if (connections.length > 0) dispatch(waiting, now);
    else if (closing) waiting.reject(shuttingDown());
    else if (now - failedAt < RECONNECT_PAUSE_MS) waiting.reject(translateConnectionError(failure));
    else {
      queue.push(waiting);
      grow();
    }
  }

  function dispatch(waiting: Waiting, now: number): void {
    const connection = pick(waiting.query, waiting.work.tenant, now);
    if (connection !== undefined) send(connection, waiting, now);
    else queue.push(waiting);
  }

  return {
    run(query, work, cost) {
      const { tenant } = work;
      if (!queue.hasPlace(tenant, sent)) return Promise.reject(queueFull());
      const now = performance.now();
      if (tenant !== undefined && tenant !== lastTenant) {
        if (lastTenant !== undefined) companyUntil = now + COMPANY_MS;
        lastTenant = tenant;
      }
      const isBusy = connections.length > 0 && connections.length < size && sent >= connections.length;
      if (isBusy && connecting === undefined && !closing && now - failedAt >= RECONNECT_PAUSE_MS) {
        grow();
      }
      return new Promise((resolve, reject) => {
        const deadline = work.deadline ?? now + options.statementTimeoutMs;
        start({ query, work, cost, deadline, since: now, resolve, reject }, now);
      });
    },
    pending: () => sent + queue.length,
    size: () => connections.length,
    renew() {
      for (const connection of [...connections]) {
        retire(connection);
        connection.opened.client.end().catch(() => undefined);
      }
    },
    async close() {
      closing = true;
      await connecting;
      for (const { reject } of queue.drain()) reject(shuttingDown());
      await Promise.all(connections.splice(0).map(({ opened }) => opened.client.end().catch(() => undefined)));
    },
  };
}
