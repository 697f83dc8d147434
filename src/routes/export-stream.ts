// Rows of an export -> the bytes of its file, as a stream that pauses the database when the client does not read. Lines
// are put together here from the text of the columns.
import { Readable } from 'node:stream';
import { type RowStream, streamRows } from '../db/copy.ts';
import type { Database } from '../db/pool.ts';
import { queryTimeout } from '../errors.ts';
import type { ExportFile } from '../response/export-file.ts';
import type { Query } from '../sql/fragment.ts';

export interface ExportLimits {
  readonly timeoutMs: number;
  /** Longest time that a client may leave the stream unread. */
  readonly stallMs: number;
}

// Characters that are handed on at once: more would only lie in memory, less costs a turn of the stream each.
const CHUNK_CHARACTERS = 65_536;

/**
 * Runs the query in a transaction of its own and gives the stream once the first row is there, or none is: an error
 * until then is thrown, a later one destroys the stream. `ended` is called when the connection is free again.
 */
export function openExport(
  db: Database,
  query: Query,
  file: ExportFile,
  limits: ExportLimits,
  ended: () => void,
): Promise<Readable> {
  return new Promise((resolve, reject) => {
    let rows: RowStream | undefined;
    let text = file.header;
    let stalled: NodeJS.Timeout | undefined;
    // PostgreSQL's own clock does not tick while it waits for a client that reads a little now and then.
    const deadline = setTimeout(() => stream.destroy(new Error('the export took too long')), limits.timeoutMs);
    const stream = new Readable({
      highWaterMark: CHUNK_CHARACTERS,
      read() {
        clearTimeout(stalled);
        rows?.resume();
      },
      destroy(error, done) {
        clearTimeout(stalled);
        clearTimeout(deadline);
        // The rest of the rows would be computed and sent for nothing.
        rows?.cancel();
        done(error);
      },
    });
    // The pipeline of the response listens later; until then an error must not end the process.
    stream.on('error', () => undefined);
    const flush = (): void => {
      if (text === '' || stream.destroyed) return;
      const chunk = text;
      text = '';
      if (stream.push(chunk)) return;
      rows?.pause();
      stalled = setTimeout(() => stream.destroy(new Error('the client stopped reading')), limits.stallMs);
    };

    db.transaction(
      async (session) => {
        if (stream.destroyed) throw queryTimeout();
        rows = streamRows(db, session, query, (row) => {
          if (stream.destroyed) return;
          text += file.line(row);
          if (text.length >= CHUNK_CHARACTERS) flush();
          resolve(stream);
        });
        await rows.done;
      },
      { readOnly: true, statementTimeoutMs: limits.timeoutMs },
    )
      .then(
        () => {
          flush();
          if (!stream.destroyed) stream.push(null);
          resolve(stream);
        },
        (error) => {
          stream.destroy(error);
          reject(error);
        },
      )
      .finally(ended);
  });
}
