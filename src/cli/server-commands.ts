// The commands about a server as a whole, in the command tree.
import type { Command } from 'commander';

export function addServer(program: Command, examples: (command: Command, lines: readonly string[]) => void): void {
  program
    .command('serve')
    .description('start the server; its settings are environment variables')
    .action(async () => (await import('./serve.ts')).serve());
  program
    .command('health')
    .description('is the server up? exit code 0 or 1, for health checks of images')
    .option('--ready', 'is its database there, too?')
    .action(async (_own, command: Command) => (await import('./health.ts')).checkHealth(command.optsWithGlobals()));
  program
    .command('console')
    .description('a link that signs the operator in to the console, once and within ten minutes')
    .action(async (_own, command: Command) =>
      (await import('./console.ts')).makeConsoleLink(command.optsWithGlobals()),
    );
  const asking = program
    .command('whoami')
    .description('whose credential this is, and where it is good for what')
    .action(async (_own, command: Command) => (await import('./whoami.ts')).whoami(command.optsWithGlobals()));
  examples(asking, ['wda whoami', 'WDA_KEY=wda_… wda whoami --json | jq -r .workspaces[0].slug']);
}
