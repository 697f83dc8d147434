// What a request proves its sender by. Values only; auth/ judges them.

/**
 * A session of the console, by the SHA-256 of the id in its cookie. It is an object, so no header that somebody sends can be
 * taken for one: only the console's door makes it.
 */
export interface SessionCredential {
  readonly sessionHash: Buffer;
}

/** The header Authorization as it was sent, or a session; undefined: neither. */
export type Credential = string | SessionCredential | undefined;

export const isSession = (credential: Credential): credential is SessionCredential => typeof credential === 'object';
