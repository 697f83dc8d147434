// What long work does about a node that is silent: the coordinator waits for it without end, and so would its connection.

import type { Place } from '../db/executor.ts';
import type { Session } from '../db/pool.ts';
import { nodesAway } from '../errors.ts';
import type { EveryNode } from './topology.ts';

// A machine that is busy, or a network with a hiccup, must not cost the work of hours.
const UNAVAILABLE_MS = 30_000;

/** 503 while a node is silent. */
export function refuseWhileUnavailable(nodes: EveryNode | undefined): void {
  if (nodes?.isAway() === true) throw nodesAway(nodes.names());
}

/** Runs `work`, which the session is for. Cuts the session when the node has been silent for half a minute. */
export async function cutWhenUnavailable<T>(
  session: Pick<Session, 'cut'>,
  node: Place | undefined,
  work: () => Promise<T>,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const leave = node?.onAway(() => {
    timer ??= setTimeout(() => {
      timer = undefined;
      if (node.isAway()) session.cut();
    }, UNAVAILABLE_MS);
  });
  try {
    return await work();
  } finally {
    clearTimeout(timer);
    leave?.();
  }
}
