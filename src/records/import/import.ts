// `_import`: a file -> rows -> one transaction. The order of refusals is that of the data API: parameters, then the media
// type, then the body.
import { badRequest, payloadTooLarge, validationFailed } from '../../errors.ts';
import { inSlices } from '../../http/body.ts';
import { readUpload, type Upload } from '../../limits/upload.ts';
import { checkImport, planCsvImport, planNdjsonImport } from '../../plan/import-plan.ts';
import { makeCellDecoder, makeMemberDecoder, type RowDecoder } from '../../plan/import-row.ts';
import { type ImportRequest, parseImportRequest } from '../../request/import-request.ts';
import { json, type Reply } from '../../response/reply.ts';
import type { EntityContext } from '../context.ts';
import { type ImportKey, importOnce } from '../idempotency.ts';
import type { TransferDeps } from '../transfer.ts';
import { ImportFault, type Line, readCsv, readLines, type SourceLimits } from './rows.ts';
import { type ImportCounts, importReply, runImport } from './run.ts';

interface KeyedArrival extends Upload {
  readonly key: ImportKey | undefined;
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
  const arrival = readUpload(source, { bytesPerSecond: config.importFloor, seconds: config.floorSeconds });
  // PostgreSQL's own clock does not tick while COPY waits for a client that sends a byte now and then.
  const deadline = setTimeout(() => arrival.end(badRequest('BODY_INTERRUPTED', tookTooLong(timeoutMs))), timeoutMs);
  try {
    const readFile = options.format === 'csv' ? importCsv : importNdjson;
    if (options.isDryRun) {
      const data = await readFile(deps, options, context, { ...arrival, key: undefined });
      return json(200, { data, meta: { dryRun: true } });
    }
    const { chunks, end: interrupt } = arrival;
    const file = { chunks, maxBytes, waitMs: config.statementTimeoutMs };
    return await importOnce(keys, context, file, async (hashed, key) =>
      importReply(await readFile(deps, options, context, { chunks: hashed, end: interrupt, key })),
    );
  } finally {
    clearTimeout(deadline);
    release();
  }
}

async function importCsv(
  deps: TransferDeps,
  request: ImportRequest,
  context: EntityContext,
  arrival: KeyedArrival,
): Promise<ImportCounts> {
  const batches = readCsv(arrival.chunks, rowLimits(deps));
  try {
    const [headers, first] = await readHeaders(batches);
    const plan = (now: EntityContext) => planCsvImport(request, headers, now.entity, now);
    const planned = plan(context);
    const decode = makeCellDecoder(planned, context.entity, context);
    return await runImport(
      {
        plan: planned.plan,
        batches: chain(first, batches),
        decode,
        replan: (now) => plan(now).plan,
        interrupt: arrival.end,
        isDryRun: request.isDryRun === true,
        key: arrival.key,
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
  arrival: KeyedArrival,
): Promise<ImportCounts> {
  const batches = readLines(arrival.chunks, rowLimits(deps), (work) =>
    inSlices(work, context.request.slices, context.signal),
  );
  const replan = (now: EntityContext) => planNdjsonImport(request, now.entity, now);
  const plan = replan(context);
  const decodeMembers = makeMemberDecoder(plan, request, context.entity, context);
  const decode: RowDecoder<Line> = (line, row, report) => {
    if ('value' in line) return decodeMembers(line.value, row, report);
    report({ row, field: null, code: 'INVALID', message: line.fault });
    return undefined;
  };
  try {
    return await runImport(
      { plan, batches, decode, replan, interrupt: arrival.end, isDryRun: request.isDryRun === true, key: arrival.key },
      context,
      deps,
    );
  } finally {
    await batches.return(undefined);
  }
}

const rowLimits = ({ config }: TransferDeps): SourceLimits => ({
  maxBytes: config.maxImportBytes,
  maxRowBytes: config.maxBodyBytes,
});

const tookTooLong = (timeoutMs: number): string =>
  `The import took longer than ${timeoutMs / 1000} s. Nothing was imported`;

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
