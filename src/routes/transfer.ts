// `_import` and `_export`: files in and out of an entity, streamed, through the same plans and the same doors as single
// records. The order of refusals is that of the data API: parameters, then the media type, then the body.
import type { Readable } from 'node:stream';
import type { Config } from '../config.ts';
import { isStaleSnapshot, translateError } from '../db/pg-error.ts';
import type { Database } from '../db/pool.ts';
import { payloadTooLarge, validationFailed } from '../errors.ts';
import type { Field } from '../model/entity.ts';
import { checkImport, planCsvImport, planNdjsonImport } from '../plan/import-plan.ts';
import { makeCellDecoder, makeMemberDecoder, type RowDecoder } from '../plan/import-row.ts';
import { planExport } from '../plan/plan.ts';
import { type ImportRequest, parseImportRequest } from '../request/import-request.ts';
import { parseExportRequest } from '../request/record-request.ts';
import { csvFile, ndjsonFile } from '../response/export-file.ts';
import { json, type Reply } from '../response/reply.ts';
import { bindQuery, compile } from '../sql/compile.ts';
import { openExport } from './export-stream.ts';
import { type ImportCounts, type ImportRooms, runImport } from './import-run.ts';
import { ImportFault, type Line, readCsv, readLines, type SourceLimits } from './import-source.ts';
import { makeTurns } from './transfer-turns.ts';
import type { TransferHandlers, Visit } from './visit.ts';

export interface TransferRooms {
  readonly config: Config;
  readonly db: Database;
  /** The snapshot of the workspace is stale: load it again. */
  readonly changed?: (workspaceId: string) => void;
}

// What is still read of a body after its refusal, so that the client gets to read the answer: most clients look only
// when they have sent everything, and a closed connection makes them lose what they were sent.
const MAX_DISCARDED_BYTES = 67_108_864;
const MAX_DISCARD_MS = 5000;

export function makeTransferHandlers({ config, db, changed = () => undefined }: TransferRooms): TransferHandlers {
  // At least one of the connections for slow work is not for transfers.
  const turns = makeTurns(Math.max(1, config.slowConnections - 1), config.statementTimeoutMs);
  const limits: SourceLimits = { maxBytes: config.maxImportBytes, maxRowBytes: config.maxBodyBytes };
  const importRooms: ImportRooms = { db, timeoutMs: config.transferTimeoutMs, changed };

  async function importRecords(visit: Visit): Promise<Reply> {
    const { raw, entity } = visit;
    const request = parseImportRequest(raw.query, raw.headers);
    checkImport(request, entity, visit);
    if (Number(raw.headers['content-length'] ?? 0) > limits.maxBytes) throw payloadTooLarge(limits.maxBytes);
    const end = await turns.take();
    const source = raw.stream();
    // PostgreSQL's own clock does not tick while COPY waits for a client that sends a byte now and then.
    const deadline = setTimeout(() => source.destroy(new Error('it took too long')), config.transferTimeoutMs);
    try {
      return json(200, {
        data: await (request.format === 'csv'
          ? importCsv(request, visit, readCsv(source, limits))
          : importNdjson(request, visit, readLines(source, limits))),
      });
    } catch (error) {
      discard(source);
      throw error;
    } finally {
      clearTimeout(deadline);
      end();
    }
  }

  async function importCsv(
    request: ImportRequest,
    visit: Visit,
    batches: AsyncGenerator<string[][]>,
  ): Promise<ImportCounts> {
    try {
      const [headers, first] = await readHeaders(batches);
      const planned = planCsvImport(request, headers, visit.entity, visit);
      const decode = makeCellDecoder(planned, visit.entity, visit);
      return await runImport({ plan: planned.plan, batches: chain(first, batches), decode }, visit, importRooms);
    } finally {
      await batches.return(undefined);
    }
  }

  async function importNdjson(
    request: ImportRequest,
    visit: Visit,
    batches: AsyncGenerator<Line[]>,
  ): Promise<ImportCounts> {
    const plan = planNdjsonImport(request, visit.entity, visit);
    const decodeMembers = makeMemberDecoder(plan, request, visit.entity, visit);
    const decode: RowDecoder<Line> = (line, row, report) => {
      if ('value' in line) return decodeMembers(line.value, row, report);
      report({ row, field: null, code: 'INVALID', message: line.fault });
      return undefined;
    };
    try {
      return await runImport({ plan, batches, decode }, visit, importRooms);
    } finally {
      await batches.return(undefined);
    }
  }

  async function exportRecords(visit: Visit): Promise<Reply> {
    const { entity, principal } = visit;
    const request = parseExportRequest(visit.raw.query);
    const plan = planExport(request, entity, visit);
    const statement = compile(plan, { maxResponseBytes: config.maxResponseBytes });
    const { text, values } = bindQuery(statement, { principal });
    const fields = plan.projection.outputs.flatMap((output): Field[] =>
      output.kind === 'column' ? [output.field] : [],
    );
    const file = request.format === 'csv' ? csvFile(fields) : ndjsonFile(fields);
    const end = await turns.take();
    const stream = await openExport(
      db,
      { text, values },
      file,
      { timeoutMs: config.transferTimeoutMs, stallMs: config.bodyTimeoutMs },
      end,
    ).catch((error) => {
      // Nothing was sent: the request is planned again from the new snapshot.
      if (isStaleSnapshot(error)) throw error;
      throw translateError(error, visit.workspace, entity.name, 'read');
    });
    return {
      status: 200,
      headers: { 'Content-Disposition': `attachment; filename="${entity.name}.${request.format}"` },
      body: {
        kind: 'stream',
        contentType: request.format === 'csv' ? 'text/csv; charset=utf-8; header=present' : 'application/x-ndjson',
        stream,
      },
    };
  }

  return { importRecords, exportRecords };
}

/** The first row of a CSV file, and the rows that came with it. */
async function readHeaders(batches: AsyncGenerator<string[][]>): Promise<[string[], string[][]]> {
  try {
    for (;;) {
      const next = await batches.next();
      if (next.done === true) break;
      const [headers, ...rows] = next.value;
      if (headers !== undefined) return [headers, rows];
    }
  } catch (error) {
    if (!(error instanceof ImportFault)) throw error;
    throw validationFailed([{ row: 0, field: null, code: error.code, message: error.message }]);
  }
  const message = 'The file is empty: its first line must name the fields';
  throw validationFailed([{ row: 0, field: null, code: 'REQUIRED', message }], message);
}

async function* chain<T>(first: readonly T[], rest: AsyncIterable<readonly T[]>): AsyncGenerator<readonly T[]> {
  yield first;
  yield* rest;
}

/** Reads what is left of a refused body to nowhere, within bounds; then the connection ends. */
function discard(source: Readable): void {
  if (source.destroyed || source.readableEnded) return;
  let bytes = 0;
  const timer = setTimeout(() => source.destroy(), MAX_DISCARD_MS);
  source.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_DISCARDED_BYTES) source.destroy();
  });
  source.once('close', () => clearTimeout(timer));
  source.on('error', () => undefined);
  source.resume();
}
