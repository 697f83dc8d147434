// `wda openapi` prints the OpenAPI document of a workspace for this credential, or that of the admin API; `wda types` makes
// TypeScript types of it, for workspace-data-client.
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text as readStream } from 'node:stream/consumers';
import { diff } from 'node:util';
import type { Command } from 'commander';
import { ADMIN_PREFIX } from '../admin-client.ts';
import {
  action,
  collect,
  connect,
  connectWithoutKey,
  entityPath,
  examples,
  type GlobalOptions,
  repeated,
  requireWorkspace,
} from '../command.ts';
import { CommandFailure, runtimeFailure, usageFailure } from '../failure.ts';
import { printResult, readInput, writeOut } from '../io.ts';
import { type Description, FIRST_LINE, isDescription, readInterfaceName, typeFile } from '../type-file.ts';

const ROLE_HELP = 'as users with this role see it; repeat it for several (needs an owner key)';

export function register(program: Command): void {
  const command = program
    .command('openapi')
    .description('print the OpenAPI document of a workspace, or of the admin API')
    .option('--selection <selection>', 'free (default), or fixed: for generators of clients')
    .option('--entities <names>', 'only these entities, separated by commas')
    .option('--role <role>', ROLE_HELP, collect)
    .option('--admin', 'the document of the admin API; needs no credential')
    .option('-o, --output <file>', 'write it to a file')
    .action(action(openapi));
  examples(command, [
    'wda openapi -w acme/shop --selection fixed -o shop.json',
    'wda openapi -w acme/shop --entities orders,customers',
    'wda openapi -w acme/desk --role customer',
    'wda openapi --admin -o admin.json',
  ]);
  const typesCommand = program
    .command('types')
    .description('print the TypeScript types of a workspace, which workspace-data-client takes')
    .option('--from <file>', 'an OpenAPI document of the workspace instead of the server (- is stdin)')
    .option('--check <file>', 'compare them with a file, and fail with the difference when it is another one')
    .option('--role <role>', ROLE_HELP, collect)
    .option('--for <whom>', 'external: as users of the identity provider without a role see it (needs an owner key)')
    .option('--name <name>', 'name of the interface (default: that in the file to check, else made of the workspace)')
    .action(action(types));
  examples(typesCommand, [
    'wda types -w acme/shop > shop.ts',
    'wda types -w acme/shop --check shop.ts',
    'wda types --from openapi.json > shop.ts',
    'wda types -w acme/desk --role customer --name Customer > customer.ts',
    'wda types -w acme/shop-staging --name Shop > shop.ts',
  ]);
}

interface OpenapiOptions extends GlobalOptions {
  readonly selection?: string;
  readonly entities?: string;
  readonly role?: readonly string[];
  readonly admin?: boolean;
  readonly output?: string;
}

/** Prints the document unchanged, or writes it to a file. */
async function openapi(options: OpenapiOptions): Promise<void> {
  const { selection, entities, role, admin, output } = options;
  if (admin === true && (selection !== undefined || entities !== undefined || role !== undefined))
    throw usageFailure(
      '--admin goes without --selection, --entities and --role: that document is the same for everybody',
    );
  const path = admin === true ? `${ADMIN_PREFIX}/openapi.json` : entityPath(requireWorkspace(options), '_openapi.json');
  const query = [['selection', selection] as const, ['entities', entities] as const, ...repeated('role', role)];
  // The document of the admin API has no data of a workspace, and the server gives it to everybody.
  const client = admin === true ? connectWithoutKey(options) : connect(options);
  const document = await readStream(await client.download(path, query, 'application/json'));
  if (output === undefined) return writeOut(options.io, `${document}\n`);
  try {
    await writeFile(resolve(options.io.cwd, output), document);
  } catch (error) {
    throw runtimeFailure(`Cannot write ${output}: ${(error as Error).message}`, undefined, error);
  }
  await printResult(options, { file: output, bytes: Buffer.byteLength(document) }, () => `Written to ${output}`);
}

interface TypesOptions extends GlobalOptions {
  readonly from?: string;
  readonly check?: string;
  readonly role?: readonly string[];
  readonly for?: string;
  readonly name?: string;
}

/** Prints the file of types; with `check`, fails if that file differs. */
async function types(options: TypesOptions): Promise<void> {
  if (options.for !== undefined && options.for !== 'external')
    throw usageFailure(`--for takes external, not ${options.for}`);
  if (options.name !== undefined && !/^[A-Za-z_$][\w$]*$/.test(options.name))
    throw usageFailure(`--name takes the name of an interface, not ${options.name}`);
  if (options.role !== undefined && options.from !== undefined)
    throw usageFailure(
      '--role goes without --from: a document of users with this role is printed by wda openapi --role',
    );
  const description =
    options.from === undefined
      ? await fetchDescription(options)
      : await parse(await readInput(options.io, options.from), options.from);
  if (options.for !== undefined && description['x-wda']?.principal !== 'external')
    throw usageFailure('--for external with --from takes a document that a user of the identity provider was given');
  const { check } = options;
  const current = check === undefined ? undefined : await readInput(options.io, check);
  const text = typeFile(description, { name: options.name ?? readInterfaceName(current), roles: options.role });
  if (check === undefined || current === undefined) return printResult(options, { types: text }, () => text.trimEnd());
  await compare({ current, text, file: check }, options);
}

async function fetchDescription(options: TypesOptions): Promise<Description> {
  const path = entityPath(requireWorkspace(options), '_openapi.json');
  const query = [['principal', options.for] as const, ...repeated('role', options.role)];
  return parse(await readStream(await connect(options).download(path, query, 'application/json')), 'The answer');
}

function parse(text: string, what: string): Description {
  try {
    const document: unknown = JSON.parse(text);
    if (isDescription(document)) return document;
  } catch {}
  throw runtimeFailure(`${what} is not the OpenAPI document of a workspace, as GET …/_openapi.json gives it`);
}

interface Comparison {
  readonly current: string;
  readonly text: string;
  readonly file: string;
}

/** Compares the types, but not the first line: the file may have been written from another workspace with this schema. */
async function compare({ current, text, file }: Comparison, options: GlobalOptions): Promise<void> {
  const [typesInFile, typesNow] = [current.replace(FIRST_LINE, ''), text.replace(FIRST_LINE, '')];
  if (typesInFile === typesNow) return printResult(options, { file, current: true }, () => `${file} is current`);
  const lines = difference(typesInFile.split('\n'), typesNow.split('\n'));
  throw new CommandFailure(
    { kind: 'failed', message: `${file} is not what the workspace is now`, details: { file, difference: lines } },
    [
      'The schema has changed, or the file was written with a credential that may do more or less than this one.',
      ...lines.slice(0, MAX_PRINTED_LINES),
      ...(lines.length > MAX_PRINTED_LINES ? [`… and ${lines.length - MAX_PRINTED_LINES} more lines`] : []),
    ],
  );
}

const MAX_PRINTED_LINES = 100;
// The comparison takes quadratic time in the number of lines that differ.
const MAX_COMPARED_LINES = 2000;

/** Returns removed (`-`) and added (`+`) lines, without the common first and last ones. */
function difference(old: readonly string[], now: readonly string[]): string[] {
  const least = Math.min(old.length, now.length);
  let start = 0;
  while (start < least && old[start] === now[start]) start++;
  let end = 0;
  while (end < least - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  const [before, after] = [old.slice(start, old.length - end), now.slice(start, now.length - end)];
  const mark = (sign: string, lines: readonly string[]): string[] => lines.map((line) => `${sign}${line}`);
  if (before.length > MAX_COMPARED_LINES || after.length > MAX_COMPARED_LINES)
    return [...mark('-', before), ...mark('+', after)];
  return diff(before, after)
    .filter(([sign]) => sign !== 0)
    .map(([sign, line]) => `${sign === -1 ? '+' : '-'}${line}`);
}
