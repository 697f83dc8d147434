// The plan of a rebalance: which workspaces to move so that the nodes hold about the same number of bytes. Pure.

export interface Holder {
  readonly node: string;
  /** Whether workspaces may lie there; a node that takes none is emptied. */
  readonly takesWorkspaces: boolean;
}

export interface Held<W> {
  readonly workspace: W;
  readonly node: string;
  readonly bytes: number;
}

export interface PlannedMove<W> {
  readonly workspace: W;
  readonly from: string;
  readonly to: string;
  readonly bytes: number;
}

/** Nodes differ by at most this share of what each should hold; less is not worth a move. */
export const TOLERANCE = 0.1;

interface Load<W> {
  readonly node: string;
  bytes: number;
  /** The largest first. */
  readonly held: Held<W>[];
}

/**
 * Moves in their order, `limit` at most. What lies on nodes that take no workspaces goes first, the largest workspace
 * to the node with the least; then from the fullest node to the emptiest, each time the workspace that comes closest to
 * half of what they differ by. No workspace is moved twice.
 */
export function planRebalance<W>(
  holders: readonly Holder[],
  workspaces: readonly Held<W>[],
  limit: number,
): readonly PlannedMove<W>[] {
  const loads = new Map<string, Load<W>>(
    holders.filter((one) => one.takesWorkspaces).map(({ node }) => [node, { node, bytes: 0, held: [] }]),
  );
  if (loads.size === 0) return [];
  const homeless: Held<W>[] = [];
  for (const one of workspaces.toSorted((a, b) => b.bytes - a.bytes)) {
    const load = loads.get(one.node);
    if (load === undefined) homeless.push(one);
    else {
      load.held.push(one);
      load.bytes += one.bytes;
    }
  }
  const moves: PlannedMove<W>[] = [];
  const fair = workspaces.reduce((sum, { bytes }) => sum + bytes, 0) / loads.size;
  const all = [...loads.values()];
  for (const one of homeless) move(one, least(all));
  // Nodes without a workspace that would help are left out: what is on one huge workspace cannot be divided.
  let sources = all;
  while (moves.length < limit && sources.length > 0) {
    const [from, to] = [most(sources), least(all)];
    const gap = from.bytes - to.bytes;
    if (gap <= fair * TOLERANCE) break;
    const best = from.held.reduce<Held<W> | undefined>((found, one) => {
      if (one.bytes >= gap) return found;
      return found === undefined || distance(one, gap) < distance(found, gap) ? one : found;
    }, undefined);
    if (best === undefined) {
      sources = sources.filter((one) => one !== from);
      continue;
    }
    from.held.splice(from.held.indexOf(best), 1);
    from.bytes -= best.bytes;
    move(best, to);
  }
  return moves.slice(0, limit);

  /** Not among those of the other node that may be moved. */
  function move({ workspace, node, bytes }: Held<W>, to: Load<W>): void {
    moves.push({ workspace, from: node, to: to.node, bytes });
    to.bytes += bytes;
  }
}

const distance = ({ bytes }: Held<unknown>, gap: number): number => Math.abs(gap / 2 - bytes);
const least = <L extends { readonly bytes: number }>(loads: readonly L[]): L =>
  loads.reduce((found, one) => (one.bytes < found.bytes ? one : found));
const most = <L extends { readonly bytes: number }>(loads: readonly L[]): L =>
  loads.reduce((found, one) => (one.bytes > found.bytes ? one : found));
