// Signatures of messages by Standard Webhooks: HMAC-SHA256 over id, time and body, with secrets that begin with whsec_.
import { createHmac, randomBytes } from 'node:crypto';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

export const makeSigningSecret = (): string => PREFIX + randomBytes(SECRET_BYTES).toString('base64');

export interface SignedContent {
  readonly id: string;
  /** Time of the attempt, in seconds since 1970. */
  readonly timestamp: number;
  readonly body: string;
}

/** Returns the header `webhook-signature`: a signature by each secret, separated by spaces. */
export function sign(secrets: readonly string[], { id, timestamp, body }: SignedContent): string {
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
      return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
    })
    .join(' ');
}
