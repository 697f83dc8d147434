// Which request of the data API is begun next when many come at once. Beginning one (credential, plan, SQL) takes the one
// thread that answers everybody 0.05 to 0.5 ms: a thousand new ones of one workspace at a time kept the others waiting for
// 0.3 s. So each workspace begins some each time round the event loop, and what else it has sent waits in its own line.

/** Begins the request now, or soon. `group`: whose it is. */
export type Admission = (group: string, begin: () => void) => void;

// What one group may begin each time round, in milliseconds; looked at after every so many.
const AT_ONCE_MS = 4;
const EVERY = 8;
const MAX_PACES = 1000;

/** Of a group: requests begun, and when the turn began in which that was last looked at. */
interface Pace {
  count: number;
  turn: number;
  since: number;
}

export function makeAdmission(): Admission {
  const lines = new Map<string, (() => void)[]>();
  const paces = new Map<string, Pace>();

  /** One of each line, and again while there is time. */
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

/** Has the group not begun requests for long this time round? */
function hasTime(pace: Pace): boolean {
  const now = performance.now();
  // A turn that is counted by setImmediate() keeps the loop from sleeping until several have something to do: 0.85 of the
  // requests.
  const turn = performance.nodeTiming.uvMetricsInfo.loopCount;
  if (turn !== pace.turn) {
    pace.turn = turn;
    pace.since = now;
  }
  return now - pace.since < AT_ONCE_MS;
}

/** Of a path of the data API: its organization and workspace. */
export function groupOf(path: string, prefix: string): string {
  const organization = path.indexOf('/', prefix.length);
  const workspace = organization < 0 ? -1 : path.indexOf('/', organization + 1);
  return workspace < 0 ? '' : path.slice(prefix.length, workspace);
}
