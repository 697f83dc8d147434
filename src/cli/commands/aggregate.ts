// `wda aggregate`: prints counts and sums of the records of an entity by groups, as a table or as JSON.
import type { Command } from 'commander';
import { type AdminClient, type Query, totalElements } from '../admin-client.ts';
import { action, collect, examples, FILTER_HELP, repeated } from '../command.ts';
import { connect, entityPath, type GlobalOptions, requireWorkspace } from '../connection.ts';
import { usageFailure } from '../failure.ts';
import { printResult } from '../io.ts';
import { formatCount, renderTable } from '../table.ts';

export function register(program: Command): void {
  const command = program
    .command('aggregate')
    .description('count and sum up the records of an entity, all of them or by groups')
    .argument('<entity>')
    .option('--select <functions>', 'count, or sum, avg, min, max, count, countDistinct of a field, by commas', 'count')
    .option('--group <groups>', 'fields, to-one paths, or parts of moments such as placedAt:month, by commas')
    .option('--tz <zone>', 'where days and months begin, such as Europe/Berlin (default: UTC)')
    .option('--filter <filter>', FILTER_HELP, collect)
    .option('--or <filters>', 'filter;filter: one of them must hold', collect)
    .option('--search <words>', 'only records with these words in their searchable fields')
    .option('--having <condition>', 'on what is selected, such as count,gte,5; repeat it for more', collect)
    .option('--sort <sort>', 'what is selected or a group[,asc|desc]; repeat it for more keys', collect)
    .option('--first <number>', 'number of groups (default: all)')
    .action(action(aggregate));
  examples(command, [
    'wda aggregate orders -w acme/shop',
    'wda aggregate orders -w acme/shop --select count,sum:total --group status',
    'wda aggregate orders -w acme/shop --select sum:total --group placedAt:month --tz Europe/Berlin',
    'wda aggregate orders -w acme/shop --group customer.name --having count,gte,5 --sort count,desc --first 10',
  ]);
}

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

type Group = Readonly<Record<string, unknown>>;

interface Groups {
  readonly groups: readonly Group[];
  /** Number of all groups. */
  readonly total: number;
}

// Limit of a page of the server.
const PAGE = 1000;

/** Prints all groups or the first ones. */
async function aggregate(entity: string, options: AggregateOptions): Promise<void> {
  const address = requireWorkspace(options);
  const first = parseFirst(options.first);
  const client = connect(options);
  const { groups, total } = await readGroups(client, `${entityPath(address, entity)}/_aggregate`, options, first);
  await printResult(options, groups, () => describe(groups, total, options));
}

async function readGroups(
  client: AdminClient,
  path: string,
  options: AggregateOptions,
  first: number | undefined,
): Promise<Groups> {
  const size = Math.min(PAGE, first ?? PAGE);
  const groups: Group[] = [];
  for (let page = 0; ; page++) {
    const query: Query = [...parameters(options), ['size', size], ['page', page]];
    const { data, meta } = await client.send<readonly Group[]>('GET', path, { query });
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

function parseFirst(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw usageFailure(`--first takes a number of groups, from 1 on, not ${text}`);
  return Number(text);
}

function describe(groups: readonly Group[], total: number, { select, group = '' }: AggregateOptions): string {
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
  return groups.length === total ? table : `${table}\n\n${formatCount(groups.length)} of ${formatCount(total)} groups`;
}
