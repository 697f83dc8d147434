// `wda export`: streams the records of an entity into a CSV or NDJSON file, or to stdout.
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Command, Option } from 'commander';
import type { AdminClient, Query } from '../admin-client.ts';
import { action, collect, examples, FILTER_HELP, repeated } from '../command.ts';
import { connect, entityPath, type GlobalOptions, requireWorkspace, type WorkspaceAddress } from '../connection.ts';
import { usageFailure } from '../failure.ts';
import { chooseFormat, type FileFormat, MEDIA_TYPES, makeRecordCounter } from '../file-format.ts';
import { printResult } from '../io.ts';
import { formatBytes, formatDuration, showsProgress, startTransferBar } from '../progress.ts';
import { explainLoss, fileTarget, isBrokenPipe, stdoutTarget } from '../stream-files.ts';
import { formatCount } from '../table.ts';

export function register(program: Command): void {
  const command = program
    .command('export')
    .description('export the records of an entity as CSV or NDJSON')
    .argument('<entity>')
    .argument('[file]', 'written completely or not at all; - or nothing is stdout', '-')
    .addOption(new Option('--format <format>', 'default: by the extension; csv on stdout').choices(['csv', 'ndjson']))
    .option('--filter <filter>', FILTER_HELP, collect)
    .option('--sort <sort>', 'field[,asc|desc]; repeat it for more keys', collect)
    .option('--fields <fields>', 'only these fields, separated by commas')
    .action(action(exportFile));
  examples(command, [
    'wda export customers customers.csv -w acme/shop',
    'wda export orders big.ndjson -w acme/shop --filter total,gte,100 --filter status,eq,paid --sort total,desc',
    'wda export customers -w acme/shop --fields id,email | head',
  ]);
}

interface ExportOptions extends GlobalOptions {
  readonly format?: string;
  readonly filter?: readonly string[];
  readonly sort?: readonly string[];
  readonly fields?: string;
}

/** Exports an entity to `file`; `-` is stdout. */
async function exportFile(entity: string, file: string, options: ExportOptions): Promise<void> {
  const address = requireWorkspace(options);
  const client = connect(options);
  const toStdout = file === '-';
  if (toStdout && options.json)
    throw usageFailure('--json needs a FILE: the records themselves go to stdout', [
      'For records as JSON lines: --format ndjson',
    ]);
  const format = chooseFormat(options.format, file, toStdout ? 'csv' : undefined);
  const startedAt = performance.now();
  const isVisible = showsProgress(options) && !(toStdout && options.io.stdout.isTTY === true);
  const total = isVisible ? await countRecords(client, address, entity, options.filter ?? []) : null;

  const target = toStdout ? stdoutTarget(options.io) : await fileTarget(options.io, file);
  const bar = startTransferBar(options.io, isVisible, entity, 'records', total);
  const counter = makeRecordCounter(format);
  let bytes = 0;
  const meter = new Transform({
    transform(chunk: Uint8Array, _encoding, callback) {
      bytes += chunk.byteLength;
      counter.add(chunk);
      bar.update(counter.count());
      callback(null, chunk);
    },
  });
  try {
    const stream = await client.download(
      `${entityPath(address, entity)}/_export`,
      exportQuery(format, options),
      MEDIA_TYPES[format],
    );
    await pipeline(stream, meter, target.stream);
    await target.commit();
  } catch (error) {
    await target.discard();
    if (isBrokenPipe(error) && toStdout) return;
    throw explainLoss(error, 'export', file);
  } finally {
    bar.stop();
  }
  if (toStdout) return;
  const records = counter.count();
  await printResult(
    options,
    { entity, file, format, records, bytes },
    () =>
      `${entity}: ${formatCount(records)} records to ${file} (${formatBytes(bytes)} in ${formatDuration(performance.now() - startedAt)})`,
  );
}

function exportQuery(format: FileFormat, options: ExportOptions): Query {
  return [
    ['format', format],
    ...repeated('filter', options.filter),
    ...repeated('sort', options.sort),
    ['fields', options.fields],
  ];
}

/** Counts the records of the export, for the progress bar. */
async function countRecords(
  client: AdminClient,
  address: WorkspaceAddress,
  entity: string,
  filters: readonly string[],
): Promise<number | null> {
  const { meta } = await client.send('GET', entityPath(address, entity), {
    query: [['size', 1], ['fields', 'id'], ['expand', ''], ...repeated('filter', filters)],
  });
  const total = (meta as { totalElements?: unknown } | null)?.totalElements;
  return typeof total === 'number' ? total : null;
}
