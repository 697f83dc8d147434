// One run of a statement in the form that requests and exports need: parameters and rows as text, nothing described. The
// driver sends, answers and fails it like a query of its own. Against that it saves the description of columns whose form
// is known, at both ends, and three of four writes: 10 to 40 µs of processor time.
import type { Writable } from 'node:stream';
import pg from 'pg';
import type { Query } from '../sql/fragment.ts';
import type { OpenedConnection } from './connect.ts';
import { type Naming, type Prepared, UNNAMED } from './prepared.ts';
import { bindAndExecute, bindAndRun, closeStatement, type Parameter, parseStatement } from './wire.ts';

/** A row as PostgreSQL's text output, one entry a column. */
export type Row = readonly (string | null)[];

/** A statement under the name that it has on its connection, with its parameters. */
export interface NamedStatement extends Naming {
  readonly text: string;
  readonly parameters: readonly Parameter[];
}

export interface StatementRun extends NamedStatement {
  /** Goes before it in the same transaction, which is theirs alone; its rows are passed over. */
  readonly opening?: NamedStatement | undefined;
  /**
   * True when it may wait for the other requests that have come by now, to go to the connection in one write with them.
   * For 32 clients that makes 1.15 times the requests; with a single client it would cost each request 25 µs.
   */
  readonly gather: boolean;
}

const uncork = (stream: Writable): void => stream.uncork();

/** From now on the connection whose statements these are counts as having it prepared, if it has a name. */
export const namedOn = (prepared: Prepared, query: Query): NamedStatement => ({
  ...prepared.name(query),
  text: query.text,
  parameters: query.values as readonly Parameter[],
});

/** A run has failed: which of its statements are prepared is not known. */
export function forgetFailed(prepared: Prepared, run: StatementRun, error: unknown): void {
  prepared.failed(run, error);
  if (run.opening !== undefined) prepared.failed(run.opening, error);
}

/** `onAnswer` is called once: with the rows, or with the error of the database or of the connection. */
export function runStatement(
  client: pg.Client,
  run: StatementRun,
  onAnswer: (error: Error | null, rows: readonly Row[]) => void,
): void {
  const rows: Row[] = [];
  const onRow = (row: Row): void => void rows.push(row);
  submit(client, new TextRun(run, onRow, (error) => onAnswer(error, error === null ? rows : [])));
}

/** Runs a statement on a connection that runs nothing else. Rejects with the error of the database or of the connection. */
export async function runAlone(
  { client, opening }: Pick<OpenedConnection, 'client' | 'opening'>,
  query: Query,
  prepared: Prepared,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  const before = opening && namedOn(prepared, opening.query);
  const run = { ...namedOn(prepared, query), opening: before, gather: false };
  try {
    await stream(client, run, (row) => void rows.push(row));
  } catch (error) {
    forgetFailed(prepared, run, error);
    throw error;
  }
  return rows;
}

/** Runs a statement that is not to be prepared, in the transaction that is open, and hands over each row when it arrives. */
export function streamOnce(client: pg.ClientBase, { text, values }: Query, onRow: (row: Row) => void): Promise<void> {
  return stream(client, { ...UNNAMED, text, parameters: values as readonly Parameter[], gather: false }, onRow);
}

/** Runs a COPY … TO STDOUT and hands over its bytes as they arrive; they are valid during the call alone. */
export function copyOnce(client: pg.ClientBase, text: string, onBytes: (bytes: Uint8Array) => void): Promise<void> {
  const run = { ...UNNAMED, text, parameters: [], gather: false };
  return new Promise((resolve, reject) => {
    submit(client, new CopyRun(run, onBytes, (error) => (error === null ? resolve() : reject(error))));
  });
}

function stream(client: pg.ClientBase, run: StatementRun, onRow: (row: Row) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    submit(client, new TextRun(run, onRow, (error) => (error === null ? resolve() : reject(error))));
  });
}

function submit(client: pg.ClientBase, run: TextRun): void {
  client.query(run as unknown as pg.Submittable);
}

function prepare(stream: Writable, { statement, text, isNew, forget }: NamedStatement): void {
  if (forget !== undefined) stream.write(closeStatement(forget));
  if (!isNew) return;
  if (statement !== '') stream.write(closeStatement(statement));
  stream.write(parseStatement(statement, text));
}

/** What the driver calls on a query, in the order of the protocol's answers. */
class TextRun {
  readonly callback: (error: Error | null) => void;
  readonly #run: StatementRun;
  readonly #onRow: (row: Row) => void;
  #isOpening: boolean;

  constructor(run: StatementRun, onRow: (row: Row) => void, callback: (error: Error | null) => void) {
    this.#run = run;
    this.#onRow = onRow;
    this.#isOpening = run.opening !== undefined;
    this.callback = callback;
  }

  submit({ stream }: { readonly stream: Writable }): void {
    const { opening, gather } = this.#run;
    const bytes = bindAndRun(this.#run.statement, this.#run.parameters);
    if (!stream.writable) return;
    if (gather && stream.writableCorked === 0) {
      stream.cork();
      setImmediate(uncork, stream);
    }
    if (opening !== undefined) {
      prepare(stream, opening);
      stream.write(bindAndExecute(opening.statement, opening.parameters));
    }
    prepare(stream, this.#run);
    stream.write(bytes);
  }

  handleDataRow({ fields }: { readonly fields: Row }): void {
    if (!this.#isOpening) this.#onRow(fields);
  }

  handleCommandComplete(): void {
    // What was done is known from the rows.
    this.#isOpening = false;
  }

  handleReadyForQuery(): void {
    this.callback(null);
  }

  handleError(error: Error): void {
    this.callback(error);
  }
}

/** The same for a COPY, whose answer is no rows. */
class CopyRun extends TextRun {
  readonly #onBytes: (bytes: Uint8Array) => void;

  constructor(run: StatementRun, onBytes: (bytes: Uint8Array) => void, callback: (error: Error | null) => void) {
    super(run, () => undefined, callback);
    this.#onBytes = onBytes;
  }

  handleCopyData({ chunk }: { readonly chunk: Uint8Array }): void {
    this.#onBytes(chunk);
  }
}

// The driver pipelines queries of its own class only, as others might keep a portal open. This one does not.
Object.setPrototypeOf(TextRun.prototype, pg.Query.prototype);
