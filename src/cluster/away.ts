// What long work does about a node of the cluster that is silent: Citus waits for it without end, and so would its connection be.
import type { Session } from '../db/pool.ts';
import type { Place } from '../db/work.ts';
import { nodesAway } from '../errors.ts';
import type { EveryNode } from './watch.ts';

// A machine that is busy, or a network with a hiccup, must not cost the work of hours.
const AWAY_MS = 30_000;

/** 503 while a node is silent, for what all of them are told or asked, such as each change of a table. */
export function refuseWhileAway(nodes: EveryNode | undefined): void {
  if (nodes?.isAway() === true) throw nodesAway(nodes.names());
}

/** What `work` gives, which the session is for. When the place has been away for half a minute the session is cut under it. */
export async function cutWhenAway<T>(
  session: Pick<Session, 'cut'>,
  place: Place | undefined,
  work: () => Promise<T>,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const leave = place?.onAway(() => {
    timer ??= setTimeout(() => {
      timer = undefined;
      if (place.isAway()) session.cut();
    }, AWAY_MS);
  });
  try {
    return await work();
  } finally {
    clearTimeout(timer);
    leave?.();
  }
}
