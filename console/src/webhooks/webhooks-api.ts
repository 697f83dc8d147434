// Requests for webhooks and their messages (docs/reference/webhooks.md). Values of filters keep their digits.
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import { stringifySearch } from '../address.ts';
import { Digits, type Json } from '../api/json.ts';
import { request, requestExact } from '../api/request.ts';
import type {
  WebhookDelivery as Delivery,
  WebhookDeliveryWithBody as DeliveryWithBody,
  Webhook as SentWebhook,
  WebhookReplay,
  WebhookSecretRotated,
  WebhookTested,
} from '../api/types.ts';
import { adminPath, type WorkspaceRef } from '../api/workspace.ts';
import type { JsonObject } from '../schema/json-value.ts';

export type { Delivery, DeliveryWithBody, WebhookReplay, WebhookTested };

export interface Webhook extends Omit<SentWebhook, 'filter'> {
  readonly filter: JsonObject | null;
}

const REFETCH_MS = 5000;
// Limit of the webhooks of a workspace.
const ALL = 'size=50';

/** Returns a webhook with plain numbers but for its filter. */
export const parseWebhook = (sent: JsonObject): Webhook =>
  Object.fromEntries(
    Object.entries(sent).map(([name, value]) => [name, value instanceof Digits ? Number(value.text) : value]),
  ) as unknown as Webhook;

const webhooksKey = ({ org, ws }: WorkspaceRef) => ['webhooks', org, ws] as const;

export const webhooksQuery = (workspace: WorkspaceRef) =>
  queryOptions({
    queryKey: webhooksKey(workspace),
    queryFn: async ({ signal }): Promise<readonly Webhook[]> => {
      const path = adminPath(workspace, `/webhooks?${ALL}`);
      return (await requestExact<readonly JsonObject[]>({ path, signal })).data.map(parseWebhook);
    },
    refetchInterval: REFETCH_MS,
  });

export const webhookQuery = (workspace: WorkspaceRef, id: string) =>
  queryOptions({
    queryKey: [...webhooksKey(workspace), id],
    queryFn: async ({ signal }): Promise<Webhook> =>
      parseWebhook((await requestExact<JsonObject>({ path: webhookPath(workspace, id), signal })).data),
    refetchInterval: REFETCH_MS,
  });

export const webhookPath = (workspace: WorkspaceRef, id: string, rest = ''): string =>
  adminPath(workspace, `/webhooks/${encodeURIComponent(id)}${rest}`);

export const deliveriesQuery = (workspace: WorkspaceRef, id: string, state: string | undefined) =>
  infiniteQueryOptions({
    queryKey: [...webhooksKey(workspace), id, 'deliveries', state],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ signal, pageParam }) => {
      const path = webhookPath(workspace, id, `/deliveries${stringifySearch({ state, after: pageParam })}`);
      const { data, meta } = await request<readonly Delivery[]>({ path, signal });
      return { deliveries: data, next: (meta.nextCursor as string | null) ?? undefined };
    },
    getNextPageParam: ({ next }) => next,
    placeholderData: keepPreviousData,
    refetchInterval: REFETCH_MS,
  });

export const deliveryQuery = (workspace: WorkspaceRef, id: string, delivery: string) =>
  queryOptions({
    queryKey: [...webhooksKey(workspace), id, 'delivery', delivery],
    queryFn: async ({ signal }) => {
      const path = webhookPath(workspace, id, `/deliveries/${encodeURIComponent(delivery)}`);
      return (await request<DeliveryWithBody>({ path, signal })).data;
    },
    refetchInterval: REFETCH_MS,
  });

/** Creates a webhook. Returns it with its secret, which is shown this once. */
export async function createWebhook(workspace: WorkspaceRef, body: JsonObject): Promise<Webhook & { secret: string }> {
  const path = adminPath(workspace, '/webhooks');
  const { data } = await requestExact<JsonObject>({ method: 'POST', path, body });
  return { ...parseWebhook(data), secret: String(data.secret) };
}

/** Changes the given members alone. */
export async function updateWebhook(workspace: WorkspaceRef, id: string, body: JsonObject): Promise<Webhook> {
  const { data } = await requestExact<JsonObject>({ method: 'PUT', path: webhookPath(workspace, id), body });
  return parseWebhook(data);
}

export const deleteWebhook = async (workspace: WorkspaceRef, id: string): Promise<void> =>
  void (await request({ method: 'DELETE', path: webhookPath(workspace, id) }));

async function post<T>(workspace: WorkspaceRef, id: string, rest: string, body?: Json | WebhookReplay): Promise<T> {
  return (await request<T>({ method: 'POST', path: webhookPath(workspace, id, rest), body })).data;
}

export const testWebhook = (workspace: WorkspaceRef, id: string): Promise<WebhookTested> =>
  post(workspace, id, '/test');

/** Gives it another secret; both sign for some hours. */
export const rotateSecret = (workspace: WorkspaceRef, id: string, keepHours: number): Promise<WebhookSecretRotated> =>
  post(workspace, id, '/rotate-secret', { keepHours: new Digits(String(keepHours)) });

export const replayWebhook = (workspace: WorkspaceRef, id: string, body: WebhookReplay): Promise<unknown> =>
  post(workspace, id, '/replay', body);

/** Sends a message again, or gives it up. */
export const actOnDelivery = (
  workspace: WorkspaceRef,
  id: string,
  delivery: string,
  action: 'redeliver' | 'discard',
): Promise<Delivery> => post(workspace, id, `/deliveries/${encodeURIComponent(delivery)}/${action}`);
