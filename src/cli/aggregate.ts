// `wda aggregate`: counts and sums of the records of an entity, by groups, as a table or as JSON.
import type { AdminClient, Answer, Query } from './admin-client.ts';
import { chosenWorkspace, connect, entityPath, type GlobalOptions } from './connection.ts';
import { usageFailure } from './failure.ts';
import { printResult } from './io.ts';
import { formatCount, renderTable } from './table.ts';

export interface AggregateOptions extends GlobalOptions {
  readonly select?: string;
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

interface Found {
  readonly groups: readonly Group[];
  /** How many there are. */
  readonly total: number;
}

// The most that the server answers at once.
const PAGE = 1000;

/** Prints all groups, or the first ones. */
export async function aggregate(entity: string, options: AggregateOptions): Promise<void> {
  const address = chosenWorkspace(options);
  const first = firstOf(options.first);
  const client = connect(options);
  const { groups, total } = await readGroups(client, `${entityPath(address, entity)}/_aggregate`, options, first);
  await printResult(options, groups, () => describe(groups, total, options));
}

async function readGroups(
  client: AdminClient,
  path: string,
  options: AggregateOptions,
  first: number | undefined,
): Promise<Found> {
  const size = Math.min(PAGE, first ?? PAGE);
  const groups: Group[] = [];
  for (let page = 0; ; page++) {
    const query: Query = [...parametersOf(options), ['size', size], ['page', page]];
    const { data, meta } = await client.send('GET', path, { query });
    groups.push(...(data as readonly Group[]));
    const total = totalOf(meta);
    if (groups.length >= Math.min(total, first ?? total) || (data as readonly Group[]).length === 0)
      return { groups: groups.slice(0, first), total };
  }
}

const totalOf = (meta: Answer['meta']): number => Number((meta as { totalElements: unknown }).totalElements);

function parametersOf(options: AggregateOptions): Query {
  const repeated = (name: 'filter' | 'or' | 'having' | 'sort'): Query =>
    (options[name] ?? []).map((value) => [name, value] as const);
  return [
    ['select', options.select ?? 'count'],
    ['group', options.group],
    ['tz', options.tz],
    ['search', options.search],
    ...repeated('filter'),
    ...repeated('or'),
    ...repeated('having'),
    ...repeated('sort'),
  ];
}

function firstOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw usageFailure(`--first takes a number of groups, from 1 on, not ${text}`);
  return Number(text);
}

function describe(groups: readonly Group[], total: number, { select = 'count', group = '' }: AggregateOptions): string {
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
