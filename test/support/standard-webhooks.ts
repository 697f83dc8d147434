// Somebody else's code that receivers verify messages with.
import { createRequire } from 'node:module';

interface Verifier {
  /** Returns the parsed body; throws when signature, id or time are not those of the body. */
  verify(body: string, headers: Readonly<Record<string, string>>): unknown;
}

interface StandardWebhooks {
  readonly Webhook: new (secret: string) => Verifier;
}

const { Webhook } = createRequire(import.meta.url)('standardwebhooks') as StandardWebhooks;

/** Returns the parsed body of a message if the secret signed it; throws otherwise. */
export const verifyMessage = (secret: string, body: string, headers: Readonly<Record<string, unknown>>): unknown =>
  new Webhook(secret).verify(body, headers as Record<string, string>);
