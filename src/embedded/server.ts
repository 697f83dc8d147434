// One run of the embedded PostgreSQL: clears away what an earlier run left, starts, stops. The caller holds the lock.
import { prepareCluster } from './cluster.ts';
import { launch } from './launch.ts';
import { clearAway } from './leftovers.ts';
import { boundLog, type Log, openServerLog } from './log.ts';
import type { Place } from './place.ts';
import type { Guarded } from './process.ts';
import { readStatus } from './status.ts';
import { type CloneData, upgradeData } from './upgrade.ts';

export interface Server {
  /** Resolves with what happened when PostgreSQL has ended, for whatever reason. */
  readonly exited: Promise<string>;
  /** Shuts it down fast; resolves when it has ended (15 s at most) and nothing of it is left. */
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Moves data of an earlier major version; without it they are refused. */
  readonly clone: CloneData | undefined;
}

/**
 * Starts PostgreSQL on the place's data, which are made if there are none, and upgraded if they are of an earlier major
 * version. Resolves when it accepts connections;
 * rejects with a failure in words when it ends before that, also because `signal` was aborted.
 */
export async function startServer(place: Place, { log, signal, clone }: StartOptions): Promise<Server> {
  await clearAway(place, log);
  const serverLog = openServerLog(place.logFile);
  try {
    await upgradeData(place, { log, serverLog, signal, clone });
    await prepareCluster(place, serverLog);
    return watchOver(place, await launch(place, { log, serverLog, signal }), log);
  } finally {
    serverLog.close();
  }
}

function watchOver(place: Place, guarded: Guarded, log: Log): Server {
  guarded.keepAlive(false);
  const bounding = setInterval(() => boundLog(place.logFile), 60_000).unref();
  const exited = guarded.exited.then((code) => {
    clearInterval(bounding);
    return code > 128 ? `it was ended by signal ${code - 128}` : `it ended with exit code ${code}`;
  });
  return {
    exited,
    async stop() {
      guarded.keepAlive(true);
      guarded.release();
      await exited;
      // Still there when its guard was killed, or when it had to be killed itself.
      if (readStatus(place.dataDirectory) !== undefined) await clearAway(place, log);
    },
  };
}
