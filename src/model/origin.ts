// Origins of web pages (RFC 6454), which the CORS settings of the server and of workspaces list.

/** Origins whose pages may use the API: all, or those of a list. */
export type CorsOrigins = '*' | readonly string[];

/** Most origins of a workspace. */
export const MAX_ORIGINS = 100;
export const MAX_ORIGIN_LENGTH = 300;

/** Returns the origin of an http or https URL as browsers send it: host in ASCII, no default port. Undefined for others. */
export function parseOrigin(text: string): string | undefined {
  const url = URL.parse(text);
  // Browsers send no pattern, so one would match nothing.
  if (url === null || url.hostname.includes('*')) return undefined;
  return url.protocol === 'https:' || url.protocol === 'http:' ? url.origin : undefined;
}

export const isOrigin = (text: string): boolean => parseOrigin(text) === text;

/** Returns whether the value is a list of origins that a workspace may have. */
export const isOriginList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) &&
  value.length <= MAX_ORIGINS &&
  value.every((one) => typeof one === 'string' && one.length <= MAX_ORIGIN_LENGTH && isOrigin(one));
