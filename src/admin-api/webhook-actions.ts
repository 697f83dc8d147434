// /webhooks/{id}/test, rotate-secret and replay.
import { randomBytes } from 'node:crypto';
import type { Static } from 'typebox';
import { conflict } from '../errors.ts';
import type { Workspace } from '../model/workspace.ts';
import type { Databases } from '../store/databases.ts';
import { redeliverFailed } from '../store/webhook-deliveries.ts';
import type { WebhookSeals } from '../store/webhook-seals.ts';
import {
  findWebhook,
  lockWebhook,
  moveWebhook,
  rotateSecret,
  type Webhook,
  type WebhookPlace,
} from '../store/webhooks.ts';
import { formatPing } from '../webhooks/message.ts';
import { type Receiver, sendMessage } from '../webhooks/send.ts';
import { makeSigningSecret } from '../webhooks/signature.ts';
import { requireValue } from './access.ts';
import { type Body, checkBody } from './body.ts';
import { data, formatTime, respond, respondData } from './response.ts';
import { type AdminRoute, routeMaker, WORKSPACE } from './route.ts';
import {
  DEFAULT_KEEP_HOURS,
  KeepHours,
  REPLAY_BODY,
  type ReplayStart,
  SecretRotated,
  WebhookResponse,
  WebhookTest,
} from './webhook-body.ts';
import { findOldestPlace, findPlaceNow, findPlaceSince } from './webhook-feed.ts';

import {
  isDisabled,
  isRotating,
  loadHeaders,
  makeFindTarget,
  noWebhook,
  requireSecrets,
  showWebhooks,
  WEBHOOK_ID,
  type WebhookServices,
} from './webhook-values.ts';

const PING_ID_BYTES = 18;

export function webhookActionRoutes(services: WebhookServices): AdminRoute[] {
  const { databases, webhooks } = services;
  const route = routeMaker(services);
  const findTarget = makeFindTarget(services);
  return [
    route({
      id: 'webhooks.test',
      method: 'POST',
      path: `${WORKSPACE}/webhooks/:id/test`,
      access: 'workspace',
      changes: 'nothing',
      activity: 'none',
      summary: 'Sends a message that has no event, and says how it was answered',
      description: 'Once, and also to a disabled webhook. Its `type` is `ping`.',
      errors: {
        CONFLICT: 'the webhook lacks a secret or a value of a header after a restore, or the server sends no messages',
      },
      params: WEBHOOK_ID,
      find: findTarget,
      responses: { 200: data(WebhookTest) },
      async handle({ workspace: { organization, slug }, resource: { webhook, seals } }) {
        const { id, name } = webhook;
        if (!webhooks.isOn) throw sendingOff();
        const receiver = toReceiver(webhook, seals);
        const at = formatTime(new Date());
        const { body } = formatPing(`${organization}/${slug}`, { webhook: Number(id), name, at });
        const message = { id: `msg_${randomBytes(PING_ID_BYTES).toString('base64url')}`, attempt: 1, body };
        const { attempt, isDelivered } = await sendMessage(webhooks, receiver, message);
        const { status, error, durationMs, responseBody } = attempt;
        return respondData({ delivered: isDelivered, status, error, durationMs, responseBody });
      },
    }),
    route({
      id: 'webhooks.rotateSecret',
      method: 'POST',
      path: `${WORKSPACE}/webhooks/:id/rotate-secret`,
      access: 'workspace',
      changes: 'nothing',
      activity: 'written',
      summary: 'Gives a webhook another secret, and shows it this once',
      description:
        'For some hours both secrets sign, the new one first. Another rotation ends the older one of them at once.',
      errors: {},
      params: WEBHOOK_ID,
      find: findTarget,
      body: orNothing(KeepHours),
      example: { keepHours: DEFAULT_KEEP_HOURS },
      responses: { 200: data(SecretRotated) },
      async handle({ workspace, resource: { webhook, seals }, body, audit }) {
        const { keepHours = DEFAULT_KEEP_HOURS } = body;
        const secret = makeSigningSecret();
        const until = await audit.change(
          async (session) => {
            await requireValue(lockWebhook(session, workspace.id, webhook.id), () => noWebhook(webhook.id));
            return rotateSecret(session, webhook.id, seals.seal(workspace.id, secret), keepHours);
          },
          () => ({ subject: webhook.name, details: { id: Number(webhook.id), keepHours } }),
        );
        return respondData({ secret, previousSecretUntil: formatTime(until) });
      },
    }),
    route({
      id: 'webhooks.replay',
      method: 'POST',
      path: `${WORKSPACE}/webhooks/:id/replay`,
      access: 'workspace',
      changes: 'nothing',
      activity: 'written',
      summary: 'Lets a webhook go on from an earlier or later change, or sends its failed messages again',
      description:
        'Messages that are sent again have the id that they had. A message under way is given up. Failed messages are sent out of turn.',
      errors: {
        CONFLICT: 'failed messages of a disabled webhook',
        CURSOR_EXPIRED: 'the changes since then are not all kept any more',
      },
      params: WEBHOOK_ID,
      find: findTarget,
      body: REPLAY_BODY,
      example: { since: '2027-01-31T12:00:00Z' },
      responses: { 202: data(WebhookResponse) },
      async handle({ workspace, resource: { webhook: before, ...context }, body: start, audit }) {
        const { id, name, enabled } = before;
        if (start.kind === 'failed' && !enabled) throw isDisabled(name);
        const db = databases.forWorkspace(workspace);
        const place = start.kind === 'failed' ? undefined : await findPlace(start, db, context.workspace);
        const webhook = await audit.change(
          async (session) => {
            await requireValue(lockWebhook(session, workspace.id, id), () => noWebhook(id));
            if (place === undefined) await redeliverFailed(session, id);
            else await moveWebhook(session, id, place);
            return requireValue(findWebhook(session, workspace.id, id), () => noWebhook(id));
          },
          () => ({
            subject: name,
            details: { id: Number(id), from: start.kind === 'since' ? start.time : start.kind },
          }),
        );
        const [response] = await showWebhooks(databases, [webhook], context);
        return respond(202, { data: response! });
      },
    }),
  ];
}

const sendingOff = (): Error =>
  conflict('WEBHOOKS_OFF', 'The server sends no messages of webhooks: it runs with WDA_WEBHOOKS=off');

/** Opens what a request to the receiver needs; 409 if a restore has left out some of it. */
function toReceiver(webhook: Webhook, seals: WebhookSeals): Receiver {
  const { workspaceId, url, secret, previousSecret } = webhook;
  const headers = loadHeaders(webhook, seals);
  requireSecrets(webhook, headers);
  const sealed = [secret, isRotating(webhook) ? previousSecret : null].filter((one) => one !== null);
  return {
    url,
    headers: headers as Readonly<Record<string, string>>,
    secrets: sealed.flatMap((one) => seals.open(workspaceId, one) ?? []),
  };
}

function findPlace(
  start: ReplayStart,
  db: ReturnType<Databases['forWorkspace']>,
  workspace: Workspace,
): Promise<WebhookPlace> {
  if (start.kind === 'since') return findPlaceSince(db, workspace, start.time);
  return start.kind === 'oldest' ? findOldestPlace(db, workspace) : findPlaceNow(db, workspace);
}

/** Returns a body of this shape that may be left out. */
function orNothing<S extends typeof KeepHours>(shape: S): Body<Static<S>> {
  return { shape, read: (raw) => checkBody(raw ?? {}, shape) };
}
