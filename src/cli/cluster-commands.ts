// The commands about the nodes of a cluster, in the command tree.
import type { Command } from 'commander';

export function addCluster(program: Command, examples: (command: Command, lines: readonly string[]) => void): void {
  const group = program
    .command('cluster')
    .description('the nodes of a Citus cluster, and workspaces on them (needs the operator key)');
  group
    .command('status')
    .description('the nodes: which are up, and how much lies on them')
    .action(async (_own, command: Command) => (await import('./cluster.ts')).showStatus(command.optsWithGlobals()));
  group
    .command('workspaces')
    .description('where each workspace lies')
    .option('--node <host:port>', 'only those on this node')
    .action(async (_own, command: Command) => (await import('./cluster.ts')).listPlaced(command.optsWithGlobals()));
  group
    .command('rebalance')
    .description('move workspaces so that the nodes hold about the same')
    .option('--plan', 'show the moves; changes nothing')
    .option('--apply', 'do them, one after the other, while requests go on')
    .option('--no-wait', 'only begin')
    .action(async (_own, command: Command) => (await import('./cluster.ts')).rebalance(command.optsWithGlobals()));
  group
    .command('moves')
    .description('moves of workspaces, newest first')
    .action(async (_own, command: Command) => (await import('./cluster.ts')).listMoves(command.optsWithGlobals()));
  group
    .command('cancel')
    .description('cancel a move that has not ended; the workspace stays where it is')
    .argument('<id>', 'id of the move, as cluster moves shows it')
    .action(async (id, _own, command: Command) =>
      (await import('./cluster.ts')).cancelMove(id, command.optsWithGlobals()),
    );
  examples(group, [
    'wda cluster status',
    'wda cluster workspaces --node 10.0.0.11:5432',
    'wda workspace move acme/shop --node 10.0.0.12:5432',
    'wda cluster rebalance --plan',
    'wda cluster rebalance --apply',
  ]);
}

export function addMove(workspaces: Command): void {
  workspaces
    .command('move')
    .description('move a workspace to another node of the cluster while requests go on (needs the operator key)')
    .argument('<org/workspace>')
    .option('--node <host:port>', 'where to; wda cluster status lists the nodes')
    .option('--no-wait', 'only begin')
    .action(async (address, _own, command: Command) =>
      (await import('./cluster.ts')).moveWorkspace(address, command.optsWithGlobals()),
    );
}
