// Secrets of webhooks: sealed in the control tables, with a key that follows from a secret of the installation.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

export interface WebhookSeals {
  /** Seals a text, for the webhooks of one workspace. */
  readonly seal: (workspaceId: string, text: string) => Buffer;
  /** Opens a sealed text; undefined for anything else, such as one of another workspace or installation. */
  readonly open: (workspaceId: string, sealed: Buffer) => string | undefined;
}

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Seals with AES-256-GCM (NIST SP 800-38D). `secret`: the same in all processes. */
function makeSeals(secret: string): WebhookSeals {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'webhook', 32));
  return {
    seal(workspaceId, text) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(workspaceId));
      return Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    },
    open(workspaceId, sealed) {
      if (sealed.length < IV_BYTES + TAG_BYTES) return undefined;
      const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, IV_BYTES));
      decipher.setAAD(Buffer.from(workspaceId)).setAuthTag(sealed.subarray(-TAG_BYTES));
      try {
        const text = Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
        return text.toString('utf8');
      } catch {
        return undefined;
      }
    },
  };
}

/** Makes the function that derives the key once from a secret. */
export function makeLoadWebhookSeals(loadSecret: () => Promise<string>): () => Promise<WebhookSeals> {
  let seals: Promise<WebhookSeals> | undefined;
  return () => {
    seals ??= loadSecret()
      .then(makeSeals)
      .catch((error) => {
        seals = undefined;
        throw error;
      });
    return seals;
  };
}

/** Headers by name; null: the value is gone after a restore. */
export type WebhookHeaders = Readonly<Record<string, string | null>>;

/** Opens the headers of a webhook; none if they are sealed by another installation, or empty. */
export const openHeaders = (seals: WebhookSeals, workspaceId: string, sealed: Buffer): WebhookHeaders =>
  JSON.parse(seals.open(workspaceId, sealed) ?? '{}');

export const sealHeaders = (seals: WebhookSeals, workspaceId: string, headers: WebhookHeaders): Buffer =>
  seals.seal(workspaceId, JSON.stringify(headers));
