// `wda workspace limits`, `wda org limits` and `wda workspace usage`: how much workspaces may use, and how much they do.
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { LimitChange, Organization, Usage, Workspace } from '../../../admin-types/admin-api.d.ts';
import {
  action,
  connect,
  type GlobalOptions,
  organizationPath,
  parseWorkspace,
  workspaceName,
  workspacePath,
} from '../command.ts';
import { LIMIT_NAMES } from '../config-file.ts';
import { printResult } from '../io.ts';
import { formatBytes } from '../progress.ts';
import { formatCount, renderPairs, renderTable } from '../table.ts';

type LimitOptions = GlobalOptions & Partial<Readonly<Record<Name, number | typeof NONE>>>;

type Name = (typeof LIMIT_NAMES)[number];

const LABELS: Readonly<Record<Name, string>> = {
  maxRecords: 'Records',
  maxBytes: 'Bytes',
  maxRequestsPerMinute: 'Requests a minute',
};
// Days of `usage`, the newest.
const SHOWN_DAYS = 14;

/** Adds `limits` and `usage` to the commands of workspaces. */
export function registerLimits(group: Command): void {
  addLimitOptions(
    group
      .command('limits')
      .description('show or set the limits of a workspace (setting them needs the operator key)')
      .argument('<org/workspace>'),
    'that of the organization',
  ).action(action(limitWorkspace));
  group
    .command('usage')
    .description('show what a workspace uses of its limits, and on which days')
    .argument('<org/workspace>')
    .action(action(showUsage));
}

/** Adds `limits` to the commands of organizations. */
export function registerOrganizationLimits(group: Command): void {
  addLimitOptions(
    group
      .command('limits')
      .description('show or set the limits of the workspaces that have none of their own')
      .argument('<slug>'),
    'no limit',
  ).action(action(limitOrganization));
}

const addLimitOptions = (command: Command, none: string): Command =>
  command
    .addOption(
      new Option('--max-records <number>', `records of all entities together; none: ${none}`).argParser(parseLimit),
    )
    .addOption(new Option('--max-bytes <number>', 'bytes of tables and indexes on disk').argParser(parseLimit))
    .addOption(
      new Option('--max-requests-per-minute <number>', 'requests to the data API each minute').argParser(parseLimit),
    );

/** The word for no limit: commander takes null for a missing value. */
const NONE = 'none';

function parseLimit(text: string): number | typeof NONE {
  if (text === NONE) return NONE;
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('A limit is a whole number, or none.');
  return Number(text);
}

const toChange = (options: LimitOptions): LimitChange =>
  Object.fromEntries(
    LIMIT_NAMES.flatMap((name) => {
      const limit = options[name];
      return limit === undefined ? [] : [[name, limit === NONE ? null : limit]];
    }),
  );

async function limitWorkspace(address: string, options: LimitOptions): Promise<void> {
  const parsed = parseWorkspace(address);
  const client = connect(options);
  const limits = toChange(options);
  const path = workspacePath(parsed);
  const { data } = await (Object.keys(limits).length === 0
    ? client.send<Workspace>('GET', path)
    : client.send<Workspace>('PUT', path, { body: { limits } }));
  await printLimits(options, ['Workspace', workspaceName(parsed)], data.limits ?? {}, '(that of the organization)');
}

async function limitOrganization(slug: string, options: LimitOptions): Promise<void> {
  const client = connect(options);
  const limits = toChange(options);
  const path = organizationPath(slug);
  const { data } = await (Object.keys(limits).length === 0
    ? client.send<Organization>('GET', path)
    : client.send<Organization>('PUT', path, { body: { limits } }));
  await printLimits(options, ['Organization', slug], data.limits ?? {}, '(none)');
}

const printLimits = (
  options: GlobalOptions,
  head: readonly [string, string],
  limits: LimitChange,
  none: string,
): Promise<void> =>
  printResult(options, limits, () =>
    renderPairs([
      head,
      ...LIMIT_NAMES.map((name) => [LABELS[name], limits[name] == null ? none : formatCount(limits[name])] as const),
    ]),
  );

async function showUsage(address: string, options: GlobalOptions): Promise<void> {
  const parsed = parseWorkspace(address);
  const { data } = await connect(options).send<Usage>('GET', `${workspacePath(parsed)}/usage`);
  await printResult(options, data, () => describeUsage(data));
}

function describeUsage({ records, bytes, requests, limits, days }: Usage): string {
  const most = (limit: number | null, format: (value: number) => string): string =>
    limit === null ? '' : ` of ${format(limit)}`;
  const rate = limits.maxRequestsPerMinute;
  const pairs = renderPairs([
    ['Records', `${formatCount(records)}${most(limits.maxRecords, formatCount)}`],
    ['Size', `${formatBytes(bytes)}${most(limits.maxBytes, formatBytes)}`],
    ['Requests today', `${formatCount(requests)}${rate === null ? '' : `, ${formatCount(rate)} a minute at most`}`],
  ]);
  const columns = ['REQUESTS', 'RECORDS', 'SIZE'];
  const rows = days
    .slice(-SHOWN_DAYS)
    .map((day) => [
      day.date,
      formatCount(day.requests),
      day.records === null ? '-' : formatCount(day.records),
      day.bytes === null ? '-' : formatBytes(day.bytes),
    ]);
  return `${pairs}\n\n${renderTable(['DATE', ...columns], rows, columns)}`;
}
