// `wda cluster` and `wda workspace move`: the nodes of a cluster, and moves of workspaces between them.
import { ADMIN_PREFIX, type AdminClient } from './admin-client.ts';
import {
  describeMoves,
  describePlaced,
  describePlan,
  describeStatus,
  hasEnded,
  type Move,
  makeMoveWatch,
  nameOf,
  type Placed,
  type Plan,
  type Status,
} from './cluster-view.ts';
import { connect, type GlobalOptions, parseWorkspace, workspaceName, workspacePath } from './connection.ts';
import { failed, usageFailure } from './failure.ts';
import { follow } from './follow.ts';
import { printResult } from './io.ts';

const CLUSTER = `${ADMIN_PREFIX}/cluster`;

export async function showStatus(options: GlobalOptions): Promise<void> {
  const { data } = await connect(options).send('GET', CLUSTER);
  await printResult(options, data, () => describeStatus(data as Status));
}

/** Where each workspace lies. */
export async function listPlaced(options: GlobalOptions & { readonly node?: string }): Promise<void> {
  const { node } = options;
  const tail = node === undefined ? '' : `?node=${encodeURIComponent(node)}`;
  const found = (await connect(options).readAll(`${CLUSTER}/workspaces${tail}`)) as readonly Placed[];
  await printResult(options, found, () => describePlaced(found));
}

export async function listMoves(options: GlobalOptions): Promise<void> {
  const found = (await connect(options).readAll(`${CLUSTER}/moves`)) as readonly Move[];
  await printResult(options, found, () => describeMoves(found));
}

export async function cancelMove(id: string, options: GlobalOptions): Promise<void> {
  const { data } = await connect(options).send('POST', `${CLUSTER}/moves/${encodeURIComponent(id)}/cancel`);
  await printResult(options, data, () => `Cancelling move ${id}: ${(data as Move).state}`);
}

/** Moves a workspace, and watches that to its end unless `wait` is false. */
export async function moveWorkspace(
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
    const placed = data as Placed;
    return printResult(options, placed, () => `${workspaceName(parsed)} lies on ${placed.node} already`);
  }
  const move = options.wait === false ? (data as Move) : await followMove(client, data as Move, options);
  await printResult(options, move, () => (hasEnded(move) ? ending(move) : `Move ${move.id} is ${move.state}`));
  requireSuccess(move);
}

/** Shows the plan of a rebalance, or does it and watches each of its moves. */
export async function rebalance(
  options: GlobalOptions & { readonly plan?: boolean; readonly apply?: boolean; readonly wait?: boolean },
): Promise<void> {
  if (options.plan === options.apply)
    throw usageFailure('One of --plan and --apply is needed', ['--plan shows the moves, --apply does them.']);
  const client = connect(options);
  if (options.plan) {
    const { data } = await client.send('GET', `${CLUSTER}/plan`);
    return printResult(options, data, () => describePlan(data as Plan));
  }
  const moves = (await client.send('POST', `${CLUSTER}/rebalance`)).data as readonly Move[];
  const last: Move[] = [];
  for (const move of moves) last.push(options.wait === false ? move : await followMove(client, move, options));
  await printResult(options, last, () =>
    last.length === 0 ? 'Nothing to move: the nodes hold about the same' : last.map(ending).join('\n'),
  );
  for (const move of last) requireSuccess(move);
}

const followMove = (client: AdminClient, { id }: Move, options: GlobalOptions): Promise<Move> =>
  follow({
    read: async () => (await client.send('GET', `${CLUSTER}/moves/${id}`)).data as Move,
    hasEnded,
    isRunning: ({ state }) => state === 'running',
    stateOf: makeMoveWatch(),
    whenLeft: [
      `Move ${id} goes on without this command.`,
      'Watch it:  wda cluster moves',
      `Stop it:   wda cluster cancel ${id}`,
    ],
    options,
    deadline: null,
  });

const ending = (move: Move): string => `${nameOf(move)}: ${move.state}`;

/** The details are printed already. */
function requireSuccess({ id, state, error }: Move): void {
  if (state === 'failed') throw failed(`Move ${id} has failed: ${error}`, { move: id, state });
  if (state === 'cancelled') throw failed(`Move ${id} has been cancelled`, { move: id, state });
}
