// Public keys of a JWK Set (RFC 7517) that may verify signatures here: RSA of 2048 bits or more and the three NIST
// curves. Other keys are ignored, so that one unsupported key does not make the others useless.
import { type CryptoKey, importJWK, type JWK } from 'jose';

export const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512'] as const;
export type Algorithm = (typeof ALGORITHMS)[number];

export interface VerificationKey {
  readonly kid: string | undefined;
  /** True when the key belongs to the algorithm and may be used for it. */
  readonly fits: (algorithm: Algorithm) => boolean;
  /** Imports the key once for each algorithm; rejects when it is invalid. */
  readonly import: (algorithm: Algorithm) => Promise<CryptoKey>;
}

const CURVES: Readonly<Record<string, Algorithm>> = { 'P-256': 'ES256', 'P-384': 'ES384', 'P-521': 'ES512' };
const MIN_RSA_BITS = 2048;
// Larger keys are not used in practice and only make each verification expensive.
const MAX_RSA_BITS = 8192;
const MAX_EXPONENT_BITS = 32;
// Providers publish two or three keys.
const MAX_KEYS = 100;

export function isAlgorithm(text: string): text is Algorithm {
  return (ALGORITHMS as readonly string[]).includes(text);
}

/** Parses the usable keys of a JWK Set document, or returns undefined if it is not one. */
export function parseKeySet(document: unknown): readonly VerificationKey[] | undefined {
  const keys = (document as { keys?: unknown } | null)?.keys;
  if (!Array.isArray(keys)) return undefined;
  return keys.slice(0, MAX_KEYS).flatMap((jwk) => parseKey(jwk) ?? []);
}

function parseKey(jwk: unknown): VerificationKey | undefined {
  if (typeof jwk !== 'object' || jwk === null) return undefined;
  const { kid, use, key_ops: operations, alg, ...material } = jwk as Record<string, unknown>;
  if (kid !== undefined && typeof kid !== 'string') return undefined;
  if (use !== undefined && use !== 'sig') return undefined;
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) return undefined;
  const family = parseFamily(material);
  if (family === undefined) return undefined;
  const importedKeys = new Map<Algorithm, Promise<CryptoKey>>();
  return {
    kid,
    fits: (algorithm) => family.algorithms.includes(algorithm) && (alg === undefined || alg === algorithm),
    import(algorithm) {
      let key = importedKeys.get(algorithm);
      if (key === undefined) {
        key = importJWK(family.key, algorithm) as Promise<CryptoKey>;
        importedKeys.set(algorithm, key);
      }
      return key;
    },
  };
}

/** Parses the type of a key. Only public members are kept: private keys in a set must not be stored. */
function parseFamily(
  material: Readonly<Record<string, unknown>>,
): { readonly key: JWK; readonly algorithms: readonly Algorithm[] } | undefined {
  const { kty, n, e, crv, x, y } = material;
  if (kty === 'RSA' && typeof n === 'string' && typeof e === 'string') {
    const bits = countBits(n);
    if (bits < MIN_RSA_BITS || bits > MAX_RSA_BITS || countBits(e) > MAX_EXPONENT_BITS) return undefined;
    return { key: { kty, n, e }, algorithms: ALGORITHMS.filter((algorithm) => algorithm[0] !== 'E') };
  }
  if (kty === 'EC' && typeof crv === 'string' && typeof x === 'string' && typeof y === 'string') {
    const algorithm = Object.hasOwn(CURVES, crv) ? CURVES[crv] : undefined;
    return algorithm === undefined ? undefined : { key: { kty, crv, x, y }, algorithms: [algorithm] };
  }
  return undefined;
}

/** Counts the bits of an unsigned big-endian number in base64url, without leading zeros. */
function countBits(text: string): number {
  const bytes = Buffer.from(text, 'base64url');
  const first = bytes.findIndex((byte) => byte !== 0);
  return first === -1 ? 0 : (bytes.length - first) * 8 - (Math.clz32(bytes[first] as number) - 24);
}
