// The cookie of a session (RFC 6265): its name, and the header that sets or ends it.

export interface SessionCookie {
  /**
   * The values in a Cookie header that have the name. Ours is the last one: browsers send longer paths first (RFC 6265 section
   * 5.4), and over plain http a page on another port of the host may have set one for a path of ours.
   */
  readonly read: (header: string | undefined) => readonly string[];
  /** Set-Cookie; `seconds` 0 ends it. */
  readonly write: (value: string, seconds: number) => string;
}

/**
 * Cookies know no ports: `instance` in the name keeps servers on one host apart. With https the prefix `__Host-` binds it to
 * this host (draft-ietf-httpbis-rfc6265bis section 4.1.3).
 */
export function makeSessionCookie(instance: string, isHttps: boolean): SessionCookie {
  const name = `${isHttps ? '__Host-' : ''}wda_${instance}`;
  const flags = `Path=/; HttpOnly; SameSite=Strict${isHttps ? '; Secure' : ''}`;
  return {
    read: (header) =>
      (header ?? '').split(';').flatMap((pair) => {
        const [key = '', ...value] = pair.split('=');
        return key.trim() === name && value.length > 0 ? [value.join('=').trim()] : [];
      }),
    write: (value, seconds) => `${name}=${value}; Max-Age=${seconds}; ${flags}`,
  };
}
