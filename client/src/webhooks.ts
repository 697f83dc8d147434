// Verifies messages of webhooks by Standard Webhooks, with Web Crypto alone: in Node.js, Deno, Bun, browsers and edge runtimes.
import type { Change, ResetEvent } from './changes.ts';
import { parseJson } from './json.ts';
import type { Shape } from './shape.ts';

interface MessageBase<T extends string, D> {
  readonly type: T;
  /** Time of the (first) event. */
  readonly timestamp: string;
  /** Workspace as `organization/workspace`. */
  readonly workspace: string;
  readonly data: D;
}

type EventMessage<E extends string, V> = V extends { readonly type: infer T extends string }
  ? MessageBase<`${E}.${T}`, V>
  : never;

/** Message that tests whether a receiver is there. */
export type PingMessage = MessageBase<'ping', { readonly webhook: number; readonly name: string }>;

/** The changes that the webhook was to send are no longer kept: read the records of all entities again. */
export type ExpiredMessage = MessageBase<'reset', ResetEvent<null>>;

/** Messages of a webhook with `maxBatch` above 1. */
export type BatchMessage<S extends Shape<S>> = MessageBase<
  'changes',
  readonly (Change<S, keyof S & string> | ResetEvent<null>)[]
>;

/** Message of a webhook, narrowed by `type`: `orders.created` and so on. `S`: the interface that `wda types` generates. */
export type WebhookMessage<S extends Shape<S>> =
  | { [K in keyof S & string]: EventMessage<K, Change<S, K>> }[keyof S & string]
  | BatchMessage<S>
  | ExpiredMessage
  | PingMessage;

/**
 * `MISSING_HEADERS`: no headers of a webhook. `WRONG_TIME`: sent earlier or later than is tolerated, such as a message that
 * another one has recorded. `WRONG_SIGNATURE`: not signed with the secret, or changed on the way. `WRONG_BODY`: no JSON.
 */
export type WebhookErrorReason = 'MISSING_HEADERS' | 'WRONG_TIME' | 'WRONG_SIGNATURE' | 'WRONG_BODY';

/** Error of a message that must not be believed: answer 400. */
export class WebhookError extends Error {
  declare readonly reason: WebhookErrorReason;

  constructor(reason: WebhookErrorReason, message: string, cause?: unknown) {
    super(message, { cause });
    Object.assign(this, { reason, name: 'WebhookError' });
  }
}

/** Headers as `fetch` has them, or an object whose names are in any case. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface WebhookOptions {
  /** Seconds that the time of a message may differ from that of this machine; 300 if not given. */
  readonly toleranceSeconds?: number;
}

const TOLERANCE_SECONDS = 300;
const PREFIX = 'whsec_';
const VERSION = 'v1,';

/**
 * Returns the message of a webhook. `body`: text or bytes as they came, not a parsed value, which has other bytes. `secrets`:
 * that of the webhook, `whsec_…`, or several, one of which must have signed. Throws WebhookError for a message that is not of
 * the webhook, TypeError for a wrong argument. Signatures are compared in constant time.
 */
export async function verifyWebhook<S extends Shape<S>>(
  body: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { toleranceSeconds = TOLERANCE_SECONDS }: WebhookOptions = {},
): Promise<WebhookMessage<S>> {
  const keys = await Promise.all([secrets].flat().map(importKey));
  if (keys.length === 0) throw new TypeError('No secret is given');
  const bytes = toBytes(body);
  const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) => readHeader(headers, name));
  if (!id || !signatures || !/^\d+$/.test(timestamp ?? ''))
    throw new WebhookError('MISSING_HEADERS', 'webhook-id, webhook-timestamp and webhook-signature are needed');
  const seconds = Math.round(Date.now() / 1000 - Number(timestamp));
  if (Math.abs(seconds) > toleranceSeconds)
    throw new WebhookError(
      'WRONG_TIME',
      `It was sent ${Math.abs(seconds)} s ${seconds > 0 ? 'ago' : 'in the future'}: ${toleranceSeconds} s are tolerated`,
    );
  const content = join(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  if (!(await isSigned(content, keys, signatures)))
    throw new WebhookError('WRONG_SIGNATURE', 'No signature is one of the secret and the body as it came');
  try {
    return parseJson(new TextDecoder().decode(bytes)) as WebhookMessage<S>;
  } catch (error) {
    throw new WebhookError('WRONG_BODY', 'The body is no JSON', error);
  }
}

async function isSigned(content: Uint8Array<ArrayBuffer>, keys: readonly CryptoKey[], signatures: string) {
  for (const text of signatures.split(' ')) {
    const signature = text.startsWith(VERSION) ? decode(text.slice(VERSION.length)) : undefined;
    if (signature === undefined) continue;
    for (const key of keys) if (await crypto.subtle.verify('HMAC', key, signature, content)) return true;
  }
  return false;
}

function importKey(secret: string): Promise<CryptoKey> {
  const bytes =
    typeof secret === 'string' && secret.startsWith(PREFIX) ? decode(secret.slice(PREFIX.length)) : undefined;
  if (!bytes?.length) throw new TypeError('A secret is whsec_ and base64, as the webhook was made with');
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

/** Returns the bytes of base64, or undefined for another text. */
function decode(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function toBytes(body: string | Uint8Array | ArrayBuffer): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  throw new TypeError('The body must be the text or the bytes that came: a parsed value has other bytes');
}

function join(head: Uint8Array, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const content = new Uint8Array(head.length + body.length);
  content.set(head);
  content.set(body, head.length);
  return content;
}

function readHeader(headers: WebhookHeaders, name: string): string | undefined {
  const full = `webhook-${name}`;
  // Frameworks have classes of their own.
  if (typeof headers.get === 'function') return (headers as Headers).get(full) ?? undefined;
  const value = Object.entries(headers).find(([one]) => one.toLowerCase() === full)?.[1];
  return [value].flat()[0] as string | undefined;
}
