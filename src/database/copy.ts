// Transfers rows in bulk, with back-pressure: COPY into a table from lines, and a select whose rows are handed over as they
// arrive while the socket is paused and resumed. The only importer of pg-copy-streams.
import { once as waitForEvent } from 'node:events';
import { finished } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import type { Query } from '../sql/fragment.ts';
import type { Row } from './executor.ts';
import type { Database, Session } from './pool.ts';
import { runCopyOut, streamUnprepared } from './statement.ts';

/**
 * Sends lines of formatCopyLine() to a `copy … from stdin`. An error of the source undoes the COPY and is thrown. `onFailure`
 * is called when the COPY itself fails, so that a source that waits for its client can stop. Returns the number of rows.
 */
export async function copyInto(
  session: Session,
  text: string,
  lines: AsyncIterable<string | Uint8Array>,
  onFailure: (error: Error) => void,
): Promise<number> {
  const stream = session.client.query(copyFrom(text));
  let failure: Error | undefined;
  stream.on('error', (error: Error) => {
    failure ??= error;
    onFailure(error);
  });
  const completion = finished(stream);
  // Awaited below; until then its failure must not count as unhandled.
  completion.catch(() => undefined);
  try {
    for await (const line of lines) {
      // After an error the stream has no connection any more, and a write would throw a TypeError about that.
      if (failure !== undefined) break;
      if (!stream.write(line)) await waitForEvent(stream, 'drain');
    }
  } catch (error) {
    if (failure !== undefined) throw failure;
    // The connection is free for the next statement when PostgreSQL has answered this.
    stream.destroy(error as Error);
    await completion.catch(() => undefined);
    throw error;
  }
  if (failure !== undefined) throw failure;
  stream.end();
  await completion;
  return stream.rowCount;
}

const ESCAPED = /[\\\t\n\r]/g;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/** Formats one line of COPY's text format (PostgreSQL documentation, COPY, "Text Format"). */
export function formatCopyLine(values: readonly (string | null)[]): string {
  let line = '';
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (index > 0) line += '\t';
    if (value === null || value === undefined) line += '\\N';
    else line += NEEDS_ESCAPE.test(value) ? value.replace(ESCAPED, (character) => ESCAPES[character] as string) : value;
  }
  return `${line}\n`;
}

const NEEDS_ESCAPE = /[\\\t\n\r]/;

/** Returns the line number at which a COPY failed, from 1, and the column when PostgreSQL names one. */
export function parseCopyPosition(
  error: unknown,
): { readonly line: number; readonly column: string | null } | undefined {
  const { where } = error as { where?: unknown };
  if (typeof where !== 'string' || !where.startsWith('COPY ')) return undefined;
  const line = /\d+/.exec(where)?.[0];
  return line === undefined ? undefined : { line: Number(line), column: /column ([^:]+)/.exec(where)?.[1] ?? null };
}

/** The backend of a session, seen from another connection. */
export interface Backend {
  /** Stops the running statement of the session; does nothing when there is none. */
  readonly cancel: () => void;
  /** Resolves when no cancellation is pending that might stop the next statement of the connection. */
  readonly waitForCancel: () => Promise<void>;
}

export function makeBackend(db: Database, session: Session): Backend {
  let cancelling: Promise<void> = Promise.resolve();
  return {
    cancel() {
      cancelling = db.cancel(session).catch(() => undefined);
    },
    waitForCancel: () => cancelling,
  };
}

/** Locks the tables of a statement until the end of the transaction, by planning it. */
export async function lockTables(session: Session, { text, values }: Query): Promise<void> {
  await session.query({ text: `explain ${text}`, values });
}

export interface RowStream {
  /** Pauses the rows, except for those that have arrived already (a socket read of 64 kB). */
  readonly pause: () => void;
  readonly resume: () => void;
  /** Stops the statement; rows on their way still arrive. */
  readonly cancel: () => void;
  /** Resolves when the last row was handed over and the connection is free; rejects with the error of the statement. */
  readonly completion: Promise<void>;
}

/**
 * Runs a select and hands over each row, as text, when it arrives. Measured against a cursor (100,000 rows of 10
 * columns to CSV): the same speed, and no batch whose size in bytes is not known before it is in memory.
 */
export function streamRows(session: Session, backend: Backend, query: Query, onRow: (row: Row) => void): RowStream {
  return makeRowStream(session, backend, streamUnprepared(session.client, query, onRow));
}

function makeRowStream(session: Session, backend: Backend, execution: Promise<void>): RowStream {
  // Members of the driver's client that its types lack.
  const { stream } = (session.client as unknown as { connection: { stream: NodeJS.ReadableStream } }).connection;
  let isOver = false;
  let isCancelled = false;
  return {
    pause: () => void (isOver || isCancelled || stream.pause()),
    resume: () => void (isOver || stream.resume()),
    cancel() {
      if (isOver || isCancelled) return;
      isCancelled = true;
      backend.cancel();
      stream.resume();
    },
    completion: execution.finally(() => {
      isOver = true;
      stream.resume();
      // A late cancellation might stop the next statement of the connection.
      return backend.waitForCancel();
    }),
  };
}

// Parts that the reader has not taken yet.
const MAX_BUFFERED_PARTS = 2;

/**
 * Reads the text of a `copy … to stdout` in parts of `size` bytes, the last one shorter; lines may be split. PostgreSQL is
 * paused while the reader does not ask, and stopped when it ends early.
 */
export async function* copyOut(session: Session, backend: Backend, text: string, size: number): AsyncGenerator<Buffer> {
  const parts: Buffer[] = [];
  let part = Buffer.allocUnsafe(size);
  let filledBytes = 0;
  let wake: (() => void) | undefined;
  let outcome: { readonly error?: unknown } | undefined;
  const onBytes = (bytes: Uint8Array): void => {
    for (let offset = 0; offset < bytes.length; ) {
      const count = Math.min(bytes.length - offset, size - filledBytes);
      part.set(bytes.subarray(offset, offset + count), filledBytes);
      offset += count;
      filledBytes += count;
      if (filledBytes < size) return;
      parts.push(part);
      part = Buffer.allocUnsafe(size);
      filledBytes = 0;
      if (parts.length >= MAX_BUFFERED_PARTS) rows.pause();
      wake?.();
    }
  };
  const rows = makeRowStream(session, backend, runCopyOut(session.client, text, onBytes));
  const finishing = rows.completion.then(
    () => ({}),
    (error: unknown) => ({ error }),
  );
  void finishing.then((result) => {
    outcome = result;
    wake?.();
  });
  try {
    for (;;) {
      const next = parts.shift();
      if (next !== undefined) {
        yield next;
        continue;
      }
      if (outcome !== undefined) break;
      rows.resume();
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    if (outcome.error !== undefined) throw outcome.error;
    if (filledBytes > 0) yield part.subarray(0, filledBytes);
  } finally {
    rows.cancel();
    await finishing;
  }
}

/** Runs `work` in a savepoint: an error undoes its changes and nothing else. */
export async function inSavepoint<T>(session: Session, work: () => Promise<T>): Promise<T> {
  await session.execute('savepoint part');
  try {
    const result = await work();
    await session.execute('release savepoint part');
    return result;
  } catch (error) {
    // A cancellation may have ended the savepoint: then everything is undone, and the first error gives the reason.
    await session.execute('rollback to savepoint part; release savepoint part').catch(() => undefined);
    throw error;
  }
}

/** Runs `work` in a savepoint that is always undone: its locks are released, and effects that no rollback undoes remain. */
export async function inRolledBackSavepoint(session: Session, work: () => Promise<void>): Promise<void> {
  const undo = (): Promise<void> => session.execute('rollback to savepoint undone; release savepoint undone');
  await session.execute('savepoint undone');
  try {
    await work();
  } catch (error) {
    await undo().catch(() => undefined);
    throw error;
  }
  await undo();
}
