// The cookie of a session (RFC 6265): its name, and the header that sets or ends it.

export interface SessionCookie {
  /** The value in a Cookie header; undefined when it has none. */
  readonly read: (header: string | undefined) => string | undefined;
  /** Set-Cookie; `seconds` 0 ends it. */
  readonly write: (value: string, seconds: number) => string;
}

/**
 * Cookies know no ports: `instance` in the name keeps servers on one host apart. With https the prefix `__Host-` binds it to
 * this host (draft-ietf-httpbis-rfc6265bis section 4.1.3).
 */
export function sessionCookie(instance: string, isHttps: boolean): SessionCookie {
  const name = `${isHttps ? '__Host-' : ''}wda_${instance}`;
  const flags = `Path=/; HttpOnly; SameSite=Strict${isHttps ? '; Secure' : ''}`;
  return {
    read(header) {
      const found = (header ?? '').split(';').find((pair) => pair.trimStart().startsWith(`${name}=`));
      return found?.slice(found.indexOf('=') + 1).trim();
    },
    write: (value, seconds) => `${name}=${value}; Max-Age=${seconds}; ${flags}`,
  };
}
