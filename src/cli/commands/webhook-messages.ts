// `wda webhook deliveries`, `delivery`, `redeliver`, `discard` and `replay`: the messages of a webhook.
import type { Command } from 'commander';
import type { Webhook, WebhookDelivery, WebhookDeliveryWithBody } from '../../../admin-types/admin-api.d.ts';
import { action, type GlobalOptions, printList } from '../command.ts';
import { usageFailure } from '../failure.ts';
import { printResult } from '../io.ts';
import { formatCount, formatQuantity, renderPairs, renderTable } from '../table.ts';
import { connectTo, findPath, WEBHOOK_HELP } from '../webhook-path.ts';
import { parseFirst } from './records.ts';

const DELIVERY = 'id of the message, as webhook deliveries shows it';

/** Adds the commands to `wda webhook`. */
export function registerMessages(group: Command): void {
  group
    .command('deliveries')
    .description('list the messages of a webhook, the newest first')
    .argument('<webhook>', WEBHOOK_HELP)
    .option('--state <state>', 'pending, delivered, failed or discarded')
    .option('--first <number>', 'number of messages', String(FIRST))
    .action(action(listDeliveries));
  group
    .command('delivery')
    .description('show a message with its attempts and its body')
    .argument('<webhook>', WEBHOOK_HELP)
    .argument('<delivery>', DELIVERY)
    .action(action(showDelivery));
  group
    .command('redeliver')
    .description('send a message again, out of turn')
    .argument('<webhook>', WEBHOOK_HELP)
    .argument('<delivery>', DELIVERY)
    .action(action(postDelivery('redeliver', 'Sending again')));
  group
    .command('discard')
    .description('give up a pending message, so that others are sent after it')
    .argument('<webhook>', WEBHOOK_HELP)
    .argument('<delivery>', DELIVERY)
    .action(action(postDelivery('discard', 'Given up')));
  group
    .command('replay')
    .description('let a webhook go on from another change, or send its failed messages again')
    .argument('<webhook>', WEBHOOK_HELP)
    .option('--since <when>', 'from the first change at or after this date and time, with Z or an offset')
    .option('--from <place>', 'oldest: from the oldest change that is kept; now: leaves out what waits')
    .option('--failed', 'all failed messages again, the oldest first')
    .action(action(replay));
}

const FIRST = 20;
// Limit of a page of the server.
const PAGE = 200;

interface DeliveriesOptions extends GlobalOptions {
  readonly state?: string;
  readonly first: string;
}

async function listDeliveries(id: string, options: DeliveriesOptions): Promise<void> {
  const { state } = options;
  const first = parseFirst(options.first, 'messages');
  const context = connectTo(options);
  const path = `${await findPath(context, id)}/deliveries`;
  const deliveries: WebhookDelivery[] = [];
  for (let after: string | undefined; ; ) {
    const size = Math.min(first - deliveries.length, PAGE);
    const query = [
      ['state', state],
      ['size', size],
      ['after', after],
    ] as const;
    const { data, meta } = await context.client.send<readonly WebhookDelivery[]>('GET', path, { query });
    deliveries.push(...data);
    after = (meta as { readonly nextCursor: string | null }).nextCursor ?? undefined;
    if (after === undefined || deliveries.length >= first) break;
  }
  const head = ['ID', 'CREATED', 'TYPE', 'EVENTS', 'STATE', 'ATTEMPTS', 'LAST ANSWER', 'NEXT ATTEMPT'];
  await printList(options, deliveries, 'No messages', head, (delivery) => [
    delivery.id,
    delivery.createdAt,
    delivery.type,
    delivery.events,
    delivery.state,
    delivery.attempts,
    delivery.lastError ?? delivery.lastStatus,
    delivery.nextAttemptAt,
  ]);
}

const describeDelivery = (delivery: WebhookDelivery): readonly (readonly [string, unknown])[] => [
  ['Id', delivery.id],
  ['webhook-id', delivery.webhookId],
  ['Type', delivery.type],
  ['Events', delivery.events],
  ['State', delivery.state],
  ['Created', delivery.createdAt],
  ['Delivered', delivery.deliveredAt],
  ['Next attempt', delivery.nextAttemptAt],
];

async function showDelivery(id: string, delivery: string, options: GlobalOptions): Promise<void> {
  const context = connectTo(options);
  const path = `${await findPath(context, id)}/deliveries/${encodeURIComponent(delivery)}`;
  const { data } = await context.client.send<WebhookDeliveryWithBody>('GET', path);
  const head = ['AT', 'STATUS', 'ERROR', 'DURATION', 'ANSWER'];
  const attempts = data.attemptLog.map((attempt) => [
    attempt.at,
    attempt.status,
    attempt.error,
    `${formatCount(attempt.durationMs)} ms`,
    attempt.responseBody,
  ]);
  await printResult(options, data, () =>
    [
      renderPairs(describeDelivery(data)),
      attempts.length === 0 ? 'No attempts yet' : renderTable(head, attempts),
      data.body ?? 'The body is gone with its changes',
    ].join('\n\n'),
  );
}

const postDelivery =
  (verb: 'redeliver' | 'discard', done: string) =>
  async (id: string, delivery: string, options: GlobalOptions): Promise<void> => {
    const context = connectTo(options);
    const path = `${await findPath(context, id)}/deliveries/${encodeURIComponent(delivery)}/${verb}`;
    const { data } = await context.client.send<WebhookDelivery>('POST', path);
    await printResult(options, data, () => `${done}: ${data.id} (${data.type}, ${data.webhookId})`);
  };

interface ReplayOptions extends GlobalOptions {
  readonly since?: string;
  readonly from?: string;
  readonly failed?: boolean;
}

async function replay(id: string, options: ReplayOptions): Promise<void> {
  const { since, from, failed } = options;
  const body = Object.fromEntries(Object.entries({ since, from, failed }).filter(([, value]) => value !== undefined));
  if (Object.keys(body).length !== 1) throw usageFailure('Give one of --since, --from and --failed');
  const context = connectTo(options);
  const { data } = await context.client.send<Webhook>('POST', `${await findPath(context, id)}/replay`, { body });
  await printResult(options, data, () =>
    failed
      ? `Webhook ${data.name} sends its failed messages again`
      : `Webhook ${data.name} goes on from there: ${formatQuantity(data.pending, 'event')} to send`,
  );
}
