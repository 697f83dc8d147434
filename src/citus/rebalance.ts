// Plans a rebalance: selects workspaces to move so that the nodes hold about the same number of bytes. Pure.

export interface RebalanceNode {
  readonly node: string;
  /** Whether workspaces may lie there; a node that takes none is emptied. */
  readonly takesWorkspaces: boolean;
}

export interface WorkspaceLoad<W> {
  readonly workspace: W;
  readonly node: string;
  readonly bytes: number;
}

export interface PlannedRelocation<W> {
  readonly workspace: W;
  readonly from: string;
  readonly to: string;
  readonly bytes: number;
}

/** Tolerated deviation from a node's target size, as a share of it; less is not worth a move. */
export const TOLERANCE = 0.1;

interface NodeLoad<W> {
  readonly node: string;
  bytes: number;
  /** Workspaces, the largest first. */
  readonly workspaces: WorkspaceLoad<W>[];
}

/**
 * Plans the moves in their order, `limit` at most. Nodes that take no workspaces are emptied first, the largest
 * workspace to the node with the least; then moves go from the fullest node to the emptiest, each time with the
 * workspace that comes closest to half of their difference. No workspace is moved twice.
 */
export function planRebalance<W>(
  nodes: readonly RebalanceNode[],
  workspaces: readonly WorkspaceLoad<W>[],
  limit: number,
): readonly PlannedRelocation<W>[] {
  const loads = new Map<string, NodeLoad<W>>(
    nodes.filter((one) => one.takesWorkspaces).map(({ node }) => [node, { node, bytes: 0, workspaces: [] }]),
  );
  if (loads.size === 0) return [];
  const misplacedWorkspaces: WorkspaceLoad<W>[] = [];
  for (const one of workspaces.toSorted((a, b) => b.bytes - a.bytes)) {
    const load = loads.get(one.node);
    if (load === undefined) misplacedWorkspaces.push(one);
    else {
      load.workspaces.push(one);
      load.bytes += one.bytes;
    }
  }
  const relocations: PlannedRelocation<W>[] = [];
  const targetBytes = workspaces.reduce((sum, { bytes }) => sum + bytes, 0) / loads.size;
  const all = [...loads.values()];
  for (const one of misplacedWorkspaces) addRelocation(one, findLeastLoaded(all));
  // Nodes without a suitable workspace are left out: one huge workspace cannot be divided.
  let sources = all;
  while (relocations.length < limit && sources.length > 0) {
    const [from, to] = [findMostLoaded(sources), findLeastLoaded(all)];
    const gap = from.bytes - to.bytes;
    if (gap <= targetBytes * TOLERANCE) break;
    const best = from.workspaces.reduce<WorkspaceLoad<W> | undefined>((closest, one) => {
      if (one.bytes >= gap) return closest;
      return closest === undefined || distance(one, gap) < distance(closest, gap) ? one : closest;
    }, undefined);
    if (best === undefined) {
      sources = sources.filter((one) => one !== from);
      continue;
    }
    from.workspaces.splice(from.workspaces.indexOf(best), 1);
    from.bytes -= best.bytes;
    addRelocation(best, to);
  }
  return relocations.slice(0, limit);

  /** Adds a move; the workspace is no longer a candidate on its new node. */
  function addRelocation({ workspace, node, bytes }: WorkspaceLoad<W>, to: NodeLoad<W>): void {
    relocations.push({ workspace, from: node, to: to.node, bytes });
    to.bytes += bytes;
  }
}

const distance = ({ bytes }: WorkspaceLoad<unknown>, gap: number): number => Math.abs(gap / 2 - bytes);
const findLeastLoaded = <L extends { readonly bytes: number }>(loads: readonly L[]): L =>
  loads.reduce((smallest, one) => (one.bytes < smallest.bytes ? one : smallest));
const findMostLoaded = <L extends { readonly bytes: number }>(loads: readonly L[]): L =>
  loads.reduce((largest, one) => (one.bytes > largest.bytes ? one : largest));
