// What a token of an identity provider says about itself, against what the workspace asks for and the time (RFC 7519
// section 4.1). Pure: takes claims and a moment, gives a refusal or nothing.
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
  /** How far the clocks of provider and server may differ, in milliseconds. */
  readonly skew: number;
}

/** When the token stops being valid, milliseconds since 1970; undefined when `exp` is no NumericDate. */
export function expiryOf(claims: Claims, { skew }: Pick<Moment, 'skew'>): number | undefined {
  const exp = numericDate(own(claims, 'exp'));
  return exp === undefined ? undefined : exp + skew;
}

export function refuseExpired(claims: Claims, moment: Moment): ApiError | undefined {
  const expiry = expiryOf(claims, moment);
  return expiry !== undefined && moment.now >= expiry ? tokenExpired() : undefined;
}

/** `audience` null: any. A configured one must be in `aud`, case and all. */
export function refuseAudience(claims: Claims, audience: string | null): ApiError | undefined {
  return audience === null || isFor(claims, audience) ? undefined : audienceMismatch();
}

/**
 * Of a token that is used at a resource (RFC 8707), it must be in `aud`, or else the configured audience. A token that is
 * for nothing in particular could be one that was given to another server.
 */
export function refuseResource(claims: Claims, audience: string | null, resource: string): ApiError | undefined {
  const isMeant = isFor(claims, resource) || (audience !== null && isFor(claims, audience));
  return isMeant ? undefined : resourceMismatch(resource);
}

function isFor(claims: Claims, audience: string): boolean {
  const aud = own(claims, 'aud');
  return Array.isArray(aud) ? aud.includes(audience) : aud === audience;
}

export function refuseSubject(claims: Claims): ApiError | undefined {
  const sub = own(claims, 'sub');
  return typeof sub === 'string' && sub !== '' ? undefined : missingSub();
}

export function refuseNoExpiry(claims: Claims): ApiError | undefined {
  return numericDate(own(claims, 'exp')) === undefined ? missingExp() : undefined;
}

export function refuseNotBefore(claims: Claims, { now, skew }: Moment): ApiError | undefined {
  const value = own(claims, 'nbf');
  if (value === undefined) return undefined;
  const notBefore = numericDate(value);
  if (notBefore === undefined) return notAJwt();
  return now + skew < notBefore ? tokenNotYetValid() : undefined;
}

/** Seconds since 1970, with or without a fraction, as milliseconds. */
function numericDate(value: unknown): number | undefined {
  const milliseconds = Number(numberText(value) ?? Number.NaN) * 1000;
  return Number.isFinite(milliseconds) ? milliseconds : undefined;
}

/** Never a member of Object.prototype. */
function own(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined;
}
