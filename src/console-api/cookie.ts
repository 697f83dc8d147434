// Reads and writes the cookie of a session (RFC 6265).

export interface SessionCookie {
  /**
   * Returns the values of this cookie in a Cookie header. Ours is the last one: browsers send longer paths first (RFC
   * 6265 section 5.4), and over plain http a page on another port of the host may have set one for a longer path.
   */
  readonly read: (header: string | undefined) => readonly string[];
  /** Formats Set-Cookie; `seconds` 0 deletes the cookie. */
  readonly write: (value: string, seconds: number) => string;
}

/** Creates the cookie of a session. Cookies ignore ports: `instance` in the name keeps servers on one host apart. */
export const makeSessionCookie = (instance: string, isHttps: boolean): SessionCookie =>
  makeCookie(`wda_${instance}`, isHttps, 'Strict');

/**
 * Creates a cookie. With https the prefix `__Host-` binds it to this host (draft-ietf-httpbis-rfc6265bis section 4.1.3).
 */
export function makeCookie(plainName: string, isHttps: boolean, sameSite: 'Strict' | 'Lax'): SessionCookie {
  const name = `${isHttps ? '__Host-' : ''}${plainName}`;
  const flags = `Path=/; HttpOnly; SameSite=${sameSite}${isHttps ? '; Secure' : ''}`;
  return {
    read: (header) =>
      (header ?? '').split(';').flatMap((pair) => {
        const [key = '', ...value] = pair.split('=');
        return key.trim() === name && value.length > 0 ? [value.join('=').trim()] : [];
      }),
    write: (value, seconds) => `${name}=${value}; Max-Age=${seconds}; ${flags}`,
  };
}
