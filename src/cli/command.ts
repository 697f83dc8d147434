// Shares between the files of commands/: the options of every command, the connection to the server, actions and lists. URL and
// credential come from options, then the environment, then defaults.
import type { Command } from 'commander';
import { clientSettings } from '../config.ts';
import { ADMIN_PREFIX, type AdminClient, type ApiResponse, makeAdminClient } from './admin-client.ts';
import { usageFailure } from './failure.ts';
import { type Io, printResult } from './io.ts';
import { type Cell, printable, renderTable } from './table.ts';

/** Wraps a function of a command's arguments and, last, the options of the whole line as an action. */
export const action =
  (run: (...args: never[]) => Promise<void>) =>
  (...args: unknown[]): Promise<void> => {
    const command = args.at(-1) as Command;
    return run(...([...args.slice(0, -2), command.optsWithGlobals()] as never[]));
  };

/** Prints a list: for people a table with `head` and a row for each item, or `empty`. */
export const printList = <T>(
  options: Pick<GlobalOptions, 'io' | 'json'>,
  items: readonly T[],
  empty: string,
  head: readonly string[],
  toRow: (item: T, index: number) => readonly Cell[],
): Promise<void> =>
  printResult(options, items, () => (items.length === 0 ? empty : renderTable(head, items.map(toRow))));

/** Prints the warnings of a response on stderr. `place`: its workspace, where a command is about several. */
export function printWarnings({ stderr }: Io, { meta }: Pick<ApiResponse, 'meta'>, place?: string): void {
  const prefix = place === undefined ? 'Warning:' : `Warning: ${place}:`;
  for (const warning of (meta as { warnings?: readonly string[] } | null)?.warnings ?? [])
    stderr.write(`${prefix} ${printable(warning)}\n`);
}

export function examples(command: Command, lines: readonly string[]): void {
  command.addHelpText('after', `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`);
}

/** Collects the values of a repeatable option. */
export const collect = (value: string, earlier: readonly string[] | undefined): readonly string[] => [
  ...(earlier ?? []),
  value,
];

export const FILTER_HELP = 'field,op[,value]; repeat it for more conditions, all of which must hold';

/** Returns the query parameters of a repeatable option. */
export const repeated = (name: string, values: readonly string[] = []): (readonly [string, string])[] =>
  values.map((value) => [name, value]);

/** Options of every command. */
export interface GlobalOptions {
  readonly url?: string;
  readonly key?: string;
  readonly workspace?: string;
  readonly json?: boolean;
  readonly io: Io;
}

export interface WorkspaceAddress {
  readonly organization: string;
  readonly workspace: string;
}

export const DEFAULT_URL = 'http://localhost:3000';

/** Returns a client for the server of the options or the environment. */
export function connect(options: GlobalOptions): AdminClient {
  const { url, key } = getServer(options);
  return makeAdminClient(url, key);
}

/** Returns a client for requests that need no credential. */
export const connectWithoutKey = (options: GlobalOptions): AdminClient => makeAdminClient(getUrl(options), undefined);

/** Returns URL and credential of the server. */
export function getServer(options: GlobalOptions): { readonly url: string; readonly key: string } {
  const settings = clientSettings(options.io.env);
  const key = options.key ?? settings.key;
  if (key === undefined || key === '')
    throw usageFailure('A credential is needed', [
      'Set WDA_KEY (an owner key of the workspace) or WDA_ADMIN_KEY, or pass --key.',
    ]);
  // node:http would reject the header with a message that has the key.
  if (!/^[\x21-\x7e]+$/.test(key))
    throw usageFailure('The credential holds characters that no key has: check WDA_KEY or --key');
  return { url: getUrl(options), key };
}

const getUrl = ({ url, io }: GlobalOptions): string => url ?? clientSettings(io.env).url ?? DEFAULT_URL;

/** Returns the workspace of -w or WDA_WORKSPACE. */
export function requireWorkspace(options: GlobalOptions): WorkspaceAddress {
  const text = options.workspace ?? clientSettings(options.io.env).workspace;
  if (text === undefined || text === '')
    throw usageFailure('A workspace is needed', ['Pass -w <organization>/<workspace> or set WDA_WORKSPACE.']);
  return parseWorkspace(text);
}

/** Parses `acme/shop`; throws a usage failure for anything but two slugs. */
export function parseWorkspace(text: string): WorkspaceAddress {
  const parts = text.split('/');
  const [organization, workspace] = parts;
  if (parts.length !== 2 || !isSlug(organization) || !isSlug(workspace))
    throw usageFailure(`A workspace is written <organization>/<workspace>, such as acme/shop, not ${text}`);
  return { organization, workspace };
}

/** Formats `acme/shop` for options and messages. */
export const workspaceName = ({ organization, workspace }: WorkspaceAddress): string => `${organization}/${workspace}`;

/** Returns the path of an organization in the admin API. */
export const organizationPath = (organization: string): string =>
  `${ADMIN_PREFIX}/organizations/${encodeURIComponent(organization)}`;

/** Returns the path of a workspace in the admin API. */
export const workspacePath = ({ organization, workspace }: WorkspaceAddress): string =>
  `${organizationPath(organization)}/workspaces/${encodeURIComponent(workspace)}`;

export const RECORDS_PREFIX = '/api/v1';

/** Returns the path of an entity in the data API. */
export const entityPath = ({ organization, workspace }: WorkspaceAddress, entity: string): string =>
  `${RECORDS_PREFIX}/${encodeURIComponent(organization)}/${encodeURIComponent(workspace)}/${encodeURIComponent(entity)}`;

/** Returns true for a valid slug of an organization or workspace. */
export function isSlug(text: string | undefined): text is string {
  return text !== undefined && /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text);
}
