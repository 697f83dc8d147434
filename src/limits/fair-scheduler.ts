// Shares the one thread among workspaces. Starting a request (credential, plan, SQL) takes 0.05 to 0.5 ms: a thousand new ones
// of one workspace delayed the others by 0.3 s. So each workspace starts some in each round of the event loop, and the rest
// wait in a queue of its own. Long work runs in slices, with other requests in between: one waiting slice runs in each round,
// and workspaces rotate.

export interface FairScheduler {
  /** Starts the request now, or soon. `group`: its workspace, or its client while the credential is not verified. */
  readonly admit: (group: string, start: () => void) => void;
  /** Returns the time slices for long work of one request. */
  readonly slices: (group: string) => TimeSlices;
}

export interface TimeSlices {
  /** Resolves when the next slice may run. */
  readonly next: () => Promise<void>;
  /** True when a short slice may run at once, as little time has been used without waiting in this round. */
  readonly hasTime: () => boolean;
  /** Records the milliseconds of a slice that has run without waiting. */
  readonly addTime: (milliseconds: number) => void;
}

// Time used without waiting in each round: by one group that starts requests, and by all slices together.
const ROUND_MS = 4;
// Requests of a group between two checks of its time.
const CHECK_EVERY = 8;
const MAX_BUDGETS = 1000;

/** Requests that a group has started, and the start of the round in which its time was last checked. */
interface Budget {
  count: number;
  round: number;
  since: number;
}

/** Queues of tasks by group, which take turns. */
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

  /** Takes the next task; its group goes to the end of the rotation, if it has more. */
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

/**
 * Returns libuv's count of rounds. Counting by setImmediate() prevents the loop from sleeping until several sockets are ready,
 * with 0.85 of the throughput.
 */
export const getCurrentRound = (): number => performance.nodeTiming.uvMetricsInfo.loopCount;

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
    const current = getCurrentRound();
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

/** True when the group has not yet started requests for ROUND_MS in this round. */
function isWithin(budget: Budget): boolean {
  const now = performance.now();
  const round = getCurrentRound();
  if (round !== budget.round) {
    budget.round = round;
    budget.since = now;
  }
  return now - budget.since < ROUND_MS;
}

/** Returns the organization and workspace of a path of the data API. */
export function parseGroup(path: string, prefix: string): string {
  const organization = path.indexOf('/', prefix.length);
  const workspace = organization < 0 ? -1 : path.indexOf('/', organization + 1);
  return workspace < 0 ? '' : path.slice(prefix.length, workspace);
}
