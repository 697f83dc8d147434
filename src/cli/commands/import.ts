// `wda import`: streams a CSV or NDJSON file into an entity; the server parses and checks it, all or nothing. Memory is
// bounded, whatever the size of the file.
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { AdminClient } from '../admin-client.ts';
import { action, examples } from '../command.ts';
import { connect, entityPath, type GlobalOptions, requireWorkspace, type WorkspaceAddress } from '../connection.ts';
import { CommandFailure, unreachableFailure } from '../failure.ts';
import { chooseFormat, type FileFormat, MEDIA_TYPES } from '../file-format.ts';
import { printResult } from '../io.ts';
import { formatBytes, formatDuration, showsProgress, startTransferBar } from '../progress.ts';
import { openSource } from '../stream-files.ts';
import { formatCount } from '../table.ts';

export function register(program: Command): void {
  const command = program
    .command('import')
    .description('import a CSV or NDJSON file into an entity, all or nothing')
    .argument('<entity>')
    .argument('<file>', '.csv, .ndjson or .jsonl; - is stdin')
    .addOption(new Option('--format <format>', 'default: by the extension').choices(['csv', 'ndjson']))
    .option('--map <pairs>', 'Header:field,… where they differ; "Header:" alone skips that column')
    .addOption(
      new Option(
        '--on-conflict <what>',
        'what to do with a record whose id exists: fail, skip, update; or the fields (email) by which records are matched and updated',
      ).argParser(conflictChoice),
    )
    .action(action(importFile));
  examples(command, [
    'wda import customers customers.csv -w acme/shop',
    'wda import customers crm.csv -w acme/shop --map "Customer Name:name,Mail:email,Notes:"',
    'wda import orders orders.ndjson -w acme/shop --on-conflict update',
    'wda import customers crm.csv -w acme/shop --on-conflict email',
    'zcat orders.csv.gz | wda import orders - --format csv -w acme/shop',
  ]);
}

/** Parses the option: one of the keywords, or names of fields. */
function conflictChoice(text: string): string {
  if (/^[A-Za-z]\w*(,[A-Za-z]\w*)*$/.test(text)) return text;
  throw new InvalidArgumentError(
    'Allowed choices are fail, skip, update, or names of fields with commas between them.',
  );
}

interface ImportOptions extends GlobalOptions {
  readonly format?: string;
  readonly map?: string;
  readonly onConflict?: string;
}

interface ImportResult {
  readonly inserted: number;
  readonly updated: number;
  readonly skipped: number;
}

// Limit of mistakes that the server lists.
const LISTED_ROWS = 100;

/** Imports `file` (`-` is stdin) into an entity and prints the counts of inserted, updated and skipped records. */
async function importFile(entity: string, file: string, options: ImportOptions): Promise<void> {
  const address = requireWorkspace(options);
  const client = connect(options);
  const format = chooseFormat(options.format, file);
  const startedAt = performance.now();
  const source = await openSource(options.io, file);
  const bar = startTransferBar(options.io, showsProgress(options), entity, 'bytes', source.size);
  let sentBytes = 0;
  try {
    const result = await sendRecords(client, address, entity, {
      format,
      body: source.chunks,
      ...(options.map === undefined ? {} : { map: options.map }),
      ...(options.onConflict === undefined ? {} : { onConflict: options.onConflict }),
      onProgress: (bytes, isComplete) => {
        sentBytes = bytes;
        bar.update(bytes, isComplete ? 'checking and storing' : undefined);
      },
    });
    bar.stop();
    await printResult(
      options,
      { entity, ...result },
      () =>
        `${describeImport(entity, result)} (${formatBytes(sentBytes)} in ${formatDuration(performance.now() - startedAt)})`,
    );
  } finally {
    bar.stop();
    await source.close();
  }
}

interface Records {
  readonly format: FileFormat;
  readonly body: AsyncIterable<Uint8Array>;
  /** Mapping of the API: `Header:field,…`. */
  readonly map?: string;
  readonly onConflict?: string;
  /** Reports the bytes sent so far, and the end with `isComplete`. */
  readonly onProgress?: (bytes: number, isComplete: boolean) => void;
}

/**
 * Streams records into an entity. The failure of a lost connection says whether the server may have stored any.
 */
export async function sendRecords(
  client: AdminClient,
  address: WorkspaceAddress,
  entity: string,
  { format, body, map, onConflict, onProgress }: Records,
): Promise<ImportResult> {
  let isComplete = false;
  const streamChunks = async function* (): AsyncGenerator<Uint8Array> {
    let bytes = 0;
    for await (const chunk of body) {
      bytes += chunk.byteLength;
      yield chunk;
      onProgress?.(bytes, false);
    }
    isComplete = true;
    onProgress?.(bytes, true);
  };
  try {
    const { data } = await client.upload<ImportResult>(
      `${entityPath(address, entity)}/_import`,
      [['map', map], ...conflictParameters(onConflict)],
      MEDIA_TYPES[format],
      streamChunks(),
    );
    return data;
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    if (error.failure.kind === 'refused') throw new CommandFailure(error.failure, consequences(error), error);
    if (error.failure.kind !== 'unreachable') throw error;
    const consequence = isComplete
      ? 'The whole file had been sent: look whether its records are there before trying again.'
      : 'Nothing was imported.';
    throw unreachableFailure(`${error.failure.message}. ${consequence}`, error);
  }
}

const MODES: readonly (string | undefined)[] = [undefined, 'fail', 'skip', 'update'];

/** Returns the parameters for `fail`, `skip` or `update` by id, or for an update by the named fields. */
function conflictParameters(what: string | undefined): [name: string, value: string | undefined][] {
  if (MODES.includes(what)) return [['onConflict', what]];
  return [
    ['onConflict', 'update'],
    ['conflictOn', what],
  ];
}

function consequences({ failure, hints }: CommandFailure): readonly string[] {
  const mistakeCount = failure.kind === 'refused' ? (failure.error.details?.length ?? 0) : 0;
  return [
    ...(mistakeCount >= LISTED_ROWS ? [`Only the first ${LISTED_ROWS} mistakes are listed.`] : []),
    'Nothing was imported.',
    ...hints,
  ];
}

/** Formats `tracks: 3,503 inserted, 0 updated, 0 skipped`. */
export function describeImport(entity: string, { inserted, updated, skipped }: ImportResult): string {
  return `${entity}: ${formatCount(inserted)} inserted, ${formatCount(updated)} updated, ${formatCount(skipped)} skipped`;
}
