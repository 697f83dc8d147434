// Events of a feed as JSON Schemas, and the messages of webhooks, which have them, as the `webhooks` of a document (OpenAPI
// Specification 3.1.1).
import type { JsonSchema } from '../model/field-types.ts';
import { ID_SCHEMA } from '../request/forms.ts';
import { EVENT_TYPES } from '../request/parameters.ts';
import type { Part } from './error-responses.ts';
import { schemaNames, schemaRef } from './names.ts';

const TEXT = { type: 'string' };
const TIME = { type: 'string', format: 'date-time' };
const NAMES = { type: 'array', items: TEXT };

/** Returns the components for events of the entity's records. `image`: the record before or after a change. */
export function eventSchemas(entity: string, image: JsonSchema): Readonly<Record<string, JsonSchema>> {
  const names = schemaNames(entity);
  const record = schemaRef(names.image);
  const makeEvent = (type: string, members: Part): JsonSchema => ({
    type: 'object',
    required: ['id', 'type', 'entity', 'recordId', 'at', 'transaction'],
    properties: {
      id: TEXT,
      type: { const: type },
      cause: { enum: ['created', 'changed', 'deleted'] },
      entity: { const: entity },
      recordId: ID_SCHEMA,
      at: TIME,
      transaction: TEXT,
      ...members,
      truncated: { const: true },
      redacted: { const: true },
      actor: { anyOf: [schemaRef('wda.Actor'), { type: 'null' }] },
    },
  });
  return {
    [names.image]: image,
    [names.created]: makeEvent('created', { record, unknown: NAMES, version: TEXT }),
    [names.updated]: makeEvent('updated', { changed: NAMES, record, previous: record, unknown: NAMES, version: TEXT }),
    [names.removed]: makeEvent('removed', { previous: record, unknown: NAMES }),
    [names.event]: {
      oneOf: EVENT_TYPES.map((type) => schemaRef(names[type])),
      discriminator: {
        propertyName: 'type',
        mapping: Object.fromEntries(EVENT_TYPES.map((type) => [type, schemaRef(names[type]).$ref])),
      },
    },
  };
}

/** Returns a schema of the events of the entities, also of those about the entities themselves. */
export const anyEvent = (entities: readonly string[]): JsonSchema => ({
  anyOf: [...entities.map((entity) => schemaRef(schemaNames(entity).event)), schemaRef('wda.ControlEvent')],
});

/** Headers of the messages of webhooks. */
export const MESSAGE_HEADERS = ['WebhookId', 'WebhookTimestamp', 'WebhookSignature'] as const;

/** Returns the messages about records of an entity, by their types. `parameters`: references to MESSAGE_HEADERS. */
export function entityWebhooks(entity: string, parameters: readonly Part[]): Readonly<Record<string, Part>> {
  const names = schemaNames(entity);
  const control = ['schema', 'reset', 'ended'].map((type) => `${entity}.${type}`);
  return {
    ...Object.fromEntries(
      EVENT_TYPES.map((type) => {
        const name = `${entity}.${type}`;
        return [name, makeMessage(name, `A record was ${type}`, { const: name }, schemaRef(names[type]), parameters)];
      }),
    ),
    [`${entity}.control`]: makeMessage(
      `${entity}.control`,
      'The entity itself, or many of its records',
      { enum: control },
      schemaRef('wda.ControlEvent'),
      parameters,
    ),
  };
}

/** Returns the messages of a workspace: several events at once, and the test of a receiver. */
export function workspaceWebhooks(
  entities: readonly string[],
  parameters: readonly Part[],
): Readonly<Record<string, Part>> {
  const webhook = {
    type: 'object',
    required: ['webhook', 'name'],
    properties: { webhook: { type: 'integer' }, name: TEXT },
  };
  const batch = { type: 'array', items: anyEvent(entities) };
  return {
    changes: makeMessage('changes', 'Several events', { const: 'changes' }, batch, parameters),
    ping: makeMessage('ping', 'Test of the receiver', { const: 'ping' }, webhook, parameters),
  };
}

function makeMessage(name: string, summary: string, type: Part, data: JsonSchema, parameters: readonly Part[]): Part {
  const schema = {
    type: 'object',
    required: ['type', 'timestamp', 'workspace', 'data'],
    properties: { type, timestamp: TIME, workspace: TEXT, data },
  };
  const operation = {
    operationId: `webhook.${name}`,
    summary,
    security: [],
    parameters,
    requestBody: { required: true, content: { 'application/json': { schema } } },
    responses: {
      '2XX': { description: 'It has arrived.' },
      410: { description: 'The webhook is disabled.' },
      default: { description: 'It is sent again later.' },
    },
  };
  return { post: operation };
}
