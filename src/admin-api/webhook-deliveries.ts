// /webhooks/{id}/deliveries: the messages of a webhook with their attempts, to send again or to give up.
import type { Static } from 'typebox';
import { ApiError, badRequest, conflict, notFound, shorten } from '../errors.ts';
import { parseInteger } from '../request/forms.ts';
import { Type } from '../schema/type.ts';
import {
  DELIVERY_STATES,
  type Delivery,
  type DeliveryState,
  discardDelivery,
  findDelivery,
  loadDeliveries,
  redeliver,
} from '../store/webhook-deliveries.ts';
import { lockWebhook, type Webhook } from '../store/webhooks.ts';
import type { WorkspaceSummary } from '../store/workspaces.ts';
import { requireValue } from './access.ts';
import type { Parameter } from './query.ts';
import {
  arrayShape,
  data,
  enumShape,
  formatTime,
  nullableShape,
  objectShape,
  respond,
  respondData,
  Time,
} from './response.ts';
import { type AdminRoute, routeMaker, WORKSPACE } from './route.ts';
import { ATTEMPT_MEMBERS, AttemptError } from './webhook-body.ts';
import { isDisabled, noWebhook, requireWebhook, WEBHOOK_ID, type WebhookServices } from './webhook-values.ts';

const PATH = `${WORKSPACE}/webhooks/:id/deliveries` as const;
const DELIVERY_ID = {
  ...WEBHOOK_ID,
  delivery: Type.String({ description: 'Id of the delivery.', examples: ['d_17'] }),
};

const MEMBERS = {
  id: Type.String({ examples: ['d_17'] }),
  webhookId: Type.String({
    description: 'The header `webhook-id` of all its attempts.',
    examples: ['msg_2b7fJ0h3m1uB'],
  }),
  type: Type.String({ description: 'That of the message.', examples: ['orders.updated'] }),
  events: Type.Integer({ minimum: 0 }),
  state: {
    ...enumShape(...DELIVERY_STATES),
    description: '`failed`: set aside, others are sent after it. `discarded`: given up by an administrator.',
  },
  attempts: Type.Integer({ minimum: 0 }),
  lastStatus: nullableShape(Type.Integer()),
  lastError: AttemptError,
  createdAt: Time,
  deliveredAt: nullableShape(Time),
  nextAttemptAt: nullableShape(Time),
};
const DeliveryResponse = objectShape(MEMBERS, { title: 'WebhookDelivery' });
const DeliveryWithBodyResponse = objectShape(
  {
    ...MEMBERS,
    body: nullableShape(Type.String({ description: 'The text that is sent; null when its changes are gone.' })),
    attemptLog: {
      ...arrayShape(objectShape({ at: Time, ...ATTEMPT_MEMBERS }, { title: 'WebhookAttempt' })),
      description: 'The last attempts.',
    },
  },
  { title: 'WebhookDeliveryWithBody' },
);
const DeliveryListResponse = objectShape({
  data: arrayShape(DeliveryResponse),
  meta: objectShape({
    size: Type.Integer({ minimum: 1 }),
    nextCursor: nullableShape(Type.String({ description: '`after` of the next page; null on the last one.' })),
  }),
});

const DEFAULT_SIZE = 20;
const MAX_SIZE = 200;
const QUERY = {
  state: {
    shape: enumShape(...DELIVERY_STATES),
    read(text) {
      const state = DELIVERY_STATES.find((one) => one === text);
      if (text !== undefined && state === undefined)
        throw badRequest('INVALID_PARAMETER', `state must be one of ${DELIVERY_STATES.join(', ')}`);
      return state;
    },
  } satisfies Parameter<DeliveryState | undefined>,
  size: {
    shape: Type.Integer({ minimum: 1, maximum: MAX_SIZE, default: DEFAULT_SIZE }),
    read: (text: string | undefined): number =>
      text === undefined ? DEFAULT_SIZE : parseInteger('size', text, 1, MAX_SIZE),
  },
  after: {
    shape: Type.String({ description: '`nextCursor` of the page before.', examples: ['d_17'] }),
    read(text) {
      if (text === undefined) return undefined;
      const id = parseDeliveryId(text);
      if (id === undefined) throw badRequest('INVALID_PARAMETER', 'after must be the nextCursor of an answer');
      return id;
    },
  } satisfies Parameter<string | undefined>,
};

export function webhookDeliveryRoutes(services: WebhookServices): AdminRoute[] {
  const {
    databases,
    webhooks: { sending },
  } = services;
  const route = routeMaker(services);
  const findTarget = ({
    workspace,
    params,
  }: {
    readonly workspace: WorkspaceSummary;
    readonly params: { readonly id: string };
  }): Promise<Webhook> => requireWebhook(databases, workspace, params.id);
  const findOne = async (
    context: Parameters<typeof findTarget>[0] & { readonly params: { readonly delivery: string } },
  ) => {
    const webhook = await findTarget(context);
    const { delivery: text } = context.params;
    const id = parseDeliveryId(text);
    if (id === undefined) throw noDelivery(text);
    return {
      webhook,
      delivery: await requireValue(findDelivery(databases.directory, webhook.id, id), () => noDelivery(text)),
    };
  };
  return [
    route({
      id: 'webhooks.deliveries',
      method: 'GET',
      path: PATH,
      access: 'workspace',
      summary: 'The messages of a webhook',
      description: 'The newest first; those of the last days.',
      errors: {},
      params: WEBHOOK_ID,
      query: QUERY,
      find: findTarget,
      responses: { 200: DeliveryListResponse },
      async handle({ resource: { id }, query: { state, size, after } }) {
        const rows = await loadDeliveries(databases.directory, id, { state, before: after, limit: size + 1 });
        const page = rows.slice(0, size).map(toResponse);
        return respond(200, { data: page, meta: { size, nextCursor: rows.length > size ? page.at(-1)!.id : null } });
      },
    }),
    route({
      id: 'webhooks.delivery',
      method: 'GET',
      path: `${PATH}/:delivery`,
      access: 'workspace',
      summary: 'A message of a webhook, with its body and its attempts',
      description: 'The body of one that was delivered is made of its changes again.',
      errors: {},
      params: DELIVERY_ID,
      find: findOne,
      responses: { 200: data(DeliveryWithBodyResponse) },
      async handle({ workspace: { organization, slug }, resource: { webhook, delivery } }) {
        const { firstPosition, lastPosition } = delivery;
        const source = { ...webhook, organization, workspace: slug };
        const range = { first: Number(firstPosition), last: Number(lastPosition) };
        // A webhook whose fields are gone makes no texts.
        const body = delivery.body ?? (await sending.remakeBody(source, range).catch(toNoBody)) ?? null;
        return respondData({ ...toResponse(delivery), body, attemptLog: delivery.attemptLog });
      },
    }),
    route({
      id: 'webhooks.redeliver',
      method: 'POST',
      path: `${PATH}/:delivery/redeliver`,
      access: 'workspace',
      changes: 'nothing',
      activity: 'written',
      summary: 'Sends a message again, out of turn',
      description: 'With the id that it had. A pending one is tried at once.',
      errors: { CONFLICT: 'the webhook is disabled' },
      params: DELIVERY_ID,
      find: findOne,
      responses: { 202: data(DeliveryResponse) },
      async handle({ workspace, resource: { webhook, delivery }, audit }) {
        const requested = await audit.change(
          async (session) => {
            const { enabled } = await requireValue(lockWebhook(session, workspace.id, webhook.id), () =>
              noWebhook(webhook.id),
            );
            if (!enabled) throw isDisabled(webhook.name);
            return requireValue(redeliver(session, webhook.id, delivery.id), () => noDelivery(showId(delivery)));
          },
          () => describeDelivery(webhook, delivery),
        );
        return respond(202, { data: toResponse(requested) });
      },
    }),
    route({
      id: 'webhooks.discard',
      method: 'POST',
      path: `${PATH}/:delivery/discard`,
      access: 'workspace',
      changes: 'nothing',
      activity: 'written',
      summary: 'Gives up a pending message, so that others are sent after it',
      description: 'It can be sent again as long as its changes are kept.',
      errors: { CONFLICT: 'the message is not pending' },
      params: DELIVERY_ID,
      find: findOne,
      responses: { 200: data(DeliveryResponse) },
      async handle({ workspace, resource: { webhook, delivery }, audit }) {
        const discarded = await audit.change(
          async (session) => {
            await requireValue(lockWebhook(session, workspace.id, webhook.id), () => noWebhook(webhook.id));
            return requireValue(discardDelivery(session, webhook.id, delivery.id), () =>
              conflict('NOT_PENDING', `Delivery ${showId(delivery)} is not pending`),
            );
          },
          () => describeDelivery(webhook, delivery),
        );
        return respondData(toResponse(discarded));
      },
    }),
  ];
}

const showId = ({ id }: Pick<Delivery, 'id'>): string => `d_${id}`;

/** Parses the id of a delivery: digits after `d_`; undefined for any other text. */
const parseDeliveryId = (text: string): string | undefined => /^d_(\d{1,18})$/.exec(text)?.[1];

const noDelivery = (text: string): Error =>
  notFound('DELIVERY_NOT_FOUND', `Delivery ${shorten(text)} of this webhook does not exist, or not any more`);

const describeDelivery = ({ id, name }: Webhook, delivery: Delivery) => ({
  subject: name,
  details: { id: Number(id), delivery: showId(delivery), message: delivery.messageId },
});

function toResponse(delivery: Delivery): Static<typeof DeliveryResponse> {
  const { messageId, type, events, state, attempts, lastStatus, lastError } = delivery;
  return {
    id: showId(delivery),
    webhookId: messageId,
    type,
    events,
    state,
    attempts,
    lastStatus,
    lastError,
    createdAt: formatTime(delivery.createdAt),
    deliveredAt: formatTime(delivery.deliveredAt),
    nextAttemptAt: formatTime(delivery.nextAttemptAt),
  };
}

function toNoBody(error: unknown): undefined {
  if (!(error instanceof ApiError) || error.status !== 400) throw error;
}
