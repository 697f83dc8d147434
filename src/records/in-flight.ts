// Which snapshots requests on their way were planned by, so that a migration can know when nobody uses an old name any more.
import type { Workspace } from '../model/workspace.ts';

export interface InFlight {
  readonly hold: (workspace: Workspace) => void;
  readonly release: (workspace: Workspace) => void;
  /** By workspace id, the oldest version that a request was planned by. */
  readonly oldest: () => ReadonlyMap<string, string>;
}

export function makeInFlight(): InFlight {
  const counts = new Map<Workspace, number>();

  return {
    hold: (workspace) => void counts.set(workspace, (counts.get(workspace) ?? 0) + 1),
    release(workspace) {
      const left = (counts.get(workspace) ?? 0) - 1;
      if (left > 0) counts.set(workspace, left);
      else counts.delete(workspace);
    },
    oldest() {
      const oldest = new Map<string, string>();
      for (const { id, version } of counts.keys()) {
        const known = oldest.get(id);
        if (known === undefined || BigInt(version) < BigInt(known)) oldest.set(id, version);
      }
      return oldest;
    },
  };
}
