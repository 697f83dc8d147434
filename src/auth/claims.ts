// Checks the claims of a token of an identity provider against the workspace's configuration and the time (RFC 7519
// section 4.1). Pure: takes claims and a moment, returns an error or undefined.
import type { ApiError } from '../errors.ts';
import { numberText } from '../model/exact-json.ts';
import {
  audienceMismatch,
  missingExp,
  missingSub,
  notAJwt,
  resourceMismatch,
  tokenExpired,
  tokenNotYetValid,
} from './errors.ts';

export type Claims = Readonly<Record<string, unknown>>;

export interface Moment {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Tolerated clock difference between provider and server, in milliseconds. */
  readonly skew: number;
}

/** Returns the end of the token's validity, milliseconds since 1970, or undefined if `exp` is not a NumericDate. */
export function getExpiry(claims: Claims, { skew }: Pick<Moment, 'skew'>): number | undefined {
  const exp = parseNumericDate(getOwn(claims, 'exp'));
  return exp === undefined ? undefined : exp + skew;
}

export function checkExpiry(claims: Claims, moment: Moment): ApiError | undefined {
  const expiry = getExpiry(claims, moment);
  return expiry !== undefined && moment.now >= expiry ? tokenExpired() : undefined;
}

/** Checks that `aud` contains the configured audience, case-sensitively. `audience` null: any. */
export function checkAudience(claims: Claims, audience: string | null): ApiError | undefined {
  return audience === null || hasAudience(claims, audience) ? undefined : audienceMismatch();
}

/**
 * Checks that `aud` contains the resource that the token is used at (RFC 8707), or else the configured audience. A
 * token without an audience could have been issued for another server.
 */
export function checkResource(claims: Claims, audience: string | null, resource: string): ApiError | undefined {
  const isAllowed = hasAudience(claims, resource) || (audience !== null && hasAudience(claims, audience));
  return isAllowed ? undefined : resourceMismatch(resource);
}

function hasAudience(claims: Claims, audience: string): boolean {
  const aud = getOwn(claims, 'aud');
  return Array.isArray(aud) ? aud.includes(audience) : aud === audience;
}

export function checkSubject(claims: Claims): ApiError | undefined {
  const sub = getOwn(claims, 'sub');
  return typeof sub === 'string' && sub !== '' ? undefined : missingSub();
}

export function checkExpiryClaim(claims: Claims): ApiError | undefined {
  return parseNumericDate(getOwn(claims, 'exp')) === undefined ? missingExp() : undefined;
}

export function checkNotBefore(claims: Claims, { now, skew }: Moment): ApiError | undefined {
  const value = getOwn(claims, 'nbf');
  if (value === undefined) return undefined;
  const notBefore = parseNumericDate(value);
  if (notBefore === undefined) return notAJwt();
  return now + skew < notBefore ? tokenNotYetValid() : undefined;
}

/** Converts seconds since 1970, with or without a fraction, to milliseconds. */
function parseNumericDate(value: unknown): number | undefined {
  const milliseconds = Number(numberText(value) ?? Number.NaN) * 1000;
  return Number.isFinite(milliseconds) ? milliseconds : undefined;
}

/** Returns an own member of the claims, never one of Object.prototype. */
function getOwn(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined;
}
