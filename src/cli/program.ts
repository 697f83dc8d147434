// Builds the command tree of `wda`. Loads only the command that is the first word of the line, or all for other lines such as
// `wda --help`: so the server does not load the client, nor a command the others.
import { Command, CommanderError } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import { examples } from './command.ts';
import { type CommandFailure, describeFailure, exitCode, failureDocument, toFailure, usageFailure } from './failure.ts';
import { type Io, processIo } from './io.ts';

interface CommandFile {
  readonly register: (program: Command) => void;
}

/** Files of commands/ in the order of the help, with the commands of each. */
const FILES: readonly (readonly [names: readonly string[], load: () => Promise<CommandFile>])[] = [
  [['serve', 'health', 'console', 'whoami', 'server'], () => import('./commands/server.ts')],
  [['backup', 'restore'], () => import('./commands/backup.ts')],
  [['activity'], () => import('./commands/activity.ts')],
  [['cluster'], () => import('./commands/cluster.ts')],
  [['org', 'organization', 'workspace', 'ws'], () => import('./commands/workspace.ts')],
  [['key', 'client', 'signing-key'], () => import('./commands/credentials.ts')],
  [['members'], () => import('./commands/members.ts')],
  [['agents', 'mcp'], () => import('./commands/agents.ts')],
  [['idp'], () => import('./commands/identity-provider.ts')],
  [['schema'], () => import('./commands/schema.ts')],
  [['migration'], () => import('./commands/migration.ts')],
  [['rollout'], () => import('./commands/rollout.ts')],
  [['import', 'export'], () => import('./commands/transfer.ts')],
  [['search', 'aggregate'], () => import('./commands/records.ts')],
  [['update', 'delete'], () => import('./commands/matching.ts')],
  [['jobs'], () => import('./commands/jobs.ts')],
  [['watch', 'changes'], () => import('./commands/changes.ts')],
  [['history', 'restore-record'], () => import('./commands/history.ts')],
  [['webhook'], () => import('./commands/webhook.ts')],
  [['access'], () => import('./commands/access.ts')],
  [['config'], () => import('./commands/config.ts')],
  [['openapi', 'types'], () => import('./commands/openapi.ts')],
];

/** Builds the program for a line that starts with `first`. Parse errors are thrown as CommanderError; it never exits. */
export async function makeProgram(io: Io, first?: string): Promise<Command> {
  const program = new Command('wda')
    .description('Workspace Data API: a REST API over PostgreSQL from the schema of a workspace')
    // `wda rollout start --version 4` means that of a shared schema.
    .version(manifest.version, first === 'rollout' ? '-V' : '-V, --version', 'print the version')
    .option('--url <url>', 'address of the server (env WDA_URL; default http://localhost:3000)')
    .option(
      '--key <key>',
      'credential (better in env WDA_KEY, else WDA_ADMIN_KEY: a command line can be seen in the process list)',
    )
    .option('-w, --workspace <org/workspace>', 'workspace, such as acme/shop (env WDA_WORKSPACE)')
    .option('--json', 'one JSON document on stdout and nothing else; errors as JSON on stderr')
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError()
    // runWda() prints all errors, of parsing and of commands.
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: () => {},
    })
    .exitOverride();
  // Actions get it with the options of their line.
  program.setOptionValue('io', io);
  const file = FILES.find(([names]) => first !== undefined && names.includes(first));
  for (const { register } of await Promise.all((file === undefined ? FILES : [file]).map(([, load]) => load())))
    register(program);
  examples(program, [
    'wda serve',
    'wda org create acme',
    'wda workspace create acme/shop --schema schema.yaml',
    'wda key create website -w acme/shop --permissions read-only',
    'wda import customers customers.csv -w acme/shop',
    'wda export orders open-orders.csv -w acme/shop --filter status,eq,open',
  ]);
  program.addHelpText(
    'after',
    '\nCompletion at the tab key: wda completion bash|zsh|fish prints its script\nExit codes: 0 done, 1 refused by the server or failed, 2 wrong usage, 3 server not reachable, 4 drift, 5 some of many workspaces failed',
  );
  return program;
}

/** Runs a command. Exit codes: 0 done, 1 rejected by the server or failed, 2 wrong usage, 3 server not reachable, 4 drift, 5 some of many failed. */
export async function runWda(args: readonly string[], io: Io = processIo()): Promise<number> {
  // The server logs its own failures, with their stacks.
  if (args[0] === 'serve' && args.length === 1) {
    await (await import('./serve.ts')).serve();
    return 0;
  }
  const program = await makeProgram(io, args[0]);
  if (args.length === 0) {
    program.outputHelp();
    return 0;
  }
  // A reader such as `head` closes the pipe early: the next write ends the command without a crash.
  io.stdout.on('error', () => {});
  try {
    if (args[0] === 'completion' || args[0] === 'complete') {
      await (await import('./completion.ts')).completion(program, args, io);
      return 0;
    }
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException | null)?.code === 'EPIPE') return 0;
    if (!(error instanceof CommanderError)) return report(toFailure(error), args, io);
    // commander has already printed the help of a command group without a command.
    if (error.exitCode === 0 || error.code === 'commander.help') return error.exitCode === 0 ? 0 : 2;
    return report(parseFailure(error, program, args), args, io);
  }
}

function parseFailure({ code, message }: CommanderError, program: Command, args: readonly string[]): CommandFailure {
  const words = args.filter((word) => /^[a-z]+(-[a-z]+)*$/.test(word)).slice(0, 2);
  const text = message.replace(/^error: /, '').replace(/\s*\n\s*/g, ' ');
  const path = findCommandNames(program, words);
  const names = code === 'commander.unknownCommand' ? [`Known: ${listCommandNames(program, path).join(', ')}`] : [];
  return usageFailure(text, [...names, `See wda ${[...path, '--help'].join(' ')}`]);
}

function report(failure: CommandFailure, args: readonly string[], io: Io): number {
  const text = args.includes('--json') ? JSON.stringify(failureDocument(failure), null, 2) : describeFailure(failure);
  io.stderr.write(`${text}\n`);
  return exitCode(failure.failure);
}

/** Returns the names of the commands below the command that `path` names. `completion` is not one of commander. */
function listCommandNames(program: Command, path: readonly string[]): readonly string[] {
  const group = path.reduce<Command | undefined>(
    (parent, name) => parent?.commands.find((command) => command.name() === name),
    program,
  );
  const names = (group ?? program).commands.map((command) => command.name());
  return path.length === 0 ? [...names, 'completion'] : names;
}

/** Returns the leading words that name a command, for the hint at its help. */
function findCommandNames(program: Command, names: readonly string[]): readonly string[] {
  const group = program.commands.find(
    (command) => command.name() === names[0] || command.aliases().includes(names[0] ?? ''),
  );
  if (group === undefined) return [];
  const own = group.commands.find((command) => command.name() === names[1]);
  return own === undefined ? [group.name()] : [group.name(), own.name()];
}
