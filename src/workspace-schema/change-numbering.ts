// Gives positions to committed changes of a workspace, and counts for metrics what got one in this process: each change gets
// its position once, in one of the processes.
import type { HistogramMetric, Metric } from '../metric.ts';
import { numberChanges as renderNumbering } from '../sql/change-statements.ts';
import type { Query } from '../sql/fragment.ts';

/** Runs a statement that returns one row; values as PostgreSQL's text or as the driver has them. */
export type RunRow = (query: Query) => Promise<readonly unknown[] | undefined>;

// Changes that get positions in one transaction: some 100 ms.
const NUMBERED_AT_ONCE = 20_000;

const counts = { created: 0, updated: 0, removed: 0, other: 0 };
const observers: ((seconds: number) => void)[] = [];

/** Gives positions to everything that is committed, in transactions of bounded work. */
export async function numberChanges(run: RunRow, schema: string): Promise<void> {
  for (;;) {
    const startedAt = performance.now();
    const [more, created, updated, removed, others] = (await run(renderNumbering(schema, NUMBERED_AT_ONCE))) ?? [];
    counts.created += Number(created);
    counts.updated += Number(updated);
    counts.removed += Number(removed);
    counts.other += Number(others);
    const seconds = (performance.now() - startedAt) / 1000;
    for (const observe of observers) observe(seconds);
    if (more !== 'true') return;
  }
}

/** Metrics of this process. */
export const numberingMetrics: readonly (Metric | HistogramMetric)[] = [
  {
    name: 'wda_changes_total',
    help: 'Changes of records of entities that keep changes, and other events about these',
    read: () => counts,
  },
  {
    name: 'wda_changes_numbering_seconds',
    help: 'Time of a statement that gives positions to new changes',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    connect: (observe) => void observers.push(observe),
  },
];
