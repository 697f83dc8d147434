// `wda types` in the command tree.
import type { Command } from 'commander';

export function addTypes(program: Command, examples: (command: Command, lines: readonly string[]) => void): void {
  const command = program
    .command('types')
    .description('print the TypeScript types of a workspace, which workspace-data-client takes')
    .option('--from <file>', 'an OpenAPI document of the workspace instead of the server (- is stdin)')
    .option('--check <file>', 'compare them with a file, and fail with the difference when it is another one')
    .option('--for <whom>', 'external: as users of the identity provider see it (needs an owner key)')
    .option('--name <name>', 'name of the interface (default: made of the workspace)')
    .action(async (_own, own: Command) => (await import('./types.ts')).types(own.optsWithGlobals()));
  examples(command, [
    'wda types -w acme/shop > shop.ts',
    'wda types -w acme/shop --check shop.ts',
    'wda types --from openapi.json > shop.ts',
  ]);
}
