// The commands of `wda agents` and `wda mcp`: names, arguments, help.
import type { Command } from 'commander';

/** Adds both to the program. */
export function addAgents(program: Command, examples: (command: Command, lines: readonly string[]) => void): void {
  const agents = program.command('agents').description('what agents may do in a workspace (Model Context Protocol)');
  agents
    .command('show')
    .description('show it')
    .action(async (_own, command: Command) => (await import('./agents.ts')).showAgents(command.optsWithGlobals()));
  agents
    .command('set')
    .description('change what is named; the rest stays')
    .option('--enable', 'serve the workspace to agents')
    .option('--disable', 'do not serve it to agents')
    .option('--writes <writes>', 'off, confirm (a person says yes) or on')
    .option('--entities <names>', 'the only entities that agents reach, separated by commas, or all')
    .action(async (_own, command: Command) => (await import('./agents.ts')).setAgents(command.optsWithGlobals()));
  examples(agents, ['wda agents show -w acme/shop', 'wda agents set -w acme/shop --writes confirm --entities orders']);
  const mcp = program
    .command('mcp')
    .description('serve a workspace to an agent by stdin and stdout, for hosts that only start processes')
    .action(async (_own, command: Command) => (await import('./mcp.ts')).forwardMessages(command.optsWithGlobals()));
  examples(mcp, ['WDA_KEY=wda_… wda mcp -w acme/shop --url https://api.example.com']);
}
