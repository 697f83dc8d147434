// Plans a rebalance: selects few workspaces to move so that the nodes hold about the same load. Pure.

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

/** Tolerated deviation from a node's target load, as a share of it; less is not worth a move. */
export const TOLERANCE = 0.1;

/**
 * Load of a workspace in addition to its bytes, which balances the number of small workspaces: each has requests,
 * catalog entries and cached plans, whatever its size. The figure that Citus's own rebalancer uses for a shard group.
 */
export const BASE_LOAD_BYTES = 100_000_000;

/** Returns the load of a workspace in bytes. */
export const getLoad = ({ bytes }: { readonly bytes: number }): number => bytes + BASE_LOAD_BYTES;

interface NodeLoad<W> {
  readonly node: string;
  load: number;
  /** Workspaces that may still be moved. */
  readonly workspaces: WorkspaceLoad<W>[];
}

/**
 * Plans the moves in their order, `limit` at most. While a node that takes no workspaces has some, these alone are
 * moved, the largest first, each to the node with the smallest load. Otherwise moves go from the node that exceeds its
 * target most to the node with the smallest load, each time with the workspace that comes closest to what the one has
 * too much and the other lacks, until all are within the tolerance. No workspace is moved twice.
 */
export function planRebalance<W>(
  nodes: readonly RebalanceNode[],
  workspaces: readonly WorkspaceLoad<W>[],
  limit: number,
): readonly PlannedRelocation<W>[] {
  const loads = new Map<string, NodeLoad<W>>(
    nodes.filter((one) => one.takesWorkspaces).map(({ node }) => [node, { node, load: 0, workspaces: [] }]),
  );
  if (loads.size === 0) return [];
  const misplacedWorkspaces: WorkspaceLoad<W>[] = [];
  for (const one of workspaces.toSorted((a, b) => b.bytes - a.bytes)) {
    const load = loads.get(one.node);
    if (load === undefined) misplacedWorkspaces.push(one);
    else {
      load.workspaces.push(one);
      load.load += getLoad(one);
    }
  }
  const all = [...loads.values()];
  return misplacedWorkspaces.length > 0
    ? misplacedWorkspaces.slice(0, limit).map((one) => relocate(one, findLeastLoaded(all)))
    : planEvenLoads(all, limit);
}

function planEvenLoads<W>(nodes: readonly NodeLoad<W>[], limit: number): PlannedRelocation<W>[] {
  const relocations: PlannedRelocation<W>[] = [];
  // Without nodes that have no suitable workspace, and their load: one huge workspace cannot be divided.
  let rest = nodes;
  while (relocations.length < limit && rest.length > 1) {
    const mean = rest.reduce((sum, { load }) => sum + load, 0) / rest.length;
    const [from, to] = [rest.reduce((most, one) => (one.load > most.load ? one : most)), findLeastLoaded(rest)];
    if (from.load <= mean * (1 + TOLERANCE) && to.load >= mean * (1 - TOLERANCE)) break;
    const amount = Math.min(from.load - mean, mean - to.load);
    const best = findClosest(from, amount, from.load - to.load);
    if (best === undefined) {
      rest = rest.filter((one) => one !== from);
      continue;
    }
    from.workspaces.splice(from.workspaces.indexOf(best), 1);
    from.load -= getLoad(best);
    relocations.push(relocate(best, to));
  }
  return relocations;
}

/** Finds the workspace whose load comes closest to `amount` and is less than `gap`, so that the move evens out. */
function findClosest<W>({ workspaces }: NodeLoad<W>, amount: number, gap: number): WorkspaceLoad<W> | undefined {
  const distance = (one: WorkspaceLoad<W>): number => Math.abs(amount - getLoad(one));
  return workspaces.reduce<WorkspaceLoad<W> | undefined>((closest, one) => {
    if (getLoad(one) >= gap) return closest;
    return closest === undefined || distance(one) < distance(closest) ? one : closest;
  }, undefined);
}

/** Adds the load of the workspace to its new node, where it is no candidate for another move. */
function relocate<W>(one: WorkspaceLoad<W>, to: NodeLoad<W>): PlannedRelocation<W> {
  to.load += getLoad(one);
  return { workspace: one.workspace, from: one.node, to: to.node, bytes: one.bytes };
}

const findLeastLoaded = <L extends { readonly load: number }>(loads: readonly L[]): L =>
  loads.reduce((smallest, one) => (one.load < smallest.load ? one : smallest));
