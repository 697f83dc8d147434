// Credentials of a request. Values only; auth/ verifies them.

/**
 * A session of the console, by the SHA-256 of the id in its cookie. It is an object, so no header of a request can be
 * mistaken for one: only the console's entry makes it.
 */
export interface SessionCredential {
  readonly sessionHash: Buffer;
}

/** The header Authorization as sent, or a session, or undefined if there is neither. */
export type Credential = string | SessionCredential | undefined;

export const isSession = (credential: Credential): credential is SessionCredential => typeof credential === 'object';
