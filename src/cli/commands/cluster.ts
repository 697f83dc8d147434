// `wda cluster` and `wda workspace move`: show the nodes of a cluster, and move workspaces between them.
import type { Command } from 'commander';
import type { Cluster, Move, PlacedWorkspace, RebalancePlan } from '../../../admin-types/admin-api.d.ts';
import { ADMIN_PREFIX, type AdminClient } from '../admin-client.ts';
import {
  action,
  connect,
  examples,
  type GlobalOptions,
  parseWorkspace,
  workspaceName,
  workspacePath,
} from '../command.ts';
import { CommandFailure, runtimeFailure, usageFailure } from '../failure.ts';
import { printResult } from '../io.ts';
import { follow, formatBytes, type StepState } from '../progress.ts';
import { renderPairs, renderTable } from '../table.ts';
import { hasEnded } from './migration.ts';

const CLUSTER = `${ADMIN_PREFIX}/cluster`;

export function register(program: Command): void {
  const group = program
    .command('cluster')
    .description('the nodes of a Citus cluster, and workspaces on them (needs the operator key)');
  group
    .command('status')
    .description('show the nodes: which are up, and how much is stored on them')
    .action(action(showStatus));
  group
    .command('workspaces')
    .description('show the node of each workspace')
    .option('--node <host:port>', 'only those on this node')
    .action(action(listPlaced));
  group
    .command('rebalance')
    .description('move workspaces so that the nodes have about the same load')
    .option('--plan', 'show the moves; changes nothing')
    .option('--apply', 'do the moves while requests go on')
    .option('--no-wait', 'do not wait for the end')
    .action(action(rebalance));
  group.command('moves').description('list moves of workspaces, newest first').action(action(listMoves));
  group
    .command('cancel')
    .description('cancel moves that have not ended; their workspaces stay where they are')
    .argument('[id]', 'id of the move, as cluster moves shows it')
    .option('--all', 'all moves that have not ended')
    .action(action(cancelMove));
  examples(group, [
    'wda cluster status',
    'wda cluster workspaces --node 10.0.0.11:5432',
    'wda workspace move acme/shop --node 10.0.0.12:5432',
    'wda cluster rebalance --plan',
    'wda cluster rebalance --apply',
    'wda cluster cancel --all',
  ]);
}

/** Registers `wda workspace move`. */
export function registerMove(workspaces: Command): void {
  workspaces
    .command('move')
    .description('move a workspace to another node of the cluster while requests go on (needs the operator key)')
    .argument('<org/workspace>')
    .option('--node <host:port>', 'target node; wda cluster status lists the nodes')
    .option('--no-wait', 'do not wait for the end')
    .action(action(moveWorkspace));
}

async function showStatus(options: GlobalOptions): Promise<void> {
  const { data } = await connect(options).send('GET', CLUSTER);
  await printResult(options, data, () => describeStatus(data as Cluster));
}

/** Prints the node of each workspace. */
async function listPlaced(options: GlobalOptions & { readonly node?: string }): Promise<void> {
  const { node } = options;
  const tail = node === undefined ? '' : `?node=${encodeURIComponent(node)}`;
  const placedWorkspaces = (await connect(options).readAll(
    `${CLUSTER}/workspaces${tail}`,
  )) as readonly PlacedWorkspace[];
  await printResult(options, placedWorkspaces, () => describePlaced(placedWorkspaces));
}

async function listMoves(options: GlobalOptions): Promise<void> {
  const moves = (await connect(options).readAll(`${CLUSTER}/moves`)) as readonly Move[];
  await printResult(options, moves, () => describeMoves(moves));
}

/** Cancels one move, or all that have not ended: the newest first, so that none of those that wait starts. */
async function cancelMove(id: string | undefined, options: GlobalOptions & { readonly all?: boolean }): Promise<void> {
  if ((id === undefined) !== (options.all === true))
    throw usageFailure('One of <id> and --all is needed', ['wda cluster moves shows the ids.']);
  const client = connect(options);
  if (id !== undefined) {
    const { data } = await client.send('POST', buildCancelPath(id));
    return printResult(options, data, () => `Cancelling move ${id}: ${(data as Move).state}`);
  }
  const cancelled: Move[] = [];
  for (const move of (await client.readAll(`${CLUSTER}/moves`)) as readonly Move[]) {
    if (hasEnded(move)) continue;
    const { data } = await client.send('POST', buildCancelPath(`${move.id}`)).catch((error) => {
      // It has ended meanwhile.
      if (error instanceof CommandFailure && error.failure.kind === 'refused' && error.failure.status === 409)
        return { data: undefined };
      throw error;
    });
    if (data !== undefined) cancelled.push(data as Move);
  }
  await printResult(options, cancelled, () =>
    cancelled.length === 0
      ? 'No moves that have not ended'
      : cancelled.map((move) => `Cancelling move ${move.id}: ${move.state}`).join('\n'),
  );
}

const buildCancelPath = (id: string): string => `${CLUSTER}/moves/${encodeURIComponent(id)}/cancel`;

/** Moves a workspace, and follows the move to its end unless `wait` is false. */
async function moveWorkspace(
  address: string,
  options: GlobalOptions & { readonly node?: string; readonly wait?: boolean },
): Promise<void> {
  const parsed = parseWorkspace(address);
  const { node } = options;
  if (node === undefined)
    throw usageFailure('A node is needed', ['Pass --node <host:port>; wda cluster status lists them.']);
  const client = connect(options);
  const { status, data } = await client.send('POST', `${workspacePath(parsed)}/moves`, { body: { node } });
  if (status === 200) {
    const placed = data as PlacedWorkspace;
    return printResult(options, placed, () => `${workspaceName(parsed)} lies on ${placed.node} already`);
  }
  const move = options.wait === false ? (data as Move) : await followMove(client, data as Move, options);
  await printResult(options, move, () => (hasEnded(move) ? describeEnd(move) : `Move ${move.id} is ${move.state}`));
  requireSuccess(move);
}

/** Shows the plan of a rebalance, or starts it and follows each of its moves. */
async function rebalance(
  options: GlobalOptions & { readonly plan?: boolean; readonly apply?: boolean; readonly wait?: boolean },
): Promise<void> {
  if (options.plan === options.apply)
    throw usageFailure('One of --plan and --apply is needed', ['--plan shows the moves, --apply does them.']);
  const client = connect(options);
  if (options.plan) {
    const { data } = await client.send('GET', `${CLUSTER}/plan`);
    return printResult(options, data, () => describePlan(data as RebalancePlan));
  }
  const moves = (await client.send('POST', `${CLUSTER}/rebalance`)).data as readonly Move[];
  const last: Move[] = [];
  for (const [index, move] of moves.entries())
    last.push(options.wait === false ? move : await followMove(client, move, options, moves.length - index));
  await printResult(options, last, () =>
    last.length === 0 ? 'Nothing to move: the nodes hold about the same' : last.map(describeEnd).join('\n'),
  );
  for (const move of last) requireSuccess(move);
}

/** Follows a move to its end. `rest`: number of moves that have not ended, with this one. */
const followMove = (client: AdminClient, { id }: Move, options: GlobalOptions, rest = 1): Promise<Move> =>
  follow({
    read: async () => (await client.send('GET', `${CLUSTER}/moves/${id}`)).data as Move,
    hasEnded,
    isRunning: ({ state }) => state === 'running',
    getState: makeMoveTracker(),
    interruptLines: describeInterrupt(id, rest),
    options,
    deadline: null,
  });

const describeInterrupt = (id: number, rest: number): readonly string[] =>
  rest === 1
    ? [
        `Move ${id} goes on without this command.`,
        'Watch it:  wda cluster moves',
        `Stop it:   wda cluster cancel ${id}`,
      ]
    : [
        `Move ${id} and the ${rest - 1} that were planned after it go on without this command.`,
        'Watch them:  wda cluster moves',
        'Stop them:   wda cluster cancel --all',
      ];

const describeEnd = (move: Move): string => `${formatMove(move)}: ${move.state}`;

/** Throws unless the move succeeded; its details are already printed. */
function requireSuccess({ id, state, error }: Move): void {
  if (state === 'failed') throw runtimeFailure(`Move ${id} has failed: ${error}`, { move: id, state });
  if (state === 'cancelled') throw runtimeFailure(`Move ${id} has been cancelled`, { move: id, state });
}

const formatSize = (value: number | null): string => (value === null ? '-' : formatBytes(value));

function describeStatus({ version, triggers, nodes }: Cluster): string {
  return [
    renderPairs([
      ['Citus', version],
      ['Triggers', triggers ? 'on' : 'off'],
    ]),
    '',
    renderTable(
      ['NODE', 'ROLE', 'STATE', 'TAKES WORKSPACES', 'WORKSPACES', 'SIZE'],
      nodes.map((node) => [
        node.name,
        node.role,
        node.state,
        node.takesWorkspaces ? 'yes' : 'no',
        node.workspaces,
        formatSize(node.bytes),
      ]),
      ['WORKSPACES', 'SIZE'],
    ),
  ].join('\n');
}

const describePlaced = (placed: readonly PlacedWorkspace[]): string =>
  placed.length === 0
    ? 'No workspaces there'
    : renderTable(
        ['WORKSPACE', 'NODE', 'SIZE'],
        placed.map((one) => [`${one.organization}/${one.workspace}`, one.node, formatSize(one.bytes)]),
        ['SIZE'],
      );

function describePlan({ moves, nodes, bytes: all }: RebalancePlan): string {
  if (moves.length === 0) return 'Nothing to move: the nodes hold about the same';
  return [
    renderTable(
      ['#', 'WORKSPACE', 'FROM', 'TO', 'SIZE'],
      moves.map((one, index) => [
        index + 1,
        `${one.organization}/${one.workspace}`,
        one.from,
        one.to,
        formatSize(one.bytes),
      ]),
      ['#', 'SIZE'],
    ),
    '',
    renderTable(
      ['NODE', 'WORKSPACES', 'THEN', 'SIZE', 'THEN'],
      nodes.map((one) => [
        one.name,
        one.workspaces,
        one.workspacesAfter,
        formatSize(one.bytes),
        formatSize(one.bytesAfter),
      ]),
      ['WORKSPACES', 'THEN', 'SIZE'],
    ),
    '',
    `${moves.length} move${moves.length === 1 ? '' : 's'} of ${formatSize(all)} in all. Do them: wda cluster rebalance --apply`,
  ].join('\n');
}

/** Formats `acme/shop: 10.0.0.11:5432 -> 10.0.0.12:5432`. */
const formatMove = ({ organization, workspace, from, to }: Move): string =>
  `${organization}/${workspace}: ${from} -> ${to}`;

const describeMoves = (moves: readonly Move[]): string =>
  moves.length === 0
    ? 'No moves'
    : renderTable(
        ['ID', 'WORKSPACE', 'FROM', 'TO', 'STATE', 'PHASE', 'STARTED', 'FINISHED', 'ERROR'],
        moves.map((one) => [
          one.id,
          `${one.organization}/${one.workspace}`,
          one.from,
          one.to,
          one.state,
          one.progress === null ? '-' : (PHASE_LABELS[one.progress.phase] ?? one.progress.phase),
          one.startedAt,
          one.finishedAt,
          one.error,
        ]),
        ['ID'],
      );

const PHASE_LABELS: Readonly<Record<string, string>> = {
  preparing: 'preparing',
  copying: 'copying records',
  indexing: 'making indexes',
  catchingUp: 'catching up with writes',
  switching: 'switching',
};

/**
 * Creates a function that returns the progress of a move; each phase is a step. While Citus reports no progress, at the
 * beginning, at the end, and between two attempts, the phase stays.
 */
export function makeMoveTracker(): (move: Move, now: number) => StepState {
  let phase = 'preparing';
  let first: { readonly label: string; readonly at: number; readonly fraction: number } | undefined;
  return (move, now) => {
    const { progress, state } = move;
    if (progress !== null) phase = PHASE_LABELS[progress.phase] ?? progress.phase;
    const label = `${formatMove(move)}: ${state === 'pending' ? 'waiting for its turn' : phase}`;
    const total = progress?.bytes.total ?? 0;
    const fraction = progress?.phase === 'copying' && total > 0 ? progress.bytes.done / total : null;
    if (first?.label !== label) first = { label, at: now, fraction: fraction ?? 0 };
    const elapsedMs = now - first.at;
    const delta = (fraction ?? 0) - first.fraction;
    return {
      label,
      fraction,
      rate: null,
      remainingMs: fraction === null || delta <= 0 ? null : ((1 - fraction) / delta) * elapsedMs,
      elapsedMs,
    };
  };
}
