// Measures how many changes wait for webhooks, and for how long, for metrics.
import type { Database } from '../database/pool.ts';
import type { Metric } from '../metric.ts';
import { measureLag } from '../sql/feed.ts';
import { countStates, loadWaiting, type WaitingWebhook } from '../store/webhook-work.ts';

export interface WebhookLag {
  readonly measure: () => Promise<void>;
  readonly metrics: readonly Metric[];
}

// Webhooks that are looked at.
const MAX_WEBHOOKS = 100;

/** `forWorkspace`: returns the database with the tables of a workspace. */
export function makeWebhookLag(
  db: Database,
  forWorkspace: (workspace: { readonly id: string }) => Database,
): WebhookLag {
  let states: Readonly<Record<string, number>> = {};
  let events = 0;
  let seconds = 0;

  async function measureOne({ workspaceId, schema, position }: WaitingWebhook) {
    const options = { tenant: workspaceId, expected: 'unknown' } as const;
    // The workspace may be gone, or have no changes at all.
    const rows = await forWorkspace({ id: workspaceId })
      .run(measureLag(schema, position), 'read', options)
      .catch(() => []);
    return { events: Number(rows[0]?.[0] ?? 0), seconds: Number(rows[0]?.[1] ?? 0) };
  }

  return {
    async measure() {
      states = await countStates(db);
      const sizes = [];
      for (const webhook of await loadWaiting(db, MAX_WEBHOOKS)) sizes.push(await measureOne(webhook));
      events = sizes.reduce((sum, one) => sum + one.events, 0);
      seconds = Math.max(0, ...sizes.map((one) => one.seconds));
    },
    metrics: [
      { name: 'wda_webhooks', help: 'Webhooks by state', label: 'state', aggregator: 'max', read: () => states },
      {
        name: 'wda_webhook_lag_events',
        help: 'Changes that wait for webhooks, at most 10,000 for each',
        aggregator: 'max',
        read: () => events,
      },
      {
        name: 'wda_webhook_lag_seconds',
        help: 'Age of the oldest change that waits for a webhook',
        aggregator: 'max',
        read: () => seconds,
      },
    ],
  };
}
