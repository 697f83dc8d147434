// Settings of a webhook as its form edits them. Pure.
import { Digits, type Json } from '../api/json.ts';
import { isSame, type JsonObject } from '../schema/json-value.ts';
import type { Webhook } from './webhooks-api.ts';

export const TYPES = ['created', 'updated', 'removed', 'schema'] as const;
export type EventType = (typeof TYPES)[number];

export interface Header {
  readonly name: string;
  /** Value to send; null: the stored one, which is never shown. */
  readonly value: string | null;
}

export interface WebhookSettings {
  readonly name: string;
  readonly url: string;
  /** null: all that keep changes. */
  readonly entities: readonly string[] | null;
  readonly types: readonly EventType[];
  /** null: as a list shows them. */
  readonly fields: readonly string[] | null;
  readonly filter: Json | undefined;
  readonly previous: boolean;
  /** Digits as they were typed. */
  readonly maxBatch: string;
  readonly ordering: Webhook['ordering'];
  readonly headers: readonly Header[];
}

export const NEW_WEBHOOK: WebhookSettings = {
  name: '',
  url: '',
  entities: null,
  types: ['created', 'updated', 'removed'],
  fields: null,
  filter: undefined,
  previous: false,
  maxBatch: '1',
  ordering: 'relaxed',
  headers: [],
};

/** Returns the settings of a stored webhook. */
export const toSettings = (webhook: Webhook): WebhookSettings => ({
  ...webhook,
  filter: webhook.filter ?? undefined,
  maxBatch: String(webhook.maxBatch),
  headers: Object.keys(webhook.headers).map((name) => ({ name, value: null })),
});

/** Returns the only entity, which fields and a filter need. */
export const getOnlyEntity = ({ entities }: Pick<WebhookSettings, 'entities'>): string | undefined =>
  entities?.length === 1 ? entities[0] : undefined;

/** Returns the body of a request: what is not filled in stays as it was typed, which the server refuses. */
export function toBody(settings: WebhookSettings): JsonObject {
  const { name, url, entities, types, fields, filter, previous, maxBatch, ordering, headers } = settings;
  const isOne = getOnlyEntity(settings) !== undefined;
  return {
    name,
    url,
    entities,
    types,
    fields: isOne ? fields : null,
    filter: isOne ? (filter ?? null) : null,
    previous,
    maxBatch: /^\d+$/.test(maxBatch) ? new Digits(maxBatch) : maxBatch,
    ordering,
    headers: Object.fromEntries(headers.filter((one) => one.name !== '').map((one) => [one.name, one.value])),
  };
}

/** Returns the members of a body that differ from those of another one. */
export const selectChanges = (body: JsonObject, before: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(body).filter(([name, value]) => !isSame(value, before[name])));
