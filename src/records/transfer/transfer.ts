// `_import` and `_export`: files in and out of an entity, streamed, through the same plans and the same doors as single
// records. The order of refusals is that of the data API: parameters, then the media type, then the body.
import type { Readable } from 'node:stream';
import { versionInForce } from '../../catalog/load-workspace.ts';
import type { Config } from '../../config.ts';
import { isStaleSnapshot } from '../../db/pg-error.ts';
import type { Database, Session } from '../../db/pool.ts';
import { badRequest, payloadTooLarge, serviceUnavailable, validationFailed } from '../../errors.ts';
import { inPieces } from '../../http/json-body.ts';
import type { Field } from '../../model/entity.ts';
import { makeTurns } from '../../pace/transfer-turns.ts';
import { checkImport, planCsvImport, planNdjsonImport } from '../../plan/import-plan.ts';
import { makeCellDecoder, makeMemberDecoder, type RowDecoder } from '../../plan/import-row.ts';
import { planExport } from '../../plan/plan.ts';
import { type ImportRequest, parseImportRequest } from '../../request/import-request.ts';
import { type ExportRequest, parseExportRequest } from '../../request/record-request.ts';
import { csvFile, ndjsonFile } from '../../response/export-file.ts';
import { json, type Reply } from '../../response/reply.ts';
import { bindQuery, compile } from '../../sql/compile.ts';
import { recordError } from '../record-error.ts';
import type { TransferHandlers, Visit } from '../visit.ts';
import { type Arrival, makeArrival } from './arrival.ts';
import { type ExportLimits, openExport } from './export-stream.ts';
import { type ImportCounts, type ImportRooms, runImport } from './import-run.ts';
import { ImportFault, type Line, readCsv, readLines, type SourceLimits } from './import-source.ts';

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
const EXPORT_ATTEMPTS = 3;
/** The workspace has changed since an export was planned. */
const CHANGED = new Error('changed');

export function makeTransferHandlers({ config, db, changed = () => undefined }: TransferRooms): TransferHandlers {
  const turns = makeTurns({
    count: config.transferConnections,
    maxWaiting: config.maxQueue,
  });
  const seconds = config.floorSeconds;
  const limits: SourceLimits = { maxBytes: config.maxImportBytes, maxRowBytes: config.maxBodyBytes };
  const importRooms: ImportRooms = { db, timeoutMs: config.transferTimeoutMs, changed };

  function takeTurn({ sender, workspace, principal, clock }: Visit): Promise<() => void> {
    const user = principal.kind === 'external' ? principal.credentialId : undefined;
    return turns.take({ workspace: workspace.id, user, caller: sender.caller, deadline: clock.deadline });
  }

  async function importRecords(visit: Visit): Promise<Reply> {
    const { call, sender, entity } = visit;
    const request = parseImportRequest(call.query, sender.headers);
    checkImport(request, entity, visit);
    if (Number(sender.headers['content-length'] ?? 0) > limits.maxBytes) throw payloadTooLarge(limits.maxBytes);
    const end = await takeTurn(visit);
    const source = sender.stream();
    const arrival = makeArrival(source, { bytesPerSecond: config.importFloor, seconds });
    // PostgreSQL's own clock does not tick while COPY waits for a client that sends a byte now and then.
    const deadline = setTimeout(() => arrival.end(badRequest(tookTooLong(config))), config.transferTimeoutMs);
    try {
      return json(200, {
        data: await (request.format === 'csv'
          ? importCsv(request, visit, arrival)
          : importNdjson(request, visit, arrival)),
      });
    } catch (error) {
      discard(source);
      throw error;
    } finally {
      clearTimeout(deadline);
      end();
    }
  }

  async function importCsv(request: ImportRequest, visit: Visit, arrival: Arrival): Promise<ImportCounts> {
    const batches = readCsv(arrival.chunks, limits);
    try {
      const [headers, first] = await readHeaders(batches);
      const plan = (now: Visit) => planCsvImport(request, headers, now.entity, now);
      const planned = plan(visit);
      const decode = makeCellDecoder(planned, visit.entity, visit);
      return await runImport(
        {
          plan: planned.plan,
          batches: chain(first, batches),
          decode,
          replan: (now) => plan(now).plan,
          interrupt: arrival.end,
        },
        visit,
        importRooms,
      );
    } finally {
      await batches.return(undefined);
    }
  }

  async function importNdjson(request: ImportRequest, visit: Visit, arrival: Arrival): Promise<ImportCounts> {
    const { turn, caller } = visit.sender;
    const batches = readLines(arrival.chunks, limits, (work) => inPieces(work, turn, caller));
    const replan = (now: Visit) => planNdjsonImport(request, now.entity, now);
    const plan = replan(visit);
    const decodeMembers = makeMemberDecoder(plan, request, visit.entity, visit);
    const decode: RowDecoder<Line> = (line, row, report) => {
      if ('value' in line) return decodeMembers(line.value, row, report);
      report({ row, field: null, code: 'INVALID', message: line.fault });
      return undefined;
    };
    try {
      return await runImport({ plan, batches, decode, replan, interrupt: arrival.end }, visit, importRooms);
    } finally {
      await batches.return(undefined);
    }
  }

  async function exportRecords(visit: Visit): Promise<Reply> {
    const request = parseExportRequest(visit.call.query);
    for (let current = visit, attempt = 1; ; attempt++) {
      try {
        return await openAs(current, request);
      } catch (error) {
        if (error !== CHANGED || attempt >= EXPORT_ATTEMPTS) throw error === CHANGED ? schemaChanging() : error;
        current = await visit.again();
      }
    }
  }

  /** Throws CHANGED when the workspace is not as it was planned for. */
  async function openAs(visit: Visit, request: ExportRequest): Promise<Reply> {
    const { entity, principal, workspace } = visit;
    const plan = planExport(request, entity, visit);
    const statement = compile(plan, { maxResponseBytes: config.maxResponseBytes });
    const { text, values } = bindQuery(statement, { principal });
    const fields = plan.projection.outputs.flatMap((output): Field[] =>
      output.kind === 'column' ? [output.field] : [],
    );
    const file = request.format === 'csv' ? csvFile(fields, request.formulas) : ndjsonFile(fields);
    const limits: ExportLimits = {
      timeoutMs: config.transferTimeoutMs,
      stallMs: config.bodyTimeoutMs,
      floor: { bytesPerSecond: config.exportFloor, seconds },
      caller: visit.sender.caller,
      deadline: visit.clock.deadline,
    };
    const confirm = async (session: Session): Promise<void> => {
      if ((await versionInForce(session, workspace.id)) !== workspace.version) throw CHANGED;
    };
    const end = await takeTurn(visit);
    const stream = await openExport(db, { text, values }, file, confirm, limits, end).catch((error) => {
      // Nothing was sent: the request is planned again from the new snapshot.
      if (error === CHANGED || isStaleSnapshot(error)) throw error;
      throw recordError(error, workspace, entity.name);
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

const schemaChanging = (): Error => serviceUnavailable('The schema is changing at the moment; retry');

function tookTooLong({ transferTimeoutMs }: Config): string {
  return `The import took longer than ${transferTimeoutMs / 1000} s. Nothing was imported`;
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
