// What long work does about a node that is silent: the coordinator waits for it without end, and so would its connection.

import type { NodeStatus } from '../database/executor.ts';
import type { Session } from '../database/pool.ts';
import { nodesUnavailable } from '../errors.ts';
import type { EveryNode } from './topology.ts';

// A machine that is busy, or a network with a hiccup, must not cost the work of hours.
const UNAVAILABLE_MS = 30_000;

/** 503 while a node is silent. */
export function throwWhenUnavailable(nodes: EveryNode | undefined): void {
  if (nodes?.isUnavailable() === true) throw nodesUnavailable(nodes.names());
}

/** Runs `work`, which the session is for. Cuts the session when the node has been silent for half a minute. */
export async function cutWhenUnavailable<T>(
  session: Pick<Session, 'cut'>,
  node: NodeStatus | undefined,
  work: () => Promise<T>,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const unsubscribe = node?.onUnavailable(() => {
    timer ??= setTimeout(() => {
      timer = undefined;
      if (node.isUnavailable()) session.cut();
    }, UNAVAILABLE_MS);
  });
  try {
    return await work();
  } finally {
    clearTimeout(timer);
    unsubscribe?.();
  }
}
