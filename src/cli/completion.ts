// Completion in shells: commands and options as the program has them, names of workspaces and entities as the server has
// them. A shell waits for it at every tab, so it asks one question at most and gives up after a second, without a word.
import tab from '@bomb.sh/tab/commander';
import { clientSettings } from '../config.ts';
import { ADMIN_PREFIX, parseBase } from './admin-client.ts';
import { DEFAULT_URL, organizationPath, RECORDS_PREFIX } from './connection.ts';
import type { Io } from './io.ts';
import { makeProgram } from './program.ts';

const PATIENCE_MS = 1000;

/** Answers `wda completion <shell>` with a script, and `wda complete -- <words>`, which the script calls, with suggestions. */
export async function completion(args: readonly string[], io: Io): Promise<void> {
  const program = await makeProgram(io);
  const root = tab(program, { completionCommandName: 'completion' });
  const question = args[0] === 'complete' ? questionOf(args.slice(2), io) : undefined;
  const names = question === undefined ? [] : await namesAt(question, io);
  const give = (complete: (name: string, description: string) => void): void => {
    for (const name of names) complete(name, '');
  };
  for (const command of [root, ...root.commands.values()]) {
    const entity = command.arguments.get('entity');
    if (entity !== undefined) entity.handler = give;
    // The options of the program may be anywhere on the line.
    for (const [name, option] of root.options) if (!command.options.has(name)) command.options.set(name, option);
  }
  const workspace = root.options.get('workspace');
  if (workspace !== undefined) workspace.handler = give;
  if (args[0] === 'completion' && args[1] === 'bash') makeScriptRepeatable();
  await program.parseAsync(args, { from: 'user' });
}

/** The package prints bash variables as `readonly`, which a second `source` of its script, or of another program's, breaks on. */
function makeScriptRepeatable(): void {
  const print = console.log;
  console.log = (script: string) =>
    print(script.replace(/^readonly (\w+)=(\d+)$/gm, (_, name, value) => `: "\${${name}:=${value}}"`));
}

interface Question {
  readonly path: string;
  /** The names in the `data` of the answer. */
  readonly read: (data: unknown) => readonly string[];
}

/** What the server has to be asked for the last of these words; undefined: nothing. */
function questionOf(words: readonly string[], io: Io): Question | undefined {
  const last = words.at(-1) ?? '';
  if (['-w', '--workspace'].includes(words.at(-2) ?? '')) {
    const [organization, below] = last.split('/');
    return below === undefined || organization === undefined
      ? { path: `${ADMIN_PREFIX}/organizations?size=1000`, read: (data) => slugsOf(data).map((slug) => `${slug}/`) }
      : {
          path: `${organizationPath(organization)}/workspaces?size=1000`,
          read: (data) => slugsOf(data).map((slug) => `${organization}/${slug}`),
        };
  }
  const workspace = optionOf(words, ['-w', '--workspace']) ?? clientSettings(io.env).workspace;
  if (last.startsWith('-') || !/^[^/]+\/[^/]+$/.test(workspace ?? '')) return undefined;
  return {
    path: `${RECORDS_PREFIX}/${workspace}`,
    read: (data) => ((data as { entities: { name: string }[] }).entities ?? []).map(({ name }) => name),
  };
}

const slugsOf = (data: unknown): readonly string[] => (data as { slug: string }[]).map(({ slug }) => slug);

function optionOf(words: readonly string[], names: readonly string[]): string | undefined {
  return words.find((_, index) => names.includes(words[index - 1] ?? ''));
}

/** Nothing when the server does not answer in time, or refuses. */
async function namesAt({ path, read }: Question, io: Io): Promise<readonly string[]> {
  const { url = DEFAULT_URL, key } = clientSettings(io.env);
  if (key === undefined) return [];
  try {
    const base = parseBase(url).href.replace(/\/+$/, '');
    const answer = await fetch(base + path, {
      headers: { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return answer.ok ? read(((await answer.json()) as { data: unknown }).data) : [];
  } catch {
    return [];
  }
}
