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

/** Cuts the session when the place has been away for half a minute; gives the function that ends the watch. */
export function cutWhenAway(session: Pick<Session, 'cut'>, place: Place | undefined): () => void {
  let timer: NodeJS.Timeout | undefined;
  const leave = place?.onAway(() => {
    timer ??= setTimeout(() => {
      timer = undefined;
      if (place.isAway()) session.cut();
    }, AWAY_MS);
  });
  return () => {
    clearTimeout(timer);
    leave?.();
  };
}
