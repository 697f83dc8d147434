// Shares the one thread that answers everybody among workspaces. Beginning a request (credential, plan, SQL) takes 0.05 to
// 0.5 ms: a thousand new ones of one workspace kept the others waiting for 0.3 s. So each workspace begins some in each round
// of the event loop, and its other requests wait in a queue of their own. Long work goes in slices, between which other
// requests run: of those that wait one runs in each round, and the workspaces rotate.

export interface FairScheduler {
  /** Begins the request now, or soon. `group`: the workspace that it is for. */
  readonly admit: (group: string, start: () => void) => void;
  /** For long work on behalf of one request. */
  readonly slices: (group: string) => TimeSlices;
}

export interface TimeSlices {
  /** Resolves when the next slice may run. */
  readonly next: () => Promise<void>;
  /** True when so little has run without waiting, in this round of the event loop, that a short slice may. */
  readonly hasTime: () => boolean;
  /** Records that a slice has run without waiting, for so many milliseconds. */
  readonly addTime: (milliseconds: number) => void;
}

// How long may be worked without waiting in each round: by one group that begins requests, and by all slices together.
const ROUND_MS = 4;
// Requests of a group after which its time is checked.
const CHECK_EVERY = 8;
const MAX_BUDGETS = 1000;

/** Requests that a group has begun, and when the round began in which its time was last checked. */
interface Budget {
  count: number;
  round: number;
  since: number;
}

/** Tasks by group, taken from one group after the other. */
class GroupQueues {
  readonly #queues = new Map<string, (() => void)[]>();

  get isEmpty(): boolean {
    return this.#queues.size === 0;
  }

  has(group: string): boolean {
    return this.#queues.has(group);
  }

  add(group: string, task: () => void): void {
    const queue = this.#queues.get(group);
    if (queue === undefined) this.#queues.set(group, [task]);
    else queue.push(task);
  }

  /** The next task; its group goes to the end of the rotation, if it has more. */
  take(): (() => void) | undefined {
    const [first] = this.#queues;
    if (first === undefined) return undefined;
    const [group, queue] = first;
    this.#queues.delete(group);
    const task = queue.shift();
    if (queue.length > 0) this.#queues.set(group, queue);
    return task;
  }
}

// libuv's count of rounds. Counting by setImmediate() keeps the loop from sleeping until several sockets are ready, and
// answers 0.85 of the requests.
const currentRound = (): number => performance.nodeTiming.uvMetricsInfo.loopCount;

export function makeFairScheduler(): FairScheduler {
  const requests = new GroupQueues();
  const slices = new GroupQueues();
  const budgets = new Map<string, Budget>();
  let round = -1;
  let spentMs = 0;

  function runRequests(): void {
    const until = performance.now() + ROUND_MS;
    do requests.take()?.();
    while (!requests.isEmpty && performance.now() < until);
    if (!requests.isEmpty) setImmediate(runRequests);
  }

  function runSlice(): void {
    slices.take()?.();
    if (!slices.isEmpty) setImmediate(runSlice);
  }

  function getBudget(group: string): Budget {
    const current = budgets.get(group);
    if (current !== undefined) return current;
    if (budgets.size >= MAX_BUDGETS) budgets.clear();
    const budget = { count: 0, round: -1, since: 0 };
    budgets.set(group, budget);
    return budget;
  }

  function nextSlice(group: string): Promise<void> {
    return new Promise((resolve) => {
      if (slices.isEmpty) setImmediate(runSlice);
      slices.add(group, resolve);
    });
  }

  function hasTime(): boolean {
    const current = currentRound();
    if (current !== round) {
      round = current;
      spentMs = 0;
    }
    return spentMs < ROUND_MS;
  }

  const addTime = (milliseconds: number): void => {
    spentMs += milliseconds;
  };

  return {
    admit(group, start) {
      if (requests.has(group)) {
        requests.add(group, start);
        return;
      }
      const budget = getBudget(group);
      if (++budget.count % CHECK_EVERY !== 0 || isWithin(budget)) start();
      else {
        if (requests.isEmpty) setImmediate(runRequests);
        requests.add(group, start);
      }
    },
    slices: (group) => ({ next: () => nextSlice(group), hasTime, addTime }),
  };
}

/** True when the group has not yet begun requests for ROUND_MS in this round. */
function isWithin(budget: Budget): boolean {
  const now = performance.now();
  const round = currentRound();
  if (round !== budget.round) {
    budget.round = round;
    budget.since = now;
  }
  return now - budget.since < ROUND_MS;
}

/** The organization and workspace of a path of the data API. */
export function parseGroup(path: string, prefix: string): string {
  const organization = path.indexOf('/', prefix.length);
  const workspace = organization < 0 ? -1 : path.indexOf('/', organization + 1);
  return workspace < 0 ? '' : path.slice(prefix.length, workspace);
}
