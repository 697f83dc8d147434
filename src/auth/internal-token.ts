// Verifies internal tokens (RFC 9068, signed by us) and returns the owner of a workspace. A token is valid while its
// key, claims and client are; the client is looked up in the database, so deleting it ends its tokens.
import { type CryptoKey, errors, type JWTPayload, jwtVerify } from 'jose';
import { invalidCredential } from '../errors.ts';
import { CLIENT_ID, toKeyPrincipal } from '../model/principal.ts';
import type { TokenClient } from '../store/oauth-clients.ts';
import type { TokenVerifier } from './authenticate.ts';
import { notAJwt, signatureInvalid, tokenExpired } from './errors.ts';
import { isClientId } from './oauth-client.ts';
import { SIGNING_ALGORITHM } from './signing-keys.ts';

/** Claim with the id of the token's workspace. */
export const WORKSPACE_CLAIM = 'workspace_id';

export interface InternalTokenOptions {
  /** Our `iss`, and the `aud` of our tokens, which are for this API only. */
  readonly issuer: string;
  readonly verificationKey: (kid: string) => Promise<CryptoKey | undefined>;
  /** Finds the token's client while client and key exist. */
  readonly findClient: (clientId: string, kid: string) => Promise<TokenClient | undefined>;
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number;
}

interface Token {
  readonly clientId: string;
  readonly workspaceId: string;
  readonly kid: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

const REQUIRED = ['sub', 'client_id', 'iat', 'exp', 'jti', WORKSPACE_CLAIM];

export function makeInternalVerifier(options: InternalTokenOptions): TokenVerifier {
  return async (text, _, resource) => {
    const token = await readToken(text, options, resource);
    const client = await options.findClient(token.clientId, token.kid);
    if (client === undefined || client.workspaceId !== token.workspaceId) throw invalidCredential();
    const { workspaceId, workspaceVersion, permissions, grants, scope } = client;
    const { expiresAt } = token;
    return {
      principal: toKeyPrincipal({
        permissions,
        grants,
        workspaceId,
        scope,
        credentialId: CLIENT_ID + token.clientId,
        expiresAt,
      }),
      workspaceVersion,
      expiresAt,
    };
  };
}

/**
 * Parses and verifies a token by RFC 9068 section 4; the claims of our own tokens are required as well. A token for a
 * resource is valid for that alone, one for the API for all of it. Throws 401.
 */
async function readToken(
  text: string,
  { issuer, verificationKey, now }: InternalTokenOptions,
  resource: string | undefined,
): Promise<Token> {
  let kid = '';
  const { payload } = await jwtVerify(
    text,
    async (header) => {
      kid = typeof header.kid === 'string' ? header.kid : '';
      const key = kid === '' ? undefined : await verificationKey(kid);
      if (key === undefined) throw signatureInvalid();
      return key;
    },
    {
      algorithms: [SIGNING_ALGORITHM],
      typ: 'at+jwt',
      issuer,
      audience: resource === undefined ? issuer : [issuer, resource],
      requiredClaims: REQUIRED,
      currentDate: new Date(now()),
    },
  ).catch((error) => {
    throw toCredentialError(error);
  });
  const { client_id: clientId, [WORKSPACE_CLAIM]: workspaceId, sub, exp } = payload as JWTPayload;
  if (typeof clientId !== 'string' || sub !== clientId || !isClientId(clientId)) throw invalidCredential();
  if (typeof workspaceId !== 'string') throw invalidCredential();
  return { clientId, workspaceId, kid, expiresAt: (exp as number) * 1000 };
}

function toCredentialError(error: unknown): unknown {
  if (error instanceof errors.JWTExpired) return tokenExpired();
  if (error instanceof errors.JWSSignatureVerificationFailed || error instanceof errors.JOSEAlgNotAllowed) {
    return signatureInvalid();
  }
  if (error instanceof errors.JWTClaimValidationFailed) return invalidCredential();
  return error instanceof errors.JOSEError ? notAJwt() : error;
}
