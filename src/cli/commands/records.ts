// `wda search` prints the best matches of a full text search, `wda aggregate` counts and sums by groups: as a table or as
// JSON.
import type { Command } from 'commander';
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
} from '../command.ts';
import { usageFailure } from '../failure.ts';
import { printResult } from '../io.ts';
import { formatCount, renderTable, shorten } from '../table.ts';

export function register(program: Command): void {
  const searchCommand = program
    .command('search')
    .description('find the records of an entity by words, the best match first')
    .argument('<entity>')
    .argument('<words...>', 'as people type them: "a phrase", the last word as a beginning; after -- also -word')
    .option('--filter <filter>', FILTER_HELP, collect)
    .option('--sort <sort>', 'field[,asc|desc] instead of the best match first; repeat it for more keys', collect)
    .option('--fields <fields>', 'only these fields, separated by commas')
    .option('--first <number>', 'number of records, up to 1000', String(FIRST))
    .action(action(search));
  examples(searchCommand, [
    'wda search customers ann lee -w acme/shop',
    'wda search customers \'"ann lee" lon\' -w acme/shop --fields id,name,email --first 5',
    'wda search orders -w acme/shop --filter status,eq,open -- wrap -paper',
  ]);
  const aggregateCommand = program
    .command('aggregate')
    .description('count and sum up the records of an entity, all of them or by groups')
    .argument('<entity>')
    .option('--select <functions>', 'count, or sum, avg, min, max, count, countDistinct of a field, by commas', 'count')
    .option(
      '--group <groups>',
      'fields, to-one paths, or parts of dates and timestamps such as placedAt:month, by commas',
    )
    .option('--tz <zone>', 'where days and months begin, such as Europe/Berlin (default: UTC)')
    .option('--filter <filter>', FILTER_HELP, collect)
    .option('--or <filters>', 'filter;filter: one of them must hold', collect)
    .option('--search <words>', 'only records with these words in their searchable fields')
    .option('--having <condition>', 'on what is selected, such as count,gte,5; repeat it for more', collect)
    .option('--sort <sort>', 'what is selected or a group[,asc|desc]; repeat it for more keys', collect)
    .option('--first <number>', 'number of groups (default: all)')
    .action(action(aggregate));
  examples(aggregateCommand, [
    'wda aggregate orders -w acme/shop',
    'wda aggregate orders -w acme/shop --select count,sum:total --group status',
    'wda aggregate orders -w acme/shop --select sum:total --group placedAt:month --tz Europe/Berlin',
    'wda aggregate orders -w acme/shop --group customer.name --having count,gte,5 --sort count,desc --first 10',
  ]);
}

interface SearchOptions extends GlobalOptions {
  readonly filter?: readonly string[];
  readonly sort?: readonly string[];
  readonly fields?: string;
  readonly first: string;
}

/** Record or group. */
type Row = Readonly<Record<string, unknown>>;

const FIRST = 20;
// Default limit of the server.
const MAX_RECORDS = 1000;
/** Prints the best matches. `words`: search of the data API, with phrases in quotes and `-word` to exclude. */
async function search(entity: string, words: readonly string[], options: SearchOptions): Promise<void> {
  const address = requireWorkspace(options);
  const first = parseFirst(options.first, 'records', MAX_RECORDS);
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
  await printResult(options, data, () => describeMatches(data, totalElements(meta)));
}

function describeMatches(rows: readonly Row[], total: number): string {
  const [record] = rows;
  if (record === undefined) return 'Nothing was found.';
  const names = Object.keys(record);
  const table = renderTable(
    names,
    rows.map((one) => names.map((name) => shortenCell(one[name]))),
  );
  return withTotal(table, rows.length, total, 'records');
}

const shortenCell = (cell: unknown): unknown => (typeof cell === 'string' ? shorten(cell) : cell);

interface AggregateOptions extends GlobalOptions {
  readonly select: string;
  readonly group?: string;
  readonly tz?: string;
  readonly filter?: readonly string[];
  readonly or?: readonly string[];
  readonly search?: string;
  readonly having?: readonly string[];
  readonly sort?: readonly string[];
  readonly first?: string;
}

interface Groups {
  readonly groups: readonly Row[];
  /** Number of all groups. */
  readonly total: number;
}

// Limit of a page of the server.
const PAGE = 1000;

/** Prints all groups or the first ones. */
async function aggregate(entity: string, options: AggregateOptions): Promise<void> {
  const address = requireWorkspace(options);
  const first = options.first === undefined ? undefined : parseFirst(options.first, 'groups');
  const client = connect(options);
  const { groups, total } = await readGroups(client, `${entityPath(address, entity)}/_aggregate`, options, first);
  await printResult(options, groups, () => describeGroups(groups, total, options));
}

async function readGroups(
  client: AdminClient,
  path: string,
  options: AggregateOptions,
  first: number | undefined,
): Promise<Groups> {
  const size = Math.min(PAGE, first ?? PAGE);
  const groups: Row[] = [];
  for (let page = 0; ; page++) {
    const query: Query = [...parameters(options), ['size', size], ['page', page]];
    const { data, meta } = await client.send<readonly Row[]>('GET', path, { query });
    groups.push(...data);
    const total = totalElements(meta);
    if (groups.length >= Math.min(total, first ?? total) || data.length === 0)
      return { groups: groups.slice(0, first), total };
  }
}

const parameters = (options: AggregateOptions): Query => [
  ['select', options.select],
  ['group', options.group],
  ['tz', options.tz],
  ['search', options.search],
  ...repeated('filter', options.filter),
  ...repeated('or', options.or),
  ...repeated('having', options.having),
  ...repeated('sort', options.sort),
];

function describeGroups(groups: readonly Row[], total: number, { select, group = '' }: AggregateOptions): string {
  const names = (list: string): string[] =>
    list
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '');
  const functions = names(select);
  const head = [...names(group), ...functions];
  const table = renderTable(
    head,
    groups.map((row) => head.map((name) => row[name])),
    functions,
  );
  return withTotal(table, groups.length, total, 'groups');
}

/** Returns the number of --first; throws a usage failure. `what`: its noun. */
export function parseFirst(text: string, what: string, most?: number): number {
  if (/^[1-9]\d{0,8}$/.test(text) && Number(text) <= (most ?? Number.MAX_SAFE_INTEGER)) return Number(text);
  const range = most === undefined ? ', from 1 on,' : ` from 1 to ${most},`;
  throw usageFailure(`--first takes a number of ${what}${range} not ${text}`);
}

const withTotal = (table: string, count: number, total: number, what: string): string =>
  count === total ? table : `${table}\n\n${formatCount(count)} of ${formatCount(total)} ${what}`;
