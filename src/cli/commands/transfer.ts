// `wda import` streams a CSV or NDJSON file into an entity, which the server parses and checks, all or nothing; `wda export`
// streams one out of it. Memory is bounded, whatever the size of the file.

import { resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type AdminClient, type Query, totalElements } from '../admin-client.ts';
import {
  action,
  collect,
  connect,
  entityPath,
  examples,
  FILTER_HELP,
  type GlobalOptions,
  repeated,
  requireWorkspace,
  type WorkspaceAddress,
} from '../command.ts';
import { CommandFailure, usageFailure } from '../failure.ts';
import { openSource, printResult, saveStream, sendStream } from '../io.ts';
import { formatBytes, formatDuration, showsProgress, startTransferBar } from '../progress.ts';
import { formatCount, printable } from '../table.ts';

export function register(program: Command): void {
  const importCommand = program
    .command('import')
    .description('import a CSV or NDJSON file into an entity, all or nothing')
    .argument('<entity>')
    .argument('<file>', '.csv, .ndjson or .jsonl; - is stdin')
    .addOption(new Option('--format <format>', 'default: by the extension').choices(['csv', 'ndjson']))
    .option(
      '--map <pairs>',
      'Header:field,… where they differ; Header:relation.field looks a reference up; "Header:" alone skips that column',
    )
    .addOption(
      new Option(
        '--on-conflict <what>',
        'what to do with a record whose id exists: fail, skip, update; or the fields (email) by which records are matched and updated',
      ).argParser(conflictChoice),
    )
    .addOption(
      new Option('--rejects <file>', 'write the rows without mistakes, and the others with their reasons to this file'),
    )
    .addOption(new Option('--max-errors <count>', 'mistakes that are listed; 100 if not given').conflicts('rejects'))
    .option('--formats <forms>', 'of CSV: date:dd.MM.yyyy;decimal:1.234,50;boolean:ja/nein')
    .addOption(
      new Option('--events <how>', 'of an entity that keeps changes: an event for each record, or one for all').choices(
        ['each', 'summary'],
      ),
    )
    .action(action(importFile));
  examples(importCommand, [
    'wda import customers customers.csv -w acme/shop',
    'wda import customers crm.csv -w acme/shop --map "Customer Name:name,Mail:email,Notes:"',
    'wda import orders orders.ndjson -w acme/shop --on-conflict update',
    'wda import customers crm.csv -w acme/shop --on-conflict email',
    'wda import tickets helpdesk.csv -w acme/shop --map "E-Mail:requester.email" --rejects rejected.csv',
    'zcat orders.csv.gz | wda import orders - --format csv -w acme/shop',
  ]);
  const exportCommand = program
    .command('export')
    .description('export the records of an entity as CSV or NDJSON')
    .argument('<entity>')
    .argument('[file]', 'written completely or not at all; - or nothing is stdout', '-')
    .addOption(new Option('--format <format>', 'default: by the extension; csv on stdout').choices(['csv', 'ndjson']))
    .option('--filter <filter>', FILTER_HELP, collect)
    .option('--sort <sort>', 'field[,asc|desc]; repeat it for more keys', collect)
    .option('--fields <fields>', 'only these fields, separated by commas')
    .option('--labels', 'after each reference a column with the label of the related record')
    .action(action(exportFile));
  examples(exportCommand, [
    'wda export customers customers.csv -w acme/shop',
    'wda export orders big.ndjson -w acme/shop --filter total,gte,100 --filter status,eq,paid --sort total,desc',
    'wda export customers -w acme/shop --fields id,email | head',
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
  readonly rejects?: string;
  readonly maxErrors?: string;
  readonly formats?: string;
  readonly events?: string;
}

interface ImportResult {
  readonly inserted: number;
  readonly updated: number;
  readonly skipped: number;
  /** With a file of rejected rows. */
  readonly rejected?: number;
  /** Sentences about headers that were read as fields of similar names. */
  readonly notes?: readonly string[];
}

// Mistakes that the server lists if no other number is asked for.
const LISTED_ROWS = 100;

/** Imports `file` (`-` is stdin) into an entity and prints the counts of inserted, updated and skipped records. */
async function importFile(entity: string, file: string, options: ImportOptions): Promise<void> {
  const address = requireWorkspace(options);
  const client = connect(options);
  const format = chooseFormat(options.format, file);
  const { rejects, maxErrors, formats, onConflict, map, events } = options;
  if (rejects === '-') throw usageFailure('--rejects needs a file: the counts go to stdout');
  if (rejects !== undefined && file !== '-' && resolve(options.io.cwd, rejects) === resolve(options.io.cwd, file))
    throw usageFailure('--rejects would replace the file that is imported');
  const startedAt = performance.now();
  const source = await openSource(options.io, file);
  const bar = startTransferBar(options.io, showsProgress(options), entity, 'bytes', source.size);
  let sentBytes = 0;
  try {
    const records: Records = {
      format,
      body: source.chunks,
      parameters: [
        ['map', map],
        ...conflictParameters(onConflict),
        ['formats', formats],
        ['events', events],
        ['maxErrors', maxErrors],
      ],
      onProgress: (bytes, isAll) => {
        sentBytes = bytes;
        bar.update(bytes, isAll ? 'checking and storing' : undefined);
      },
    };
    const result =
      rejects === undefined
        ? await sendRecords(client, address, entity, records)
        : await saveRejects(options.io, rejects, client, `${entityPath(address, entity)}/_import`, records);
    bar.stop();
    await printResult(options, { entity, ...result, ...(rejects === undefined ? {} : { rejects }) }, () =>
      [
        `${describeImport(entity, result)} (${formatBytes(sentBytes)} in ${formatDuration(performance.now() - startedAt)})`,
        ...(result.notes ?? []).map((note) => `Note: ${printable(note)}`),
        ...(result.rejected ? [`The rejected rows and their reasons are in ${rejects}.`] : []),
      ].join('\n'),
    );
  } finally {
    bar.stop();
    await source.close();
  }
}

interface Records {
  readonly format: FileFormat;
  readonly body: AsyncIterable<Uint8Array>;
  /** Parameters of the API. */
  readonly parameters?: Query;
  /** Reports the bytes sent so far, and the end with `isAll`. */
  readonly onProgress?: (bytes: number, isAll: boolean) => void;
}

/**
 * Streams records into an entity. The failure of a lost connection says whether the server may have stored any.
 */
export async function sendRecords(
  client: AdminClient,
  address: WorkspaceAddress,
  entity: string,
  { format, body, parameters = [], onProgress }: Records,
): Promise<ImportResult> {
  const path = `${entityPath(address, entity)}/_import`;
  return sendImport(body, onProgress, async (chunks) => {
    const { data, meta } = await client.upload<ImportResult>(path, parameters, MEDIA_TYPES[format], chunks);
    const { notes } = (meta ?? {}) as Pick<ImportResult, 'notes'>;
    return { ...data, ...(notes === undefined ? {} : { notes }) };
  });
}

async function sendImport<T>(
  body: AsyncIterable<Uint8Array>,
  onProgress: Records['onProgress'],
  send: (chunks: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<T> {
  const progress = {
    onProgress: onProgress ?? (() => {}),
    ifAll: 'The whole file had been sent: look whether its records are there before trying again.',
    ifPart: `${NOTHING}.`,
  };
  try {
    return await sendStream(body, progress, send);
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.failure.kind !== 'refused') throw error;
    throw new CommandFailure(error.failure, consequences(error), error);
  }
}

const COUNTS = ['inserted', 'updated', 'skipped', 'rejected'] as const;

/** Imports the rows without mistakes, and saves the others in `file`, which is opened before anything is sent. */
async function saveRejects(
  io: GlobalOptions['io'],
  file: string,
  client: AdminClient,
  path: string,
  { format, body, parameters = [], onProgress }: Records,
): Promise<ImportResult> {
  let counts: Required<Omit<ImportResult, 'notes'>> | undefined;
  try {
    await saveStream(io, file, { what: 'list of rejected rows', onChunk: () => {} }, () =>
      sendImport(body, onProgress, async (chunks) => {
        const query: Query = [...parameters, ['rejects', true]];
        const response = await client.uploadForFile(path, query, MEDIA_TYPES[format], chunks);
        const entries = COUNTS.map((name) => [name, Number(response.headers[`import-${name}`])]);
        counts = Object.fromEntries(entries) as typeof counts;
        return response;
      }),
    );
  } catch (error) {
    if (counts === undefined || !(error instanceof CommandFailure)) throw error;
    const written = `The other rows are imported: ${counts.inserted} inserted, ${counts.updated} updated, ${counts.rejected} rejected.`;
    throw new CommandFailure(error.failure, [written, ...error.hints], error);
  }
  return counts as ImportResult;
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

const NOTHING = 'Nothing was imported';

function consequences(error: CommandFailure): readonly string[] {
  const { failure, hints } = error;
  const details = failure.kind === 'refused' ? (failure.error.details ?? []) : [];
  const mentionsMap = details.some(({ message }) => message?.includes('map='));
  return [
    ...(details.length >= LISTED_ROWS ? [`Only the first ${details.length} mistakes are listed.`] : []),
    ...(mentionsMap ? ['On the command line map=Header:field is --map "Header:field".'] : []),
    // Some messages of the server begin with it.
    ...(error.message.startsWith(NOTHING) ? [] : [`${NOTHING}.`]),
    ...hints,
  ];
}

/** Formats `tracks: 3,503 inserted, 0 updated, 0 skipped`. */
export function describeImport(entity: string, { inserted, updated, skipped, rejected }: ImportResult): string {
  const counts = `${formatCount(inserted)} inserted, ${formatCount(updated)} updated, ${formatCount(skipped)} skipped`;
  return `${entity}: ${counts}${rejected === undefined ? '' : `, ${formatCount(rejected)} rejected`}`;
}

interface ExportOptions extends GlobalOptions {
  readonly format?: string;
  readonly filter?: readonly string[];
  readonly sort?: readonly string[];
  readonly fields?: string;
  readonly labels?: boolean;
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

  const bar = startTransferBar(options.io, isVisible, entity, 'records', total);
  const counter = makeRecordCounter(format);
  const onChunk = (chunk: Uint8Array): void => {
    counter.add(chunk);
    bar.update(counter.count());
  };
  const path = `${entityPath(address, entity)}/_export`;
  const bytes = await saveStream(options.io, file, { what: 'export', onChunk }, () =>
    client.download(path, exportQuery(format, options), MEDIA_TYPES[format]),
  ).finally(bar.stop);
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
    ['labels', options.labels],
  ];
}

/** Counts the records of the export, for the progress bar. */
async function countRecords(
  client: AdminClient,
  address: WorkspaceAddress,
  entity: string,
  filters: readonly string[],
): Promise<number> {
  const { meta } = await client.send('GET', entityPath(address, entity), {
    query: [['size', 1], ['fields', 'id'], ['expand', ''], ...repeated('filter', filters)],
  });
  return totalElements(meta);
}

export type FileFormat = 'csv' | 'ndjson';

const MEDIA_TYPES: Readonly<Record<FileFormat, string>> = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
};

const EXTENSIONS: Readonly<Record<string, FileFormat>> = { csv: 'csv', ndjson: 'ndjson', jsonl: 'ndjson' };

/** Returns the format of the option, of the file's extension or `fallback`; throws a usage failure without any. */
export function chooseFormat(option: string | undefined, file: string, fallback?: FileFormat): FileFormat {
  if (option === 'csv' || option === 'ndjson') return option;
  if (option !== undefined) throw usageFailure(`--format is csv or ndjson, not ${option}`);
  const extension = /\.([A-Za-z]+)$/.exec(file)?.[1]?.toLowerCase();
  const format = (extension === undefined ? undefined : EXTENSIONS[extension]) ?? fallback;
  if (format === undefined)
    throw usageFailure(`The format of ${file === '-' ? 'stdin' : file} is not known`, [
      'Pass --format csv or --format ndjson.',
    ]);
  return format;
}

interface RecordCounter {
  readonly add: (chunk: Uint8Array) => void;
  /** Returns the number of records so far, without the header and with an unfinished last line. */
  readonly count: () => number;
}

/** Creates a counter of records by line ends, without those inside quotes of a CSV. */
export function makeRecordCounter(format: FileFormat): RecordCounter {
  let lines = 0;
  let quoted = false;
  let open = false;
  const add = (chunk: Uint8Array): void => {
    for (const byte of chunk) {
      if (byte === 0x22 && format === 'csv') {
        quoted = !quoted;
        open = true;
      } else if (byte === 0x0a && !quoted) {
        if (open) lines++;
        open = false;
      } else if (byte !== 0x0d) open = true;
    }
  };
  return { add, count: () => Math.max(0, lines + (open ? 1 : 0) - (format === 'csv' ? 1 : 0)) };
}
