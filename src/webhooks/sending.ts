// Everything that sends messages of webhooks in this process, from the settings of the server.
import type { Config } from '../config.ts';
import type { EventReader } from '../data-api/event-reader.ts';
import type { HttpClient } from '../http-client/http-client.ts';
import type { Metric } from '../metric.ts';
import { insertActivity } from '../store/activity.ts';
import type { Databases } from '../store/databases.ts';
import { type Assignment, type Range, removeDeliveries } from '../store/webhook-work.ts';
import { ONE_DATABASE } from '../topology/topology.ts';
import { makeWebhookLag } from './lag.ts';
import { type MakeMessageId, type MessageSource, makeMessageIds, remakeBody } from './outgoing.ts';
import { makeWebhookWorker, type WebhookWorker, type WorkerDeps } from './worker.ts';

export interface WebhookSending extends Pick<WebhookWorker, 'poll' | 'renew' | 'close'> {
  readonly measure: () => Promise<void>;
  /** Removes messages whose time in the log is over, some at once. */
  readonly sweep: () => Promise<void>;
  /** Milliseconds until the next sweep: fewer while there are messages left. */
  readonly sweepPauseMs: () => number;
  /** Makes the text of a message again; undefined when its changes are gone. */
  readonly remakeBody: (source: MessageSource, range: Range) => Promise<string | undefined>;
  readonly metrics: readonly Metric[];
}

export interface WebhookSendingDeps {
  readonly config: Config;
  readonly databases: Databases;
  readonly reader: EventReader;
  readonly client: HttpClient;
  readonly seals: WorkerDeps['seals'];
  /** Returns the secret that ids of messages follow from. */
  readonly loadSecret: () => Promise<string>;
  readonly log: WorkerDeps['log'];
}

const SWEEP_MS = 60_000;
const SWEEP_ON_MS = 1000;

export function makeWebhookSending(deps: WebhookSendingDeps): WebhookSending {
  const { config, databases, reader, client, seals, loadSecret, log } = deps;
  const db = databases.directory;
  const lag = makeWebhookLag(db, databases.forWorkspace);
  let makeId: MakeMessageId | undefined;
  let isMore = false;

  async function onDisabled({ id, name, workspaceId, organization, workspace, disabledReason }: Assignment) {
    log.warn('a webhook was disabled', {
      webhook: id,
      workspace: `${organization}/${workspace}`,
      reason: disabledReason,
    });
    await insertActivity(db, {
      actor: { kind: 'server', id: 'server', name: 'server' },
      action: 'webhooks.disable',
      organization,
      workspace: { id: workspaceId, slug: workspace },
      entity: null,
      subject: name,
      details: { id: Number(id), reason: disabledReason },
    });
  }

  const worker = makeWebhookWorker({
    db,
    client,
    reader,
    timeoutMs: config.webhookTimeoutMs,
    parallel: config.webhookParallel,
    retrySeconds: config.webhookRetrySeconds,
    disableHours: config.webhookDisableHours,
    seals,
    async makeId() {
      makeId ??= makeMessageIds(await loadSecret());
      return makeId;
    },
    now: () => Date.now(),
    random: Math.random,
    hasNodes: () => databases.topology !== ONE_DATABASE,
    onDisabled,
    log,
  });
  return {
    ...worker,
    measure: lag.measure,
    async sweep() {
      isMore = await removeDeliveries(db, config.webhookLogDays);
    },
    remakeBody: async (source, range) => (await remakeBody(reader.read, source, range))?.body,
    sweepPauseMs: () => (isMore ? SWEEP_ON_MS : SWEEP_MS),
    metrics: [...worker.metrics, ...lag.metrics],
  };
}
