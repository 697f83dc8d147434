// States of webhooks and messages in words. Pure.
import { formatCount, pluralize } from '../format/amount.ts';
import type { Delivery, Webhook, WebhookTested } from './webhooks-api.ts';

export const STATES: Readonly<Record<Webhook['state'], string>> = {
  ok: 'OK',
  failing: 'Failing',
  disabled: 'Disabled',
};

const REASONS: Readonly<Record<NonNullable<Webhook['disabledReason']>, string>> = {
  administrator: 'An administrator has disabled it.',
  failing: 'Its receiver failed for too long. Events wait until you enable it.',
  gone: 'Its receiver answered 410: it wants no more messages.',
  restored: 'The workspace is restored from a backup, which has no secrets. Rotate the secret, then enable it.',
  invalid: 'An entity or a field of its filter is gone. Change its settings, then enable it.',
};

/** Says why a webhook is disabled, or returns undefined if it is not. */
export const describeDisabled = ({ disabledReason }: Pick<Webhook, 'disabledReason'>): string | undefined =>
  disabledReason === null ? undefined : REASONS[disabledReason];

// Greatest number that the server counts to.
const MOST_PENDING = 10_000;

/** Says how many events wait: `12 events wait`. */
export const describePending = (pending: number): string =>
  pending === 0
    ? 'None'
    : pending >= MOST_PENDING
      ? `${formatCount(MOST_PENDING)} events or more`
      : pluralize(pending, 'event');

export const DELIVERY_STATES: Readonly<Record<Delivery['state'], string>> = {
  pending: 'Pending',
  delivered: 'Delivered',
  failed: 'Failed',
  discarded: 'Discarded',
};

const ERRORS: Readonly<Record<NonNullable<WebhookTested['error']>, string>> = {
  TIMEOUT: 'No answer in time',
  DNS_FAILED: 'The name has no address',
  CONNECTION_FAILED: 'Connection failed',
  TLS_FAILED: 'TLS failed',
  ADDRESS_REFUSED: 'The address may not be called',
  REDIRECT_REFUSED: 'Redirects are not followed',
  BAD_RESPONSE: 'The answer is not valid HTTP',
};

/** Says how an attempt ended: its status, or why there was none. */
export function describeOutcome(status: number | null, error: string | null): string {
  const words = error === null ? undefined : (ERRORS[error as keyof typeof ERRORS] ?? error);
  if (words === undefined) return status === null ? '' : String(status);
  return status === null ? words : `${status}, ${words}`;
}
