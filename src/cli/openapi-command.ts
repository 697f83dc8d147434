// `wda openapi` in the command tree.
import type { Command } from 'commander';

export function addOpenapi(program: Command, examples: (command: Command, lines: readonly string[]) => void): void {
  const command = program
    .command('openapi')
    .description('print the OpenAPI document of a workspace, or of the admin API')
    .option('--selection <selection>', 'free (default), or fixed: for generators of clients')
    .option('--entities <names>', 'only these entities, separated by commas')
    .option('--admin', 'the document of the admin API')
    .option('-o, --output <file>', 'write it to a file')
    .action(async (_own, own: Command) => (await import('./openapi.ts')).openapi(own.optsWithGlobals()));
  examples(command, [
    'wda openapi -w acme/shop --selection fixed -o shop.json',
    'wda openapi -w acme/shop --entities orders,customers',
    'wda openapi --admin -o admin.json',
  ]);
}
