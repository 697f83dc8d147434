// `wda export`: streams the records of an entity into a CSV or NDJSON file, or to stdout. A file appears under its name
// only when it is whole: it is written beside its place and renamed.
import { createWriteStream, rmSync } from 'node:fs';
import { open, realpath, rename, rm, stat } from 'node:fs/promises';
import { constants } from 'node:os';
import { Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { AdminClient, Query } from './admin-client.ts';
import { chosenWorkspace, connect, entityPath, type GlobalOptions, type WorkspaceAddress } from './connection.ts';
import { CommandFailure, failed, unreachable, usageFailure } from './failure.ts';
import { chooseFormat, type FileFormat, MEDIA_TYPES, makeRecordCounter } from './file-format.ts';
import { printResult } from './output.ts';
import { formatBytes, formatDuration, showsProgress, startTransferBar } from './progress.ts';
import { formatCount } from './table.ts';

export interface ExportOptions extends GlobalOptions {
  readonly format?: string;
  readonly filter?: readonly string[];
  readonly sort?: readonly string[];
  readonly fields?: string;
}

/** Exports an entity to `file`; `-` is stdout. */
export async function exportFile(entity: string, file: string, options: ExportOptions): Promise<void> {
  const address = chosenWorkspace(options);
  const client = connect(options);
  const toStdout = file === '-';
  if (toStdout && options.json)
    throw usageFailure('--json needs a FILE: the records themselves go to stdout', [
      'For records as JSON lines: --format ndjson',
    ]);
  const format = chooseFormat(options.format, file, toStdout ? 'csv' : undefined);
  const startedAt = performance.now();
  const shown = showsProgress(options.json) && !(toStdout && process.stdout.isTTY === true);
  const total = shown ? await countRecords(client, address, entity, options.filter ?? []) : null;

  const target = toStdout ? stdoutTarget() : await fileTarget(file);
  const bar = startTransferBar(shown, entity, 'records', total);
  const counter = makeRecordCounter(format);
  let bytes = 0;
  const meter = new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      bytes += chunk.byteLength;
      counter.add(chunk);
      bar.update(counter.count());
      done(null, chunk);
    },
  });
  try {
    const answer = await client.download(
      `${entityPath(address, entity)}/_export`,
      exportQuery(format, options),
      MEDIA_TYPES[format],
    );
    await pipeline(answer, meter, target.stream);
    await target.keep();
  } catch (error) {
    await target.discard();
    if (isBrokenPipe(error) && toStdout) return;
    throw explain(error, file);
  } finally {
    bar.stop();
  }
  if (toStdout) return;
  const records = counter.count();
  await printResult(
    options.json,
    { entity, file, format, records, bytes },
    () =>
      `${entity}: ${formatCount(records)} records to ${file} (${formatBytes(bytes)} in ${formatDuration(performance.now() - startedAt)})`,
  );
}

function exportQuery(format: FileFormat, options: ExportOptions): Query {
  return [
    ['format', format],
    ...(options.filter ?? []).map((filter) => ['filter', filter] as const),
    ...(options.sort ?? []).map((sort) => ['sort', sort] as const),
    ['fields', options.fields],
  ];
}

/** How many records the export will hold, for the progress bar. */
async function countRecords(
  client: AdminClient,
  address: WorkspaceAddress,
  entity: string,
  filters: readonly string[],
): Promise<number | null> {
  const { meta } = await client.send('GET', entityPath(address, entity), {
    query: [['size', 1], ['fields', 'id'], ['expand', ''], ...filters.map((filter) => ['filter', filter] as const)],
  });
  const total = (meta as { totalElements?: unknown } | null)?.totalElements;
  return typeof total === 'number' ? total : null;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

interface Target {
  readonly stream: Writable;
  /** Gives the written file its name. */
  readonly keep: () => Promise<void>;
  readonly discard: () => Promise<void>;
}

function stdoutTarget(): Target {
  // stdout is never ended, so a stream of our own takes its place in the pipeline.
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      process.stdout.write(chunk, done);
    },
  });
  return { stream, keep: async () => {}, discard: async () => {} };
}

async function fileTarget(file: string): Promise<Target> {
  try {
    const existing = await stat(file).catch(() => undefined);
    if (existing?.isDirectory()) throw new Error('it is a directory');
    // A device or a pipe is written as it is: renaming over it would replace it.
    if (existing !== undefined && !existing.isFile())
      return { stream: createWriteStream(file, { flags: 'w' }), keep: async () => {}, discard: async () => {} };
    const place = existing === undefined ? file : await realpath(file);
    const part = `${place}.${process.pid}.part`;
    const handle = await open(part, 'wx', existing?.mode ?? 0o666);
    const discard = async (): Promise<void> => {
      stopListening();
      await handle.close().catch(() => undefined);
      await rm(part, { force: true });
    };
    const onSignal = (signal: NodeJS.Signals): void => {
      rmSync(part, { force: true });
      process.exit(128 + constants.signals[signal]);
    };
    const stopListening = (): void => {
      for (const signal of SIGNALS) process.off(signal, onSignal);
    };
    for (const signal of SIGNALS) process.once(signal, onSignal);
    return {
      // Flushed before it is closed, so that the file is complete under its new name, even after a power cut.
      stream: handle.createWriteStream({ flush: true }),
      keep: async () => {
        await rename(part, place);
        stopListening();
      },
      discard,
    };
  } catch (error) {
    throw failed(`Cannot write ${file}: ${(error as Error).message}`, undefined, error);
  }
}

function explain(error: unknown, file: string): unknown {
  if (error instanceof CommandFailure) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  const consequence = file === '-' ? 'What was printed is not whole.' : `${file} is as it was before.`;
  if (code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE')
    return unreachable(`The connection was lost in the middle of the export. ${consequence}`, error);
  return failed(`The export failed: ${message}. ${consequence}`, undefined, error);
}

const isBrokenPipe = (error: unknown): boolean => (error as NodeJS.ErrnoException | null)?.code === 'EPIPE';
