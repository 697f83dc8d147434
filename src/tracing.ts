// What the server tells of its work to whoever listens in the same process, such as otel.ts: requests, calls in their bodies
// and statements, on channels of node:diagnostics_channel. None holds a value of a record, a query, a body, a credential or
// SQL. Without a listener nothing is made: each request and each statement looks at one flag.
import { type Channel, channel } from 'node:diagnostics_channel';

/** A request: published when it begins, and the same object again when it is answered. */
export interface RequestTrace {
  phase: 'asked' | 'answered';
  readonly id: string;
  readonly method: string;
  /** As sent, without the query; it may hold ids of records. */
  readonly path: string;
  /** Headers of W3C Trace Context, as sent. */
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
  /** A word of a small set, as in metrics. */
  operation: string;
  /** On the clock of performance.now(), as `endedAt`. */
  readonly startedAt: number;
  endedAt?: number;
  status?: number;
}

/** A statement of a request or of the server's own: published when it is asked for and, the same object, when it is answered. */
export interface StatementTrace {
  phase: 'asked' | 'answered';
  readonly operation: 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE' | undefined;
  readonly pool: 'read' | 'write';
  /** It waits for its turn, too, from here on. */
  readonly startedAt: number;
  endedAt?: number;
  rows?: number;
  /** SQLSTATE, or the code of a refusal. */
  error?: string;
}

/**
 * What a message in the body of a request sets off, when it names its caller itself: published when it begins and, the same
 * object, when it has ended.
 */
export interface CallTrace {
  phase: 'asked' | 'answered';
  /** Of the request. */
  readonly id: string;
  readonly operation: string;
  /** Of W3C Trace Context, as sent. */
  readonly traceparent: string;
  readonly tracestate: string | undefined;
  readonly startedAt: number;
  endedAt?: number;
}

/** The server ends: whoever has something to send adds what must be waited for. */
export interface StopTrace {
  readonly wait: (work: Promise<unknown>) => void;
}

export const REQUESTS: Channel<RequestTrace, RequestTrace> = channel('wda:request');
export const STATEMENTS: Channel<StatementTrace> = channel('wda:statement');
const CALLS: Channel<CallTrace, CallTrace> = channel('wda:call');
const STOPS: Channel<StopTrace> = channel('wda:stop');

// Somebody who does not answer must not keep the server from ending.
const STOP_TIMEOUT_MS = 2000;

/** Tells that a request is answered. */
export function endRequest(trace: RequestTrace, operation: string, status: number): void {
  REQUESTS.publish(Object.assign(trace, { phase: 'answered', operation, status, endedAt: performance.now() }));
}

/** Runs what a message sets off between two messages of ours, if it names its caller and somebody listens. */
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

/** Runs a statement between its two messages; call it only while somebody listens. */
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

/** Resolves when listeners have sent what they had, after two seconds at the latest. */
export async function notifyStop(): Promise<void> {
  if (!STOPS.hasSubscribers) return;
  const works: Promise<unknown>[] = [];
  STOPS.publish({ wait: (work: Promise<unknown>) => void works.push(work) });
  const timeout = new Promise((resolve) => setTimeout(resolve, STOP_TIMEOUT_MS).unref());
  await Promise.race([Promise.allSettled(works), timeout]);
}

/** What a statement does: its first word, or that of what it writes behind `with`. */
function parseOperation(text: string, pool: StatementTrace['pool']): StatementTrace['operation'] {
  const word = /^\s*(select|insert|update|delete)\b/i.exec(text) ?? /\b(insert into|update|delete from)\b/i.exec(text);
  if (word === null) return pool === 'read' ? 'SELECT' : undefined;
  return word[1]!.split(' ')[0]!.toUpperCase() as StatementTrace['operation'];
}
