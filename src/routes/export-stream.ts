// Rows of an export -> the bytes of its file as a stream that pauses the database when the client does not read. CSV is
// put together here, NDJSON comes from PostgreSQL line by line.
import { Readable } from 'node:stream';
import { type RowStream, streamRows } from '../db/copy.ts';
import type { Database, Row } from '../db/pool.ts';
import type { Field } from '../model/entity.ts';
import { type Query, sql, toQuery } from '../sql/fragment.ts';

export interface ExportFile {
  /** Line of column names, or ''. */
  readonly header: string;
  readonly line: (row: Row) => string;
}

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
    let abandoned: (() => void) | undefined;
    const stream = new Readable({
      highWaterMark: CHUNK_CHARACTERS,
      read() {
        clearTimeout(stalled);
        rows?.resume();
      },
      destroy(error, done) {
        clearTimeout(stalled);
        abandoned?.();
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
        const [backend] = await session.query<{ pid: number }>(toQuery(sql`select pg_backend_pid() as pid`));
        let isOver = false;
        rows = streamRows(session, query, (row) => {
          text += file.line(row);
          if (text.length >= CHUNK_CHARACTERS) flush();
          resolve(stream);
        });
        abandoned = () => {
          if (isOver) return;
          // The rest of the rows would be computed and sent for nothing.
          const cancel = toQuery(sql`select pg_cancel_backend(${backend?.pid}::int4)`);
          db.run(cancel, 'write').catch(() => undefined);
          rows?.resume();
        };
        if (stream.destroyed) abandoned();
        try {
          await rows.done;
        } finally {
          isOver = true;
        }
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

/** CSV of RFC 4180 with lines that end in a newline: null is an empty cell, an empty string is `""`. */
export function csvFile(fields: readonly Field[]): ExportFile {
  const cells = fields.map(cellOf);
  // A line without anything in it would be no row at all.
  const alone = fields.length === 1;
  return {
    header: `${fields.map((field) => field.name).join(',')}\n`,
    line(row) {
      let line = '';
      for (let index = 0; index < cells.length; index++) {
        const value = row[index];
        if (index > 0) line += ',';
        if (value !== null && value !== undefined) line += (cells[index] as Cell)(value);
        else if (alone) line += '""';
      }
      return `${line}\n`;
    },
  };
}

/** One JSON object a line, as PostgreSQL wrote it. */
export function ndjsonFile(): ExportFile {
  return { header: '', line: (row) => `${row[0]}\n` };
}

type Cell = (text: string) => string;

const NEEDS_QUOTES = /[",\n\r]|^$/;
const quoted: Cell = (text) => (NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** PostgreSQL's text of a column -> the text that JSON responses have, quoted where CSV needs it. */
function cellOf(field: Field): Cell {
  switch (field.type) {
    case 'boolean':
      return (text) => (text === 't' ? 'true' : 'false');
    case 'string':
    case 'text':
    case 'enum':
    case 'json':
      return quoted;
    default:
      return (text) => text;
  }
}
