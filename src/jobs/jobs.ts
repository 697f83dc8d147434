// Runs background jobs at intervals, one turn after the other, from start() to stop(). A failure is logged and the next
// turn tries again.
import { setTimeout as sleep } from 'node:timers/promises';
import { getSqlState, toOutage } from '../database/errors.ts';
import type { Database, Session } from '../database/pool.ts';
import { isLockConflict } from '../database/transaction.ts';
import type { Metric } from '../metric.ts';
import { runExclusively } from './exclusive.ts';

interface Interval {
  /** A few words with dashes, for logs and metrics. */
  readonly name: string;
  /** Milliseconds from the end of a turn to the next; a function is called after each turn. */
  readonly everyMs: number | (() => number);
}

/** A job that runs in every process: it works on the memory of the process, or takes its locks itself. */
export interface ProcessJob extends Interval {
  readonly scope: 'process';
  readonly run: () => Promise<unknown>;
}

/**
 * A job that runs in one process of the installation at a time, in a transaction that holds the job's lock in `db`. For
 * work of seconds at most: an open transaction keeps PostgreSQL from removing dead rows.
 */
export interface InstallationJob extends Interval {
  readonly scope: 'installation';
  readonly db: Database;
  readonly run: (session: Session) => Promise<unknown>;
}

export type Job = ProcessJob | InstallationJob;

export interface Jobs {
  /** Starts the jobs, each after its first pause. Further calls do nothing. */
  start(): void;
  /** Adds jobs, which run from now or from start() on. */
  add(jobs: readonly Job[]): void;
  /** Starts no more turns; resolves when the running ones have ended, after a second at most. */
  stop(): Promise<void>;
  /** Returns the number of started and failed turns by the name of the job. */
  stats(): JobStats;
}

export interface JobStats {
  readonly runs: Readonly<Record<string, number>>;
  readonly failures: Readonly<Record<string, number>>;
}

export interface JobsOptions {
  readonly jobs: readonly Job[];
  readonly log: Record<'debug' | 'error', (message: string, facts: Record<string, unknown>) => void>;
}

// Each pause is longer or shorter by up to a tenth, so that processes that start together do not query the database
// together.
const JITTER = 0.1;
const STOP_MS = 1000;

interface JobState {
  readonly job: Job;
  runs: number;
  failures: number;
  /** Whether a turn has failed for a lasting reason, and none has succeeded since. */
  isFailing: boolean;
  timer: NodeJS.Timeout | undefined;
  running: Promise<void> | undefined;
}

export function makeJobs({ jobs, log }: JobsOptions): Jobs {
  const makeState = (job: Job): JobState => ({
    job,
    runs: 0,
    failures: 0,
    isFailing: false,
    timer: undefined,
    running: undefined,
  });
  const states = jobs.map(makeState);
  let isStarted = false;
  let isStopped = false;

  function schedule(state: JobState): void {
    if (isStopped) return;
    state.timer = setTimeout(() => {
      state.running = runOnce(state).then(() => schedule(state));
    }, getPauseMs(state.job)).unref();
  }

  async function runOnce(state: JobState): Promise<void> {
    state.runs++;
    try {
      await run(state.job);
      state.isFailing = false;
    } catch (error) {
      state.failures++;
      logFailure(state, error);
    }
  }

  /**
   * Logs the first of consecutive failures as an error. An unavailable database is reported by the requests that need
   * it.
   */
  function logFailure(state: JobState, error: unknown): void {
    const level = isTransient(error) || state.isFailing ? 'debug' : 'error';
    state.isFailing ||= level === 'error';
    log[level]('a job in the background failed', { job: state.job.name, error: toOutage(error).detail });
  }

  const collectByName = (read: (state: JobState) => number): Record<string, number> =>
    Object.fromEntries(states.map((state) => [state.job.name, read(state)]));
  return {
    start() {
      if (isStarted) return;
      isStarted = true;
      for (const state of states) schedule(state);
    },
    add(more) {
      const added = more.map(makeState);
      states.push(...added);
      if (isStarted) for (const state of added) schedule(state);
    },
    async stop() {
      isStopped = true;
      for (const { timer } of states) clearTimeout(timer);
      const allFinished = Promise.all(states.map(({ running }) => running));
      await Promise.race([allFinished, sleep(STOP_MS, undefined, { ref: false })]);
    },
    stats: () => ({ runs: collectByName(({ runs }) => runs), failures: collectByName(({ failures }) => failures) }),
  };
}

export const getJobMetrics = ({ stats }: Jobs): readonly Metric[] => [
  { name: 'wda_job_runs_total', help: 'Runs of background jobs', read: () => stats().runs },
  {
    name: 'wda_job_failures_total',
    help: 'Failed runs of background jobs',
    read: () => stats().failures,
  },
];

function run(job: Job): Promise<unknown> {
  switch (job.scope) {
    case 'process':
      return job.run();
    case 'installation':
      return runExclusively(job.db, job.name, job.run);
    default:
      return job satisfies never;
  }
}

/** Returns whether the next turn may succeed. A full disk (53100) needs an operator. */
const isTransient = (error: unknown): boolean =>
  isLockConflict(error) || (toOutage(error).isTransient && getSqlState(error) !== '53100');

function getPauseMs({ everyMs }: Job): number {
  const milliseconds = typeof everyMs === 'number' ? everyMs : everyMs();
  return milliseconds * (1 - JITTER + 2 * JITTER * Math.random());
}
