// Bodies and answers of /webhooks: shapes, and the mistakes that a shape cannot describe.
import type { Static } from 'typebox';
import { ApiError } from '../errors.ts';
import { parseDateTime } from '../model/date-time.ts';
import { isStorableJson } from '../model/exact-json.ts';
import type { Workspace } from '../model/workspace.ts';
import { MAX_ENTITIES } from '../schema/format.ts';
import { hint, type Report } from '../schema/report.ts';
import { Type } from '../schema/type.ts';
import type { WebhookHeaders } from '../store/webhook-seals.ts';
import type { WebhookType } from '../store/webhooks.ts';
import { NOT_STORABLE, refinedBody } from './body.ts';
import { CreatedBy, DisplayName } from './names.ts';
import { enumShape, Id, nullableShape, objectShape, Time } from './response.ts';
import { ReachedNames, resolveEntityIds } from './scopes.ts';
import { planWebhookViews, type WebhookSelection } from './webhook-feed.ts';

const MAX_HEADERS = 20;
const MAX_FILTER_BYTES = 16_384;
export const DEFAULT_KEEP_HOURS = 24;

const Url = Type.String({
  minLength: 1,
  maxLength: 2048,
  description: 'Where messages are sent, by POST. Without user, password and fragment.',
  examples: ['https://erp.example.com/hooks/shop'],
});
const Types = {
  items: { type: 'string', enum: ['created', 'updated', 'removed', 'schema'] },
  description: 'Events that are sent; `reset` and `ended` always are.',
};
const Fields = {
  items: { type: 'string' },
  description: 'Fields that events show, of one entity. null: as a list shows them without `fields`.',
};
const Filter = { description: 'A filter as of `_query` on own fields, of one entity. null: all records.' };
const MaxBatch = {
  minimum: 1,
  maximum: 100,
  description: 'Events of one message, at most; above 1 a message has a list.',
};
const Ordering = {
  ...enumShape('relaxed', 'strict'),
  description: '`strict`: nothing is sent after a message that fails. `relaxed`: one that fails for long is set aside.',
};
const Previous = { description: 'Whether events show the values before.' };

const OPTIONAL_MEMBERS = {
  entities: Type.Optional(
    Type.Unsafe<readonly string[] | null>({
      type: ['array', 'null'],
      items: { type: 'string' },
      minItems: 1,
      maxItems: MAX_ENTITIES,
      uniqueItems: true,
      description: 'Names of entities that keep changes. null or left out: all that do, now and later.',
    }),
  ),
  types: Type.Optional(
    Type.Unsafe<readonly WebhookType[]>({ type: 'array', minItems: 1, uniqueItems: true, ...Types }),
  ),
  fields: Type.Optional(
    Type.Unsafe<readonly string[] | null>({ type: ['array', 'null'], minItems: 1, uniqueItems: true, ...Fields }),
  ),
  filter: Type.Optional(Type.Unsafe<object | null>({ type: ['object', 'null'], ...Filter })),
  previous: Type.Optional(Type.Boolean(Previous)),
  maxBatch: Type.Optional(Type.Integer(MaxBatch)),
  ordering: Type.Optional(Type.Unsafe<'relaxed' | 'strict'>(Ordering)),
  headers: Type.Optional(
    Type.Unsafe<WebhookHeaders>({
      type: 'object',
      additionalProperties: { type: ['string', 'null'] },
      maxProperties: MAX_HEADERS,
      description:
        'Headers of each request, such as a credential of the receiver. Values are never shown again: null keeps a value.',
    }),
  ),
  enabled: Type.Optional(Type.Boolean({ description: 'false stops it where it is, true goes on from there.' })),
};

export const NewWebhook = objectShape({ name: DisplayName, url: Url, ...OPTIONAL_MEMBERS }, { title: 'NewWebhook' });
export const WebhookChange = objectShape(
  { name: Type.Optional(DisplayName), url: Type.Optional(Url), ...OPTIONAL_MEMBERS },
  {
    title: 'WebhookChange',
    description: 'Members that are left out keep their values; `headers` is replaced as a whole.',
  },
);

export type WebhookInput = Static<typeof WebhookChange>;

export const WEBHOOK_MEMBERS = {
  id: Id,
  name: Type.String(),
  url: Type.String(),
  entities: ReachedNames,
  types: Type.Unsafe<readonly WebhookType[]>({ type: 'array', ...Types }),
  fields: Type.Unsafe<readonly string[] | null>({ type: ['array', 'null'], ...Fields }),
  filter: Type.Unsafe<unknown>({ type: ['object', 'null'], ...Filter }),
  previous: Type.Boolean(Previous),
  maxBatch: Type.Integer(MaxBatch),
  ordering: Type.Unsafe<'relaxed' | 'strict'>(Ordering),
  headers: Type.Unsafe<Readonly<Record<string, null>>>({
    type: 'object',
    additionalProperties: { type: 'null' },
    description: 'Names of the headers; their values are not shown.',
  }),
  enabled: Type.Boolean(),
  state: {
    ...enumShape('ok', 'failing', 'disabled'),
    description: '`failing`: the last attempt has failed, and there will be another one.',
  },
  disabledReason: {
    ...nullableShape(enumShape('administrator', 'failing', 'gone', 'restored', 'invalid')),
    description:
      'Why it is disabled: by an administrator, after failures for long, as the receiver answered 410, as it was restored, or as an entity or a field of its filter is gone.',
  },
  previousSecretUntil: nullableShape(Time),
  pending: Type.Integer({ minimum: 0, description: 'Events that wait, 10,000 at most.' }),
  oldestPendingAt: nullableShape(Time),
  lastAttemptAt: nullableShape(Time),
  lastStatus: nullableShape(Type.Integer({ description: 'null: the last attempt had no answer.' })),
  nextAttemptAt: nullableShape(Time),
  createdAt: Time,
  createdBy: CreatedBy,
};
export const WebhookResponse = objectShape(WEBHOOK_MEMBERS, { title: 'Webhook' });

const WebhookSecret = Type.String({
  description: 'Signs its messages (Standard Webhooks). It is shown this once.',
  examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
});
export const WebhookCreated = objectShape({ ...WEBHOOK_MEMBERS, secret: WebhookSecret }, { title: 'WebhookCreated' });
export const KeepHours = objectShape(
  {
    keepHours: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 168,
        description: 'Hours in which the secret so far signs as well. Left out: 24.',
      }),
    ),
  },
  { title: 'SecretRotation' },
);
export const SecretRotated = objectShape(
  {
    secret: WebhookSecret,
    previousSecretUntil: nullableShape({ ...Time, description: 'Until then both secrets sign.' }),
  },
  { title: 'WebhookSecretRotated' },
);

const ATTEMPT_ERRORS = [
  'TIMEOUT',
  'DNS_FAILED',
  'CONNECTION_FAILED',
  'TLS_FAILED',
  'ADDRESS_REFUSED',
  'REDIRECT_REFUSED',
  'BAD_RESPONSE',
] as const;
export const AttemptError = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  enum: [...ATTEMPT_ERRORS, null],
  description: 'Why there is no answer, or none that counts.',
});
export const ATTEMPT_MEMBERS = {
  status: nullableShape(Type.Integer({ description: 'Status of the answer.' })),
  error: AttemptError,
  durationMs: Type.Integer({ minimum: 0 }),
  responseBody: nullableShape(
    Type.String({ description: 'The first 2,048 bytes; null without an answer, and for one from a private address.' }),
  ),
};

export const WebhookTest = objectShape(
  {
    delivered: Type.Boolean({ description: 'Whether the status is one of 200 to 299.' }),
    ...ATTEMPT_MEMBERS,
  },
  { title: 'WebhookTested' },
);

export const Replay = objectShape(
  {
    since: Type.Optional(Type.String({ description: 'From the first change at or after this time on.' })),
    from: Type.Optional(
      Type.Unsafe<'oldest' | 'now'>({
        ...enumShape('oldest', 'now'),
        description: 'From the oldest change that is kept, or from now on.',
      }),
    ),
    failed: Type.Optional(
      Type.Unsafe<true>({ type: 'boolean', enum: [true], description: 'All failed messages again, the oldest first.' }),
    ),
  },
  { title: 'WebhookReplay', description: 'One of these members.' },
);

/** From where a webhook goes on; `failed`: its failed messages again. */
export type ReplayStart =
  | { readonly kind: 'failed' | 'oldest' | 'now' }
  | { readonly kind: 'since'; readonly time: string };

export const REPLAY_BODY = refinedBody(Replay, (input, report): ReplayStart => {
  const { since, from } = input;
  if (Object.keys(input).length !== 1) report([], 'INVALID', 'must have one member: since, from or failed');
  if (since === undefined) return { kind: from ?? 'failed' };
  const time = parseDateTime(since);
  if (time === undefined) report(['since'], 'INVALID', 'must be an ISO 8601 datetime with Z or an offset');
  return { kind: 'since', time: time ?? '' };
});

/* ---- what shapes do not describe ---- */

// RFC 9110 section 5.6.2.
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
const HEADER_VALUE = /^[\x21-\x7e]([\x20-\x7e]{0,1022}[\x21-\x7e])?$/;
// Headers of the message, and headers of the connection (RFC 9110 section 7.6.1).
const OWN_HEADERS =
  /^(host|content-.*|connection|transfer-encoding|webhook-.*|user-agent|keep-alive|proxy-.*|te|trailer|upgrade|expect|accept-encoding)$/i;

/** Reports headers that may not be configured, and those without a value. `stored`: those so far. */
export function parseHeaders(headers: WebhookHeaders, stored: WebhookHeaders, report: Report): WebhookHeaders {
  const values = new Map(Object.entries(stored).map(([name, value]) => [name.toLowerCase(), value]));
  const names = new Set<string>();
  const entries = Object.entries(headers).map(([name, value]): [string, string | null] => {
    const lower = name.toLowerCase();
    if (!HEADER_NAME.test(name)) report(['headers', name], 'INVALID', 'must be named like a header');
    else if (OWN_HEADERS.test(name)) report(['headers', name], 'INVALID', 'must not be a header that the server sets');
    else if (names.has(lower)) report(['headers', name], 'INVALID', 'must be named once: case makes no difference');
    else if (value === null && !values.has(lower))
      report(['headers', name], 'REQUIRED', 'needs a value: there is none');
    else if (value !== null && !HEADER_VALUE.test(value)) {
      report(
        ['headers', name],
        'INVALID',
        'must have 1 to 1,024 visible ASCII characters, with spaces only between them',
      );
    }
    names.add(lower);
    return [name, value ?? values.get(lower) ?? null];
  });
  return Object.fromEntries(entries);
}

/** Reports a URL that may not be called, as far as it can be judged without a connection. */
export function checkUrl(
  url: string | undefined,
  findMistake: (url: string) => string | undefined,
  report: Report,
): void {
  // Its shape is wrong already.
  if (typeof url !== 'string') return;
  const mistake = url.includes('#') ? 'must not have a fragment' : findMistake(url);
  if (mistake !== undefined) report(['url'], 'INVALID', mistake);
}

/** Reports entities, fields and a filter that do not exist or do not go together; returns the ids of the entities. */
export function parseSelection(
  selection: WebhookSelection,
  workspace: Workspace,
  report: Report,
): readonly string[] | null {
  const { entities, fields, filter } = selection;
  const ids = entities === null ? null : resolveEntityIds(entities, report, workspace.entityIds);
  // All of them were dropped.
  if (entities?.length === 0) report(['entities'], 'REQUIRED', 'must name an entity, or be null for all');
  for (const [name, value] of Object.entries({ fields, filter })) {
    if (value !== null && entities?.length !== 1) report([name], 'INVALID', 'needs one entity: name it in entities');
  }
  const entity = entities?.length === 1 ? workspace.entities.get(entities[0] as string) : undefined;
  if (entity === undefined) return ids;
  fields?.forEach((name: unknown, index) => {
    if (typeof name !== 'string' || entity.fields.has(name)) return;
    const suggestion = hint(report.suggest(name, entity.fields.keys()));
    report(['fields', index], 'REFERENCE_NOT_FOUND', `must be a field of ${entity.name}.${suggestion}`);
  });
  if (filter !== null && !report.has(['filter'])) checkFilter(filter, entity.name, workspace, report);
  return ids;
}

function checkFilter(filter: unknown, entity: string, workspace: Workspace, report: Report): void {
  if (Buffer.byteLength(JSON.stringify(filter)) > MAX_FILTER_BYTES)
    report(['filter'], 'TOO_LONG', `must have at most ${MAX_FILTER_BYTES} bytes of JSON`);
  if (!isStorableJson(filter)) report(['filter'], 'INVALID', NOT_STORABLE);
  if (report.has(['filter'])) return;
  try {
    planWebhookViews({ entities: [entity], types: [], fields: null, filter }, workspace);
  } catch (error) {
    // Whether the entity keeps changes is another question.
    if (!(error instanceof ApiError) || error.status > 409) throw error;
    if (error.status === 400) report(['filter'], 'INVALID', error.message);
  }
}
