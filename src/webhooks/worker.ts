// The part of a process that sends messages of webhooks: takes leases, runs turns, as many at once as it may, and gives the
// leases back at its end.
import { setTimeout as sleep } from 'node:timers/promises';
import type { EventReader } from '../data-api/event-reader.ts';
import type { Metric } from '../metric.ts';
import { type Assignment, claimWebhooks, countEnabled, releaseWebhook, renewLeases } from '../store/webhook-work.ts';
import type { Attempt, Outcome } from './send.ts';
import { runTurn, type TurnDeps } from './turn.ts';

export interface WebhookWorker {
  /** Starts turns of webhooks that have something to do. Called every second. */
  readonly poll: () => Promise<void>;
  /** Prolongs the leases of this process. Called every few seconds. */
  readonly renew: () => Promise<void>;
  /** Ends all turns: requests under way have the time to end, then they are cut. */
  readonly close: (graceMs: number) => Promise<void>;
  readonly metrics: readonly Metric[];
}

export interface WorkerDeps extends Omit<TurnDeps, 'onAttempt' | 'read'> {
  readonly reader: EventReader;
  /** Requests under way at once. */
  readonly parallel: number;
  /** Whether the tables of workspaces lie on nodes, where the numbers of their changes are not seen. */
  readonly hasNodes: () => boolean;
  readonly log: Record<'info' | 'warn', (message: string, facts: Record<string, unknown>) => void>;
}

// Requests of one workspace under way at once.
const PER_WORKSPACE = 4;
// A burst of writes is one look for webhooks.
const GATHER_MS = 25;
const WATCH_MS = 5000;

interface Running {
  readonly assignment: Assignment;
  readonly end: Promise<void>;
}

export function makeWebhookWorker(deps: WorkerDeps): WebhookWorker {
  const { db, reader, parallel, log } = deps;
  const running = new Map<string, Running>();
  const attempts = { delivered: 0, failed: 0 };
  const ending = new AbortController();
  let isEnding = false;
  let isWaiting = false;
  /** Enabled webhooks by workspace. */
  let watched: ReadonlyMap<string, number> = new Map();
  let watchedAt = Number.NEGATIVE_INFINITY;
  let claiming: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  const turnDeps: TurnDeps = {
    ...deps,
    read: reader.read,
    onAttempt(assignment, outcome, retryMs) {
      attempts[outcome.isDelivered ? 'delivered' : 'failed']++;
      if (!outcome.isDelivered)
        log.info('a message of a webhook was not delivered', describe(assignment, outcome, retryMs));
    },
  };

  const count = (workspaceId: string): number =>
    [...running.values()].filter(({ assignment }) => assignment.workspaceId === workspaceId).length;

  function start(assignment: Assignment): void {
    const options = { signal: ending.signal, isEnding: () => isEnding, isCrowded: () => isWaiting };
    const end = runTurn(turnDeps, assignment, options).finally(() => {
      running.delete(assignment.id);
      if (isWaiting) schedule();
    });
    running.set(assignment.id, { assignment, end });
  }

  function schedule(): void {
    if (isEnding || timer !== undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      claim().catch(() => undefined);
    }, GATHER_MS).unref();
  }

  /** Takes leases one time after the other. */
  function claim(): Promise<void> {
    claiming ??= claimAll().finally(() => {
      claiming = undefined;
    });
    return claiming;
  }

  async function claimAll(): Promise<void> {
    for (;;) {
      const limit = parallel - running.size;
      const workspaces = new Set([...running.values()].map(({ assignment }) => assignment.workspaceId));
      const full = [...workspaces].filter((id) => count(id) >= PER_WORKSPACE);
      isWaiting = limit <= 0 || full.length > 0;
      if (isEnding || limit <= 0) return;
      const assignments = await claimWebhooks(db, { limit, busy: [...running.keys()], full, isBlind: deps.hasNodes() });
      let isOver = false;
      for (const assignment of assignments) {
        if (!isEnding && count(assignment.workspaceId) < PER_WORKSPACE) start(assignment);
        else {
          isOver = true;
          await releaseWebhook(db, assignment, { dueMs: 0 });
        }
      }
      if (!isOver || isEnding) return;
    }
  }

  reader.onWrite((workspaceId) => {
    const total = watched.get(workspaceId) ?? 0;
    if (total > 0 && count(workspaceId) < Math.min(total, PER_WORKSPACE)) schedule();
  });

  return {
    async poll() {
      if (performance.now() - watchedAt > WATCH_MS) {
        watched = await countEnabled(db);
        watchedAt = performance.now();
      }
      await claim();
    },
    async renew() {
      const held = [...running.values()].map(({ assignment }) => assignment);
      if (held.length > 0) await renewLeases(db, held);
    },
    async close(graceMs) {
      isEnding = true;
      clearTimeout(timer);
      await claiming?.catch(() => undefined);
      const all = Promise.all([...running.values()].map(({ end }) => end));
      await Promise.race([all, sleep(graceMs, undefined, { ref: false })]);
      ending.abort(new Error('the server is shutting down'));
      await all;
    },
    metrics: [
      {
        name: 'wda_webhook_attempts_total',
        help: 'Requests sent to receivers of webhooks, by their result',
        label: 'result',
        read: () => ({ ...attempts }),
      },
      { name: 'wda_webhook_leases', help: 'Webhooks for which this process sends', read: () => running.size },
    ],
  };
}

/** Returns what the log says of a failed attempt: no bodies, secrets and paths. */
function describe(
  { id, organization, workspace, url }: Assignment,
  { attempt }: Outcome,
  retryMs: number | undefined,
): Record<string, unknown> {
  const { status, error, durationMs }: Attempt = attempt;
  return {
    webhook: id,
    workspace: `${organization}/${workspace}`,
    host: URL.parse(url)?.host ?? null,
    status,
    error,
    durationMs,
    nextMs: retryMs ?? null,
  };
}
