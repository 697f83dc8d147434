// The commands of `wda config`: names, arguments, help.
import type { Command } from 'commander';

/** Adds the group to the program. */
export function addConfig(program: Command, examples: (command: Command, lines: readonly string[]) => void): void {
  const group = program
    .command('config')
    .description('organizations, workspaces, schemas, rules, providers and credentials as a file');
  group
    .command('export')
    .description('print the file of what is there, or of the workspace of -w; it holds no secrets')
    .action(async (_own, command: Command) => (await import('./config.ts')).exportConfig(command.optsWithGlobals()));
  const withFile = (name: string, description: string): Command =>
    group
      .command(name)
      .description(description)
      .argument('<file>', 'YAML or JSON; - is stdin')
      .option('--prune', 'remove keys, clients and providers that its workspaces should not have')
      .option('--prune-workspaces', 'remove workspaces and organizations that the file does not name')
      .option('--allow-destructive', 'also when that destroys data');
  withFile('plan', 'show what apply would do; changes nothing').action(async (file, _own, command: Command) =>
    (await import('./config.ts')).planConfig(file, command.optsWithGlobals()),
  );
  withFile('apply', 'make the server as the file says; twice is once')
    .option(
      '--secrets-out <file>',
      'a new file for new secrets, readable by its owner alone (default: stdout, this once)',
    )
    .action(async (file, _own, command: Command) =>
      (await import('./config.ts')).applyConfig(file, command.optsWithGlobals()),
    );
  withFile('check', 'exit with code 4 where the server is not as the file says').action(
    async (file, _own, command: Command) => (await import('./config.ts')).checkConfig(file, command.optsWithGlobals()),
  );
  examples(group, [
    'wda config export > config.yaml',
    'wda config plan config.yaml',
    'wda config apply config.yaml --secrets-out secrets.ndjson',
    'wda config check config.yaml   # exit code 4 when somebody changed something by hand',
  ]);
}
