// Rows of an export -> the bytes of its file, as a stream that pauses the database when the client does not read. Lines
// are put together here from the text of the columns.
import { Readable } from 'node:stream';
import { backendOf, holdTables, type RowStream, streamRows } from '../../db/copy.ts';
import type { Database, Session } from '../../db/pool.ts';
import type { Caller, Work } from '../../db/work.ts';
import { queryTimeout } from '../../errors.ts';
import { nameExport } from '../../migrate/holders.ts';
import { type Floor, makeMeter } from '../../pace/arrival.ts';
import type { ExportFile } from '../../response/export-file.ts';
import type { Query } from '../../sql/fragment.ts';

export interface ExportLimits extends Pick<Work, 'place'> {
  readonly timeoutMs: number;
  /** Longest time that a client may leave the stream unread. */
  readonly stallMs: number;
  /** What a client must read at least while there is something to read. */
  readonly floor: Floor;
  readonly caller: Caller;
  /** For the connection to be there, on the clock of performance.now(). */
  readonly deadline: number;
}

// Characters that are handed on at once: more would only lie in memory, less costs a turn of the stream each.
const CHUNK_CHARACTERS = 65_536;

export interface Export {
  readonly query: Query;
  readonly file: ExportFile;
  /** Asked once the tables are held; may throw. */
  readonly confirm: (session: Session) => Promise<void>;
  readonly limits: ExportLimits;
  /** Called when the connection is free again. */
  readonly ended: () => void;
}

/**
 * Runs the query in a transaction of its own and gives the stream once the first row is there, or none is: an error
 * until then is thrown, a later one destroys the stream.
 */
export function openExport(db: Database, { query, file, confirm, limits, ended }: Export): Promise<Readable> {
  const { caller, deadline, place } = limits;
  return new Promise((resolve, reject) => {
    let rows: RowStream | undefined;
    let text = file.header;
    let stalled: NodeJS.Timeout | undefined;
    let stopWaiting: (() => void) | undefined;
    // PostgreSQL's own clock does not tick while it waits for a client that reads a little now and then.
    const limit = setTimeout(() => stream.destroy(new Error('the export took too long')), limits.timeoutMs);
    const meter = makeMeter(limits.floor, () => stream.destroy(new Error('the client reads too slowly')));
    // Until the response is under way nothing else tells.
    const stay = caller.onGone(() => stream.destroy(new Error('the client has left')));
    const goOn = (): void => {
      clearTimeout(stalled);
      stopWaiting?.();
      stopWaiting = undefined;
    };
    const stream = new Readable({
      highWaterMark: CHUNK_CHARACTERS,
      read() {
        goOn();
        rows?.resume();
      },
      destroy(error, done) {
        goOn();
        clearTimeout(limit);
        stay();
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
      meter.count(Buffer.byteLength(chunk));
      if (stream.push(chunk) || stopWaiting !== undefined) return;
      rows?.pause();
      stalled = setTimeout(() => stream.destroy(new Error('the client stopped reading')), limits.stallMs);
      stopWaiting = meter.wait();
    };

    db.transaction(
      async (session) => {
        // From here on no column can take another's name; what was planned before that must still hold.
        await holdTables(session, query);
        await confirm(session);
        const backend = backendOf(db, session);
        if (stream.destroyed || caller.isGone()) throw queryTimeout();
        // A migration in whose way it is for long may end it.
        await nameExport(session);
        rows = streamRows(session, backend, query, (row) => {
          if (stream.destroyed) return;
          text += file.line(row);
          if (text.length >= CHUNK_CHARACTERS) flush();
          resolve(stream);
        });
        await rows.done;
      },
      { readOnly: true, statementTimeoutMs: limits.timeoutMs, purpose: 'transfer', caller, deadline, place },
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
