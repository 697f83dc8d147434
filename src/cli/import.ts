// `wda import`: sends a CSV or NDJSON file into an entity, streamed as it is; the server parses and checks it, all or
// nothing. Memory is bounded, whatever the size of the file.
import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { AdminClient } from './admin-client.ts';
import { chosenWorkspace, connect, entityPath, type GlobalOptions, type WorkspaceAddress } from './connection.ts';
import { CommandFailure, failed, unreachable, usageFailure } from './failure.ts';
import { chooseFormat, type FileFormat, MEDIA_TYPES } from './file-format.ts';
import { type Io, printResult } from './io.ts';
import { formatBytes, formatDuration, showsProgress, startTransferBar } from './progress.ts';
import { formatCount } from './table.ts';

export interface ImportOptions extends GlobalOptions {
  readonly format?: string;
  readonly map?: string;
  readonly onConflict?: string;
}

export interface ImportResult {
  readonly inserted: number;
  readonly updated: number;
  readonly skipped: number;
}

// The server lists at most this many mistakes.
const LISTED_ROWS = 100;

// Fewer, larger reads: the disk is not the bottleneck, the turns of the event loop are.
const CHUNK_BYTES = 256 * 1024;

/** Imports `file` (`-` is stdin) into an entity and prints what was inserted, updated and skipped. */
export async function importFile(entity: string, file: string, options: ImportOptions): Promise<void> {
  const address = chosenWorkspace(options);
  const client = connect(options);
  const format = chooseFormat(options.format, file);
  const startedAt = performance.now();
  const source = await openSource(options.io, file);
  const bar = startTransferBar(options.io, showsProgress(options), entity, 'bytes', source.size);
  let sent = 0;
  try {
    const result = await sendRecords(client, address, entity, {
      format,
      body: source.chunks,
      ...(options.map === undefined ? {} : { map: options.map }),
      ...(options.onConflict === undefined ? {} : { onConflict: options.onConflict }),
      onSent: (bytes, whole) => {
        sent = bytes;
        bar.update(bytes, whole ? 'checking and storing' : undefined);
      },
    });
    bar.stop();
    await printResult(
      options,
      { entity, ...result },
      () =>
        `${describeImport(entity, result)} (${formatBytes(sent)} in ${formatDuration(performance.now() - startedAt)})`,
    );
  } finally {
    bar.stop();
    await source.close();
  }
}

export interface Records {
  readonly format: FileFormat;
  readonly body: AsyncIterable<Uint8Array>;
  /** `Header:field,…`, as the API takes it. */
  readonly map?: string;
  readonly onConflict?: string;
  /** Called with the bytes sent so far, and once with `whole` when there are no more. */
  readonly onSent?: (bytes: number, whole: boolean) => void;
}

/**
 * Streams records into an entity. The failure of a lost connection says whether the server may have stored anything.
 */
export async function sendRecords(
  client: AdminClient,
  address: WorkspaceAddress,
  entity: string,
  { format, body, map, onConflict, onSent }: Records,
): Promise<ImportResult> {
  let whole = false;
  const counted = async function* (): AsyncGenerator<Uint8Array> {
    let bytes = 0;
    for await (const chunk of body) {
      bytes += chunk.byteLength;
      yield chunk;
      onSent?.(bytes, false);
    }
    whole = true;
    onSent?.(bytes, true);
  };
  try {
    const { data } = await client.upload(
      `${entityPath(address, entity)}/_import`,
      [['map', map], ...conflictParameters(onConflict)],
      MEDIA_TYPES[format],
      counted(),
    );
    return data as ImportResult;
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    if (error.failure.kind === 'refused') throw new CommandFailure(error.failure, consequences(error), error);
    if (error.failure.kind !== 'unreachable') throw error;
    const consequence = whole
      ? 'The whole file had been sent: look whether its records are there before trying again.'
      : 'Nothing was imported.';
    throw unreachable(`${error.failure.message}. ${consequence}`, error);
  }
}

const MODES: readonly (string | undefined)[] = [undefined, 'fail', 'skip', 'update'];

/** `fail`, `skip` and `update` are by the id; anything else names the fields by which records are found and updated. */
function conflictParameters(what: string | undefined): [name: string, value: string | undefined][] {
  if (MODES.includes(what)) return [['onConflict', what]];
  return [
    ['onConflict', 'update'],
    ['conflictOn', what],
  ];
}

function consequences({ failure, hints }: CommandFailure): readonly string[] {
  const listed = failure.kind === 'refused' ? (failure.error.details?.length ?? 0) : 0;
  return [
    ...(listed >= LISTED_ROWS ? [`Only the first ${LISTED_ROWS} mistakes are listed.`] : []),
    'Nothing was imported.',
    ...hints,
  ];
}

/** `tracks: 3,503 inserted, 0 updated, 0 skipped`. */
export function describeImport(entity: string, { inserted, updated, skipped }: ImportResult): string {
  return `${entity}: ${formatCount(inserted)} inserted, ${formatCount(updated)} updated, ${formatCount(skipped)} skipped`;
}

interface Source {
  /** Bytes, or null when nobody knows (stdin, pipes). */
  readonly size: number | null;
  readonly chunks: AsyncIterable<Uint8Array>;
  readonly close: () => Promise<void>;
}

/** Opens a file for streaming; a failure says why it cannot be read. */
export async function openSource(io: Io, file: string): Promise<Source> {
  if (file === '-') {
    if (io.stdin.isTTY)
      throw usageFailure('Nothing is piped into stdin', ['Example: cat people.csv | wda import people - --format csv']);
    return { size: null, chunks: io.stdin, close: async () => {} };
  }
  try {
    const handle = await open(resolve(io.cwd, file), 'r');
    const stat = await handle.stat();
    if (stat.isDirectory()) {
      await handle.close();
      throw new Error('it is a directory');
    }
    const stream = handle.createReadStream({ highWaterMark: CHUNK_BYTES, autoClose: false });
    const close = async (): Promise<void> => {
      stream.destroy();
      await handle.close();
    };
    return { size: stat.isFile() ? stat.size : null, chunks: stream, close };
  } catch (error) {
    throw failed(`Cannot read ${file}: ${(error as Error).message}`, undefined, error);
  }
}
