// Publishes requests, calls in their bodies and statements on channels of node:diagnostics_channel, for subscribers in the
// same process such as otel.ts. No message holds a value of a record, a query, a body, a credential or SQL. Without a
// subscriber each request and each statement costs one check of a flag.
import { type Channel, channel } from 'node:diagnostics_channel';

/** A request, published when it begins and, as the same object, when it is answered. */
export interface RequestTrace {
  phase: 'asked' | 'answered';
  readonly id: string;
  readonly method: string;
  /** Path as sent, without the query; it may hold ids of records. */
  readonly path: string;
  /** Headers of W3C Trace Context, as sent. */
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
  /** Name of the operation as in metrics, from a small set. */
  operation: string;
  /** Milliseconds on the clock of performance.now(), like `endedAt`. */
  readonly startedAt: number;
  endedAt?: number;
  status?: number;
}

/** A statement of a request or of the server itself, published at its start and, as the same object, at its end. */
export interface StatementTrace {
  phase: 'asked' | 'answered';
  readonly operation: 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE' | undefined;
  readonly pool: 'read' | 'write';
  /** Milliseconds on the clock of performance.now(); the time in the queue counts. */
  readonly startedAt: number;
  endedAt?: number;
  rows?: number;
  /** SQLSTATE, or the code of a refusal. */
  error?: string;
}

/**
 * A call in the body of a request, with a trace context of its own; published at its start and, as the same object, at its
 * end.
 */
export interface CallTrace {
  phase: 'asked' | 'answered';
  /** Id of the request. */
  readonly id: string;
  readonly operation: string;
  /** Members of W3C Trace Context, as sent. */
  readonly traceparent: string;
  readonly tracestate: string | undefined;
  readonly startedAt: number;
  endedAt?: number;
}

/** The stop of the server: a subscriber passes the promises that the server must wait for. */
export interface StopTrace {
  readonly wait: (work: Promise<unknown>) => void;
}

export const REQUESTS: Channel<RequestTrace, RequestTrace> = channel('wda:request');
export const STATEMENTS: Channel<StatementTrace> = channel('wda:statement');
const CALLS: Channel<CallTrace, CallTrace> = channel('wda:call');
const STOPS: Channel<StopTrace> = channel('wda:stop');

// A subscriber that hangs must not keep the server from stopping.
const STOP_TIMEOUT_MS = 2000;

/** Publishes the end of a request. */
export function endRequest(trace: RequestTrace, operation: string, status: number): void {
  REQUESTS.publish(Object.assign(trace, { phase: 'answered', operation, status, endedAt: performance.now() }));
}

/** Runs a call between its two messages, if it has a trace context and there is a subscriber. */
export async function traceCall<T>(
  { traceparent, tracestate }: Readonly<Record<string, unknown>>,
  call: Pick<CallTrace, 'id' | 'operation'>,
  run: () => Promise<T>,
): Promise<T> {
  if (!CALLS.hasSubscribers || typeof traceparent !== 'string') return run();
  const trace: CallTrace = {
    phase: 'asked',
    ...call,
    traceparent,
    tracestate: typeof tracestate === 'string' ? tracestate : undefined,
    startedAt: performance.now(),
  };
  try {
    return await CALLS.runStores(trace, run);
  } finally {
    CALLS.publish(Object.assign(trace, { phase: 'answered', endedAt: performance.now() }));
  }
}

/** Runs a statement between its two messages; to be called only when there is a subscriber. */
export async function traceStatement<Rows extends readonly unknown[]>(
  text: string,
  pool: StatementTrace['pool'],
  run: () => Promise<Rows>,
): Promise<Rows> {
  const trace: StatementTrace = {
    phase: 'asked',
    operation: parseOperation(text, pool),
    pool,
    startedAt: performance.now(),
  };
  STATEMENTS.publish(trace);
  const end = (outcome: Pick<StatementTrace, 'rows' | 'error'>): void =>
    STATEMENTS.publish(Object.assign(trace, { phase: 'answered', endedAt: performance.now(), ...outcome }));
  try {
    const rows = await run();
    end({ rows: rows.length });
    return rows;
  } catch (error) {
    const { code } = error as { code?: unknown };
    end({ error: typeof code === 'string' && /^\w{1,40}$/.test(code) ? code : 'error' });
    throw error;
  }
}

/** Resolves when subscribers have sent their data, after two seconds at the latest. */
export async function notifyStop(): Promise<void> {
  if (!STOPS.hasSubscribers) return;
  const works: Promise<unknown>[] = [];
  STOPS.publish({ wait: (work: Promise<unknown>) => void works.push(work) });
  const timeout = new Promise((resolve) => setTimeout(resolve, STOP_TIMEOUT_MS).unref());
  await Promise.race([Promise.allSettled(works), timeout]);
}

/** Returns the SQL command: the first word of the statement, or the command that follows its `with` clause. */
function parseOperation(text: string, pool: StatementTrace['pool']): StatementTrace['operation'] {
  const word = /^\s*(select|insert|update|delete)\b/i.exec(text) ?? /\b(insert into|update|delete from)\b/i.exec(text);
  if (word === null) return pool === 'read' ? 'SELECT' : undefined;
  return word[1]!.split(' ')[0]!.toUpperCase() as StatementTrace['operation'];
}
