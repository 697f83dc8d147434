// Handles silent nodes during long work: the coordinator, and with it the connection, would wait for them without end.

import type { NodeStatus } from '../database/executor.ts';
import type { Session } from '../database/pool.ts';
import { nodesUnavailable } from '../errors.ts';
import type { EveryNode } from './topology.ts';

// A busy machine or a network glitch must not cost hours of work.
const UNAVAILABLE_MS = 30_000;

/** Throws 503 while a node is silent. */
export function throwWhenUnavailable(nodes: EveryNode | undefined): void {
  if (nodes?.isUnavailable() === true) throw nodesUnavailable(nodes.names());
}

/** Runs `work` on the session, which is closed when the node has been silent for half a minute. */
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
