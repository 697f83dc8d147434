// Completes commands and options of the program, and names of workspaces and entities of the server, in shells. A shell waits
// for it at every tab, so it sends one request at most and gives up silently after a second.
import tab from '@bomb.sh/tab/commander';
import type { Command } from 'commander';
import { clientSettings } from '../config.ts';
import { ADMIN_PREFIX, parseBase } from './admin-client.ts';
import { DEFAULT_URL, organizationPath, RECORDS_PREFIX } from './command.ts';
import type { Io } from './io.ts';

const TIMEOUT_MS = 1000;

/** Prints a script for `wda completion <shell>`, and suggestions for `wda complete -- <words>`, which the script calls. */
export async function completion(program: Command, args: readonly string[], io: Io): Promise<void> {
  const root = tab(program, { completionCommandName: 'completion' });
  const nameQuery = args[0] === 'complete' ? buildQuery(args.slice(2), io) : undefined;
  const names = nameQuery === undefined ? [] : await fetchNames(nameQuery, io);
  const completeNames = (complete: (name: string, description: string) => void): void => {
    for (const name of names) complete(name, '');
  };
  for (const command of [root, ...root.commands.values()]) {
    const entity = command.arguments.get('entity');
    if (entity !== undefined) entity.handler = completeNames;
    // Options of the program may be anywhere on the line.
    for (const [name, option] of root.options) if (!command.options.has(name)) command.options.set(name, option);
  }
  const workspace = root.options.get('workspace');
  if (workspace !== undefined) workspace.handler = completeNames;
  if (args[0] === 'completion' && args[1] === 'bash') makeScriptRepeatable();
  await program.parseAsync(args, { from: 'user' });
}

/** Removes `readonly` from bash variables of the script, which would break a second `source` of it or of another script. */
function makeScriptRepeatable(): void {
  const print = console.log;
  console.log = (script: string) =>
    print(script.replace(/^readonly (\w+)=(\d+)$/gm, (_, name, value) => `: "\${${name}:=${value}}"`));
}

interface NameQuery {
  readonly path: string;
  /** Returns the names in the `data` of the response. */
  readonly read: (data: unknown) => readonly string[];
}

/** Returns the query that completes the last word, or undefined if the server has no names for it. */
function buildQuery(args: readonly string[], io: Io): NameQuery | undefined {
  const last = args.at(-1) ?? '';
  if (['-w', '--workspace'].includes(args.at(-2) ?? '')) {
    const [organization, workspacePart] = last.split('/');
    return workspacePart === undefined || organization === undefined
      ? { path: `${ADMIN_PREFIX}/organizations?size=1000`, read: (data) => readSlugs(data).map((slug) => `${slug}/`) }
      : {
          path: `${organizationPath(organization)}/workspaces?size=1000`,
          read: (data) => readSlugs(data).map((slug) => `${organization}/${slug}`),
        };
  }
  const workspace = findOption(args, ['-w', '--workspace']) ?? clientSettings(io.env).workspace;
  if (last.startsWith('-') || !/^[^/]+\/[^/]+$/.test(workspace ?? '')) return undefined;
  return {
    path: `${RECORDS_PREFIX}/${workspace}`,
    read: (data) => ((data as { entities: { name: string }[] }).entities ?? []).map(({ name }) => name),
  };
}

const readSlugs = (data: unknown): readonly string[] => (data as { slug: string }[]).map(({ slug }) => slug);

function findOption(args: readonly string[], names: readonly string[]): string | undefined {
  return args.find((_, index) => names.includes(args[index - 1] ?? ''));
}

/** Fetches names; returns none if the server answers too late or with an error. */
async function fetchNames({ path, read }: NameQuery, io: Io): Promise<readonly string[]> {
  const { url = DEFAULT_URL, key } = clientSettings(io.env);
  if (key === undefined) return [];
  try {
    const base = parseBase(url).href.replace(/\/+$/, '');
    const response = await fetch(base + path, {
      headers: { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return response.ok ? read(((await response.json()) as { data: unknown }).data) : [];
  } catch {
    return [];
  }
}
