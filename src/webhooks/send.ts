// Sends one message of a webhook and tells how it went: one attempt, whatever the answer is.
import manifest from '../../package.json' with { type: 'json' };
import { HttpClientError, type HttpClientErrorCode } from '../http-client/errors.ts';
import type { HttpClient } from '../http-client/http-client.ts';
import { parseRetryAfter } from './retry-schedule.ts';
import { sign } from './signature.ts';

/** Where messages of a webhook go. */
export interface Receiver {
  readonly url: string;
  /** Headers that an administrator has set. */
  readonly headers: Readonly<Record<string, string>>;
  /** Secrets in force, the newest first. */
  readonly secrets: readonly string[];
}

export interface Message {
  /** `msg_…`, the same in every attempt. */
  readonly id: string;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  readonly body: string;
}

export type AttemptError = HttpClientErrorCode | 'REDIRECT_REFUSED';

/** An attempt as the log has it. */
export interface Attempt {
  readonly at: string;
  readonly status: number | null;
  readonly error: AttemptError | null;
  readonly durationMs: number;
  /** Start of the answer; null when there was none, or it came from a private address. */
  readonly responseBody: string | null;
}

export interface Outcome {
  readonly attempt: Attempt;
  readonly isDelivered: boolean;
  /** Milliseconds that the receiver wants to be left alone for. */
  readonly retryAfterMs: number | undefined;
}

export interface SendDeps {
  readonly client: Pick<HttpClient, 'post'>;
  readonly timeoutMs: number;
}

const USER_AGENT = `workspace-data-api/${manifest.version}`;
const WAITING_STATUSES = [429, 503];

/** Makes one attempt. Rejects only with the reason of the signal. */
export async function sendMessage(
  { client, timeoutMs }: SendDeps,
  { url, headers, secrets }: Receiver,
  { id, attempt, body }: Message,
  signal?: AbortSignal,
): Promise<Outcome> {
  const now = Date.now();
  const start = performance.now();
  const timestamp = Math.floor(now / 1000);
  const finish = (status: number | null, error: AttemptError | null, responseBody: string | null): Attempt => ({
    at: new Date(now).toISOString(),
    status,
    error,
    durationMs: Math.round(performance.now() - start),
    responseBody,
  });
  try {
    const answer = await client.post(url, {
      headers: {
        ...headers,
        'content-type': 'application/json',
        'user-agent': USER_AGENT,
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': sign(secrets, { id, timestamp, body }),
        'webhook-attempt': String(attempt),
      },
      body,
      timeoutMs,
      signal,
    });
    const { status } = answer;
    const isRedirect = status >= 300 && status < 400;
    return {
      attempt: finish(status, isRedirect ? 'REDIRECT_REFUSED' : null, answer.isPrivate ? null : toText(answer.body)),
      isDelivered: status >= 200 && status < 300,
      retryAfterMs: WAITING_STATUSES.includes(status) ? parseRetryAfter(answer.retryAfter, Date.now()) : undefined,
    };
  } catch (error) {
    if (!(error instanceof HttpClientError)) throw error;
    return { attempt: finish(null, error.code, null), isDelivered: false, retryAfterMs: undefined };
  }
}

/** Decodes bytes whose last character may be cut; PostgreSQL stores no NUL. */
const toText = (bytes: Buffer): string => new TextDecoder().decode(bytes, { stream: true }).replaceAll('\0', '\ufffd');
