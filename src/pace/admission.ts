// Decides which request of the data API is begun next when many come at once. Beginning one (credential, plan, SQL)
// takes the one thread that answers everybody 0.05 to 0.5 ms: a thousand new ones of one workspace kept the others
// waiting for 0.3 s. So each workspace begins some in each round of the event loop, and its other requests wait in a
// line of their own.

/** Begins the request now, or soon. `group`: the workspace that it is for. */
export type Admission = (group: string, begin: () => void) => void;

// How long one group may begin requests in each round, in milliseconds, and after how many requests that is checked.
const AT_ONCE_MS = 4;
const EVERY = 8;
const MAX_PACES = 1000;

/** Of a group: requests begun, and when the round began in which the time was last checked. */
interface Pace {
  count: number;
  turn: number;
  since: number;
}

export function makeAdmission(): Admission {
  const lines = new Map<string, (() => void)[]>();
  const paces = new Map<string, Pace>();

  /** Begins one request of each line, and again while there is time. */
  function advance(): void {
    const until = performance.now() + AT_ONCE_MS;
    do {
      for (const [group, line] of lines) {
        const begin = line.shift();
        if (line.length === 0) lines.delete(group);
        begin?.();
      }
    } while (lines.size > 0 && performance.now() < until);
    if (lines.size > 0) setImmediate(advance);
  }

  function paceOf(group: string): Pace {
    const known = paces.get(group);
    if (known !== undefined) return known;
    if (paces.size >= MAX_PACES) paces.clear();
    const pace = { count: 0, turn: -1, since: 0 };
    paces.set(group, pace);
    return pace;
  }

  return (group, begin) => {
    const line = lines.get(group);
    if (line !== undefined) {
      line.push(begin);
      return;
    }
    const pace = paceOf(group);
    if (++pace.count % EVERY !== 0 || hasTime(pace)) begin();
    else {
      if (lines.size === 0) setImmediate(advance);
      lines.set(group, [begin]);
    }
  };
}

/** True when the group has not yet begun requests for AT_ONCE_MS in this round. */
function hasTime(pace: Pace): boolean {
  const now = performance.now();
  // libuv's count of rounds. Counting by setImmediate() keeps the loop from sleeping until several sockets are ready,
  // and answers 0.85 of the requests.
  const turn = performance.nodeTiming.uvMetricsInfo.loopCount;
  if (turn !== pace.turn) {
    pace.turn = turn;
    pace.since = now;
  }
  return now - pace.since < AT_ONCE_MS;
}

/** The organization and workspace of a path of the data API. */
export function groupOf(path: string, prefix: string): string {
  const organization = path.indexOf('/', prefix.length);
  const workspace = organization < 0 ? -1 : path.indexOf('/', organization + 1);
  return workspace < 0 ? '' : path.slice(prefix.length, workspace);
}
