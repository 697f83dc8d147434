// `wda search`: prints the best matches of a full text search, as a table or as JSON.
import type { Command } from 'commander';
import { totalElements } from '../admin-client.ts';
import { action, collect, examples, FILTER_HELP, repeated } from '../command.ts';
import { connect, entityPath, type GlobalOptions, requireWorkspace } from '../connection.ts';
import { usageFailure } from '../failure.ts';
import { printResult } from '../io.ts';
import { formatCount, renderTable } from '../table.ts';

export function register(program: Command): void {
  const command = program
    .command('search')
    .description('find the records of an entity by words, the best match first')
    .argument('<entity>')
    .argument('<words...>', 'as people type them: "a phrase", the last word as a beginning; after -- also -word')
    .option('--filter <filter>', FILTER_HELP, collect)
    .option('--sort <sort>', 'field[,asc|desc] instead of the best match first; repeat it for more keys', collect)
    .option('--fields <fields>', 'only these fields, separated by commas')
    .option('--first <number>', 'number of records, up to 1000', String(FIRST))
    .action(action(search));
  examples(command, [
    'wda search customers ann lee -w acme/shop',
    'wda search customers \'"ann lee" lon\' -w acme/shop --fields id,name,email --first 5',
    'wda search orders -w acme/shop --filter status,eq,open -- wrap -paper',
  ]);
}

interface SearchOptions extends GlobalOptions {
  readonly filter?: readonly string[];
  readonly sort?: readonly string[];
  readonly fields?: string;
  readonly first: string;
}

type Row = Readonly<Record<string, unknown>>;

const FIRST = 20;
// Default limit of the server.
const MAX_RECORDS = 1000;
// Tables are for reading; --json has complete values.
const MAX_CELL_CHARACTERS = 60;

/** Prints the best matches. `words`: search of the data API, with phrases in quotes and `-word` to exclude. */
async function search(entity: string, words: readonly string[], options: SearchOptions): Promise<void> {
  const address = requireWorkspace(options);
  const first = parseFirst(options.first);
  const { data, meta } = await connect(options).send<readonly Row[]>('GET', entityPath(address, entity), {
    query: [
      ['search', words.join(' ')],
      ['size', first],
      ['fields', options.fields],
      ['expand', ''],
      ...repeated('filter', options.filter),
      ...repeated('sort', options.sort),
    ],
  });
  await printResult(options, data, () => describe(data, totalElements(meta)));
}

function parseFirst(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text) && Number(text) <= MAX_RECORDS) return Number(text);
  throw usageFailure(`--first takes a number of records from 1 to ${MAX_RECORDS}, not ${text}`);
}

function describe(rows: readonly Row[], total: number): string {
  const [record] = rows;
  if (record === undefined) return 'Nothing was found.';
  const names = Object.keys(record);
  const table = renderTable(
    names,
    rows.map((one) => names.map((name) => shorten(one[name]))),
  );
  return rows.length === total ? table : `${table}\n\n${formatCount(rows.length)} of ${formatCount(total)} records`;
}

function shorten(cell: unknown): unknown {
  if (typeof cell !== 'string') return cell;
  const characters = [...cell];
  return characters.length <= MAX_CELL_CHARACTERS ? cell : `${characters.slice(0, MAX_CELL_CHARACTERS - 1).join('')}…`;
}
