// Posts events to a URL that this machine reaches, signed as messages of webhooks are: a developer's receiver without a public
// address.
import { createHmac } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { formatBody } from '../webhooks/message.ts';
import { sign } from '../webhooks/signature.ts';
import { usageFailure } from './failure.ts';
import type { Io } from './io.ts';
import { printable } from './table.ts';

export interface ForwardedEvent {
  readonly id: string;
  readonly type: string;
  /** Null: all entities that are watched. */
  readonly entity: string | null;
  readonly at: string;
}

export interface Forwarder {
  readonly secret: string;
  /** Posts one event until it is accepted (2xx). Rejects with the reason of the signal. */
  readonly forward: (event: ForwardedEvent, signal: AbortSignal) => Promise<void>;
}

const TIMEOUT_MS = 15_000;
const MAX_DELAY_SECONDS = 30;

/** Creates a forwarder for an http or https URL; throws a usage failure for anything else. `workspace`: `acme/shop`. */
export function makeForwarder({ stderr }: Io, url: string, workspace: string, key: string): Forwarder {
  const { href } = parseReceiver(url);
  // The same one at each start, so that a receiver keeps its configuration. It tells nothing of the key, which is random.
  const secret = `whsec_${createHmac('sha256', key).update(`wda watch --forward ${workspace}`).digest('base64')}`;
  return {
    secret,
    async forward(event, signal) {
      const { body } = formatBody(workspace, [{ ...event, text: JSON.stringify(event) }], false);
      const id = `msg_${event.id.slice('e_'.length)}`;
      for (let attempt = 1; ; attempt++) {
        const timestamp = Math.floor(Date.now() / 1000);
        const headers = {
          'content-type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': String(timestamp),
          'webhook-signature': sign([secret], { id, timestamp, body }),
          'webhook-attempt': String(attempt),
        };
        const failure = await post(href, headers, body, signal);
        if (failure === undefined) return;
        const seconds = Math.min(MAX_DELAY_SECONDS, 2 ** (attempt - 1));
        stderr.write(`Not accepted: ${printable(failure)}. Trying again in ${seconds} s.\n`);
        await pause(seconds * 1000, undefined, { signal });
      }
    },
  };
}

/** Makes one attempt; returns why it was not accepted, or undefined. Throws the reason of the signal. */
async function post(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    await response.body?.cancel();
    return response.ok ? undefined : `${url} answered ${response.status}`;
  } catch (error) {
    signal.throwIfAborted();
    const { message, cause } = error as Error & { readonly cause?: { readonly code?: string } };
    return `${url} is not reachable (${cause?.code ?? message})`;
  }
}

function parseReceiver(url: string): URL {
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol))
    throw usageFailure(`--forward takes an http or https URL, not ${url}`, ['Example: http://localhost:8080/hooks']);
  if (parsed.username !== '' || parsed.password !== '')
    throw usageFailure('--forward takes a URL without user name and password');
  return parsed;
}
