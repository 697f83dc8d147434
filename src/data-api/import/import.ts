// Executes `_import`: a file -> rows -> one transaction. Errors come in the order of the data API: parameters, then the
// media type, then the body.
import { badRequest, payloadTooLarge, validationFailed } from '../../errors.ts';
import { runInSlices } from '../../http/body.ts';
import { readUpload, type Upload } from '../../limits/upload.ts';
import { checkImport, getImported, isPlainInsert, planCsvImport, planNdjsonImport } from '../../plan/import-plan.ts';
import { makeCellDecoder, makeDenseRows, makeMemberDecoder, type RowDecoder } from '../../plan/import-row.ts';
import { type ImportRequest, parseImportRequest } from '../../request/import-request.ts';
import type { Reply } from '../../response/reply.ts';
import type { EntityContext } from '../context.ts';
import { type ImportKey, importIdempotent } from '../idempotency.ts';
import type { TransferDeps } from '../transfer.ts';
import { findDirectWay } from './direct.ts';
import { recordBody } from './recording.ts';
import { makeCsvRejects, NDJSON_REJECTS } from './reject-file.ts';
import { type CsvRow, ImportFault, type JsonLine, readCsv, readLines, type SourceLimits } from './rows.ts';
import { runImport } from './run.ts';

interface KeyedUpload extends Upload {
  readonly key: ImportKey | undefined;
  readonly release: () => void;
}

export async function importRecords(deps: TransferDeps, context: EntityContext): Promise<Reply> {
  const { config, keys } = deps;
  const { maxImportBytes: maxBytes, transferTimeoutMs: timeoutMs } = config;
  const { call, request, entity } = context;
  const options = parseImportRequest(call.query, request.headers);
  checkImport(options, entity, context);
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw payloadTooLarge(maxBytes);
  const release = await deps.takePermit(context);
  const source = request.stream();
  const upload = readUpload(source, {
    bytesPerSecond: config.minImportBytesPerSecond,
    seconds: config.transferWindowSeconds,
  });
  // PostgreSQL's timeout does not run while COPY waits for a client that sends a byte now and then.
  const deadline = setTimeout(() => upload.end(badRequest('BODY_INTERRUPTED', formatTimeout(timeoutMs))), timeoutMs);
  let isStreaming = false;
  try {
    const readFile = options.format === 'csv' ? importCsv : importNdjson;
    const read = (chunks: AsyncIterable<Buffer>, key: ImportKey | undefined): Promise<Reply> =>
      readFile(deps, options, context, { chunks, end: upload.end, key, release });
    const { chunks } = upload;
    const reply = options.isDryRun
      ? await read(chunks, undefined)
      : await importIdempotent(keys, context, { chunks, maxBytes, waitMs: config.statementTimeoutMs }, read);
    // Rejected rows wait for their client, which must not hold more of them than there are permits.
    isStreaming = reply.body.kind === 'stream';
    return reply;
  } finally {
    clearTimeout(deadline);
    if (!isStreaming) release();
  }
}

async function importCsv(
  deps: TransferDeps,
  request: ImportRequest,
  context: EntityContext,
  upload: KeyedUpload,
): Promise<Reply> {
  const recording = recordBody(upload.chunks, context.request.headers['content-length']);
  const readRows = () => readCsv(recording?.read() ?? upload.chunks, getRowLimits(deps));
  const batches = readRows();
  try {
    const [headers, first] = await readHeaders(batches);
    const planFor = (current: EntityContext) => planCsvImport(request, headers, getImported(current.entity), current);
    const csvPlan = planFor(context);
    const decodeCells = makeCellDecoder(csvPlan, request, getImported(context.entity), context);
    const decode: RowDecoder<CsvRow> = ({ cells }, row, report) => decodeCells(cells, row, report);
    const mayBeDirect = isPlainInsert(csvPlan.plan);
    const readAgain = () => skipHeaders(readRows());
    return await runImport(
      {
        plan: csvPlan.plan,
        batches: chain(first, batches),
        direct: await findDirectWay(mayBeDirect ? recording : undefined, csvPlan.plan, readAgain, () => ({
          narrow: (plan) => plan,
          decode,
        })),
        decode,
        maxErrors: request.maxErrors,
        replan: (current) => planFor(current).plan,
        notes: csvPlan.notes,
        interrupt: upload.end,
        isDryRun: request.isDryRun === true,
        key: upload.key,
        rejects: request.hasRejects ? makeCsvRejects(headers) : undefined,
        release: upload.release,
      },
      context,
      deps,
    );
  } finally {
    await batches.return(undefined);
  }
}

async function importNdjson(
  deps: TransferDeps,
  request: ImportRequest,
  context: EntityContext,
  upload: KeyedUpload,
): Promise<Reply> {
  const recording = recordBody(upload.chunks, context.request.headers['content-length']);
  const readRows = () =>
    readLines(recording?.read() ?? upload.chunks, getRowLimits(deps), (work) =>
      runInSlices(work, context.request.slices, context.signal),
    );
  const batches = readRows();
  const replan = (current: EntityContext) => planNdjsonImport(request, getImported(current.entity), current);
  const plan = replan(context);
  const decodeMembers = makeMemberDecoder(plan, request, getImported(context.entity), context);
  const decode: RowDecoder<JsonLine> = (line, row, report) => {
    if ('value' in line) return decodeMembers(line.value, row, report);
    report({ row, field: null, code: 'INVALID', message: line.fault });
    return undefined;
  };
  const findRows = async () => {
    const first = await readFirst(readRows());
    return first && makeDenseRows(decode, first);
  };
  // The first row of another user is refused with its place.
  const isOwn = plan.scan.filter.kind === 'unrestricted';
  try {
    return await runImport(
      {
        plan,
        batches,
        direct: await findDirectWay(isOwn ? recording : undefined, plan, readRows, findRows),
        decode,
        maxErrors: request.maxErrors,
        replan,
        notes: [],
        interrupt: upload.end,
        isDryRun: request.isDryRun === true,
        key: upload.key,
        rejects: request.hasRejects ? NDJSON_REJECTS : undefined,
        release: upload.release,
      },
      context,
      deps,
    );
  } finally {
    await batches.return(undefined);
  }
}

const getRowLimits = ({ config }: TransferDeps): SourceLimits => ({
  maxBytes: config.maxImportBytes,
  maxRowBytes: config.maxBodyBytes,
});

const formatTimeout = (timeoutMs: number): string =>
  `The import took longer than ${timeoutMs / 1000} s. Nothing was imported`;

/** Reads the first row of a CSV file, and the rows that came with it. */
async function readHeaders(
  batches: AsyncGenerator<CsvRow[]>,
): Promise<[headers: readonly string[], rows: readonly CsvRow[]]> {
  try {
    for (;;) {
      const next = await batches.next();
      if (next.done === true) break;
      const [headers, ...rows] = next.value;
      if (headers !== undefined) return [headers.cells, rows];
    }
  } catch (error) {
    if (!(error instanceof ImportFault)) throw error;
    throw validationFailed([{ row: 0, line: error.line, field: null, code: error.code, message: error.message }]);
  }
  const message = 'The file is empty: its first line must name the fields';
  throw validationFailed([{ row: 0, field: null, code: 'REQUIRED', message }], message);
}

async function* skipHeaders(batches: AsyncGenerator<CsvRow[]>): AsyncGenerator<readonly CsvRow[]> {
  const [, first] = await readHeaders(batches);
  yield* chain(first, batches);
}

/** Reads the first row, or undefined if there is none that can be read. */
async function readFirst<T>(batches: AsyncIterable<readonly T[]>): Promise<T | undefined> {
  try {
    for await (const [first] of batches) return first;
  } catch (error) {
    if (!(error instanceof ImportFault)) throw error;
  }
  return undefined;
}

async function* chain<T>(first: readonly T[], rest: AsyncIterable<readonly T[]>): AsyncGenerator<readonly T[]> {
  yield first;
  yield* rest;
}
