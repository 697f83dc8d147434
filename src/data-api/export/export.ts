// Executes `_export`: a list of the entity becomes the stream of a file, which pauses the database when the client does
// not read. Planned again when the workspace has changed before the first byte was sent. Lines are formatted here from
// the text of the columns.
import { Readable } from 'node:stream';
import { lockTables, makeBackend, type RowStream, streamRows } from '../../database/copy.ts';
import { isStaleSnapshot } from '../../database/errors.ts';
import type { Transaction } from '../../database/pool.ts';
import { queryTimeout, serviceUnavailable } from '../../errors.ts';
import { makeRateMeter } from '../../limits/upload.ts';
import { markExport } from '../../migrations/lock-holders.ts';
import { findLabel } from '../../model/entity.ts';
import { planHandOver } from '../../plan/handover.ts';
import { planExport } from '../../plan/plan.ts';
import { type ExportRequest, parseExportRequest } from '../../request/record-request.ts';
import { csvFile, type ExportColumn, type ExportFile, ndjsonFile } from '../../response/export-file.ts';
import type { Reply } from '../../response/reply.ts';
import { bindQuery, compile } from '../../sql/compile.ts';
import { selectMoment } from '../../sql/feed.ts';
import type { Query } from '../../sql/fragment.ts';
import { loadCurrentVersion } from '../../store/load-workspace.ts';
import type { EntityContext } from '../context.ts';
import { sealMoment, tooManyWriters } from '../feed-handover.ts';
import { toRecordError } from '../record-error.ts';
import type { TransferDeps } from '../transfer.ts';

const MAX_ATTEMPTS = 3;
/** Signals that the workspace has changed since the export was planned. */
const SCHEMA_CHANGED = new Error('changed');

export async function exportRecords(deps: TransferDeps, context: EntityContext): Promise<Reply> {
  const request = parseExportRequest(context.call.query);
  for (let current = context, attempt = 1; ; attempt++) {
    try {
      return await openExport(deps, current, request);
    } catch (error) {
      if (error !== SCHEMA_CHANGED) throw error;
      if (attempt >= MAX_ATTEMPTS)
        throw serviceUnavailable('SCHEMA_CHANGING', 'The schema is changing at the moment; retry');
      current = await context.refresh();
    }
  }
}

/** Opens the export. Throws SCHEMA_CHANGED when the workspace has changed since it was planned. */
async function openExport(deps: TransferDeps, context: EntityContext, request: ExportRequest): Promise<Reply> {
  const { entity, principal, workspace } = context;
  const plan = planExport(request, entity, context);
  const handOver = request.changes === true ? planHandOver(request, entity, context) : undefined;
  const statement = compile(plan, { maxResponseBytes: deps.config.maxResponseBytes });
  const { text, values } = bindQuery(statement, { principal });
  const columns = plan.projection.outputs.map(
    (output): ExportColumn =>
      output.kind === 'column'
        ? output.field
        : { name: output.name, label: findLabel(output.link.scan.entity) ?? 'id' },
  );
  const file = request.format === 'csv' ? csvFile(columns, request.formulas) : ndjsonFile(columns);
  const release = await deps.takePermit(context);
  let changes: string | undefined;
  /** Finds the cursor of the snapshot that the transaction of the export reads. */
  async function findCursor(session: Transaction): Promise<void> {
    if (handOver === undefined) return;
    const [row] = await session.executor.run(selectMoment(workspace.databaseSchema), 'read');
    const moment = { snapshot: row?.[0] ?? '', position: Number(row?.[1]) };
    changes = await sealMoment(deps.seals, context, handOver, moment);
    if (changes === undefined) throw tooManyWriters();
  }
  const source = { query: { text, values }, file, findCursor, isOneSnapshot: handOver !== undefined };
  const stream = await openStream(deps, context, source, release).catch((error) => {
    // No byte was sent: the request is planned again with the new snapshot.
    if (error === SCHEMA_CHANGED || isStaleSnapshot(error)) throw error;
    throw toRecordError(error, workspace, entity.name);
  });
  return {
    status: 200,
    headers: {
      'Content-Disposition': `attachment; filename="${entity.name}.${request.format}"`,
      ...(changes === undefined ? {} : { 'Changes-Cursor': changes }),
    },
    body: {
      kind: 'stream',
      contentType: request.format === 'csv' ? 'text/csv; charset=utf-8; header=present' : 'application/x-ndjson',
      stream,
    },
  };
}

interface ExportSource {
  readonly query: Query;
  readonly file: ExportFile;
  /** Runs in the transaction, before the query. */
  readonly findCursor: (session: Transaction) => Promise<void>;
  /** Whether all statements of the transaction must see the same records. */
  readonly isOneSnapshot: boolean;
}

// Characters per chunk: more would only use memory, fewer cost a cycle of the stream each.
const CHUNK_CHARACTERS = 65_536;

/**
 * Runs the query in its own transaction and resolves with the stream at the first row or at the end: an earlier error
 * is thrown, a later one destroys the stream. `release`: called when the connection is free again.
 */
function openStream(
  { config, databases }: TransferDeps,
  { workspace, signal, deadline, node }: EntityContext,
  { query, file, findCursor, isOneSnapshot }: ExportSource,
  release: () => void,
): Promise<Readable> {
  const db = databases.forWorkspace(workspace);
  const timeoutMs = config.transferTimeoutMs;
  const minRate = { bytesPerSecond: config.minExportBytesPerSecond, seconds: config.transferWindowSeconds };
  return new Promise((resolve, reject) => {
    let rows: RowStream | undefined;
    let text = file.header;
    let stallTimer: NodeJS.Timeout | undefined;
    let stopWaiting: (() => void) | undefined;
    // PostgreSQL's timeout does not run while it waits for a slow client.
    const limit = setTimeout(() => stream.destroy(new Error('the export took too long')), timeoutMs);
    const meter = makeRateMeter(minRate, () => stream.destroy(new Error('the client reads too slowly')));
    // Until the response has started nothing else reports a disconnect.
    const unsubscribe = signal.onAbort(() => stream.destroy(new Error('the client has left')));
    const clearStall = (): void => {
      clearTimeout(stallTimer);
      stopWaiting?.();
      stopWaiting = undefined;
    };
    const stream = new Readable({
      highWaterMark: CHUNK_CHARACTERS,
      read() {
        clearStall();
        rows?.resume();
      },
      destroy(error, callback) {
        clearStall();
        clearTimeout(limit);
        unsubscribe();
        // Cancels the rest of the rows, which would be computed and sent in vain.
        rows?.cancel();
        callback(error);
      },
    });
    // The pipeline of the response adds its listener later; until then an error must not end the process.
    stream.on('error', () => undefined);
    const flush = (): void => {
      if (text === '' || stream.destroyed) return;
      const chunk = text;
      text = '';
      meter.count(Buffer.byteLength(chunk));
      if (stream.push(chunk) || stopWaiting !== undefined) return;
      rows?.pause();
      stallTimer = setTimeout(() => stream.destroy(new Error('the client stopped reading')), config.bodyTimeoutMs);
      stopWaiting = meter.wait();
    };

    db.transaction(
      async (session) => {
        // From here on no column can be renamed; the version that the export was planned by must still hold.
        await lockTables(session, query);
        // Outside of the transaction, whose snapshot may be older than the locks.
        const version = await loadCurrentVersion(isOneSnapshot ? db : session, workspace.id);
        if (version !== workspace.version) throw SCHEMA_CHANGED;
        const backend = makeBackend(db, session);
        if (stream.destroyed || signal.isAborted()) throw queryTimeout();
        // Lets a migration that it blocks for long cancel it.
        await markExport(session);
        await findCursor(session);
        rows = streamRows(session, backend, query, (row) => {
          if (stream.destroyed) return;
          text += file.line(row);
          if (text.length >= CHUNK_CHARACTERS) flush();
          resolve(stream);
        });
        await rows.completion;
      },
      {
        readOnly: true,
        isolation: isOneSnapshot ? 'repeatable read' : 'read committed',
        statementTimeoutMs: timeoutMs,
        purpose: 'transfer',
        signal: signal,
        deadline: deadline.at,
        node,
      },
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
      .finally(release);
  });
}
