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
  program
    .command('server')
    .description('what runs: versions, database, processes and settings (needs the operator key)')
    .action(async (_own, command: Command) => (await import('./server.ts')).showServer(command.optsWithGlobals()));
  const saving = program
    .command('backup')
    .description(
      'all of the instance, or with -w one workspace, into a file (needs the operator key, or an owner key of it)',
    )
    .argument('<file>', '- for stdout')
    .action(async (file: string, _own, command: Command) =>
      (await import('./backup.ts')).backup(file, command.optsWithGlobals()),
    );
  const bringing = program
    .command('restore')
    .description(
      'make workspaces of a backup; all of it or nothing, and what exists is left alone (needs the operator key)',
    )
    .argument('<file>')
    .option('--as <org/workspace>', 'another name for the workspace of the file')
    .action(async (file: string, _own, command: Command) =>
      (await import('./backup.ts')).restore(file, command.optsWithGlobals()),
    );
  const telling = program
    .command('activity')
    .description('who changed what, newest first')
    .option('--all', 'of all workspaces and organizations (needs the operator key)')
    .option('--actor <who>', 'id or name of the key, client or user; operator')
    .option('--action <action>', 'a noun, or a noun and a verb: apiKeys, apiKeys.create')
    .option('--entity <entity>', 'what was about this entity')
    .option('--since <when>', 'date and time with Z or an offset')
    .option('--first <number>', 'so many, up to 1000', '20')
    .action(async (_own, command: Command) => (await import('./activity.ts')).showActivity(command.optsWithGlobals()));
  examples(saving, ['wda backup everything.wda', 'wda backup shop.wda -w acme/shop']);
  examples(bringing, ['wda restore everything.wda', 'wda restore shop.wda --as acme/shop-of-monday']);
  examples(telling, [
    'wda activity -w acme/shop --action schema.update',
    'wda activity --all --since 2026-01-31T00:00:00Z --json',
  ]);
  examples(asking, ['wda whoami', 'WDA_KEY=wda_… wda whoami --json | jq -r .workspaces[0].slug']);
}
