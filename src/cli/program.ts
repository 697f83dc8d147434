// Builds the command tree of `wda`. Loads only the command that is the first word of the line, or all for other lines such as
// `wda --help`: so the server does not load the client, nor a command the others.
import { Command } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import { examples } from './command.ts';
import type { Io } from './io.ts';

interface CommandFile {
  readonly register: (program: Command) => void;
}

/** Files of commands/ in the order of the help, with the commands of each. */
const FILES: readonly (readonly [names: readonly string[], load: () => Promise<CommandFile>])[] = [
  [['serve', 'health', 'console', 'whoami', 'server'], () => import('./commands/server.ts')],
  [['backup', 'restore'], () => import('./commands/backup.ts')],
  [['activity'], () => import('./commands/activity.ts')],
  [['cluster'], () => import('./commands/cluster.ts')],
  [['org', 'organization'], () => import('./commands/organization.ts')],
  [['workspace', 'ws'], () => import('./commands/workspace.ts')],
  [['key'], () => import('./commands/key.ts')],
  [['client', 'signing-key'], () => import('./commands/client.ts')],
  [['agents'], () => import('./commands/agents.ts')],
  [['mcp'], () => import('./commands/mcp.ts')],
  [['idp'], () => import('./commands/identity-provider.ts')],
  [['schema'], () => import('./commands/schema.ts')],
  [['migration'], () => import('./commands/migration.ts')],
  [['import'], () => import('./commands/import.ts')],
  [['export'], () => import('./commands/export.ts')],
  [['search'], () => import('./commands/search.ts')],
  [['aggregate'], () => import('./commands/aggregate.ts')],
  [['access'], () => import('./commands/access.ts')],
  [['config'], () => import('./commands/config.ts')],
  [['openapi'], () => import('./commands/openapi.ts')],
  [['types'], () => import('./commands/types.ts')],
];

/** Builds the program for a line that starts with `first`. Parse errors are thrown as CommanderError; it never exits. */
export async function makeProgram(io: Io, first?: string): Promise<Command> {
  const program = new Command('wda')
    .description('Workspace Data API: a REST API over PostgreSQL from the schema of a workspace')
    .version(manifest.version, '-V, --version', 'print the version')
    .option('--url <url>', 'address of the server (env WDA_URL; default http://localhost:3000)')
    .option(
      '--key <key>',
      'credential (better in env WDA_KEY, else WDA_ADMIN_KEY: a command line can be seen in the process list)',
    )
    .option('-w, --workspace <org/workspace>', 'workspace, such as acme/shop (env WDA_WORKSPACE)')
    .option('--json', 'one JSON document on stdout and nothing else; errors as JSON on stderr')
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError()
    // run.ts prints all errors, of parsing and of commands.
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
    '\nCompletion at the tab key: wda completion bash|zsh|fish prints its script\nExit codes: 0 done, 1 refused by the server or failed, 2 wrong usage, 3 server not reachable, 4 drift',
  );
  return program;
}
