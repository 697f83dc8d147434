// Confirmation tokens of writes, which only this installation can create, for one change of one principal. They contain
// only their expiry, so they disclose nothing.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { numberText } from '../model/exact-json.ts';

export interface Confirmations {
  /** Creates a confirmation token of the change. */
  make(change: unknown): Promise<string>;
  /** Verifies a confirmation token of this very change (valid for ten minutes). */
  check(text: string, change: unknown): Promise<boolean>;
}

const LIFETIME_MS = 600_000;
const FORM = /^([0-9a-z]{1,11})\.([\w-]{22})$/;

/** Creates the confirmations. `secret`: the same in all processes. `now`: milliseconds since 1970. */
export function makeConfirmations(secret: () => Promise<string>, now: () => number): Confirmations {
  async function sign(until: string, change: unknown): Promise<string> {
    const payload = `${until} ${toCanonicalJson(change)}`;
    return createHmac('sha256', await secret())
      .update(payload)
      .digest('base64url')
      .slice(0, 22);
  }
  return {
    async make(change) {
      const until = (now() + LIFETIME_MS).toString(36);
      return `${until}.${await sign(until, change)}`;
    },
    async check(text, change) {
      const [, until, signature] = FORM.exec(text) ?? [];
      if (until === undefined || signature === undefined || Number.parseInt(until, 36) < now()) return false;
      return timingSafeEqual(Buffer.from(signature), Buffer.from(await sign(until, change)));
    },
  };
}

/** Formats JSON with sorted members: an agent may send them in another order the second time. */
function toCanonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null || numberText(value) !== undefined) {
    return JSON.stringify(value) ?? 'null';
  }
  if (Array.isArray(value)) return `[${value.map(toCanonicalJson).join()}]`;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([left], [right]) => (left < right ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${toCanonicalJson(member)}`).join()}}`;
}
