// Errors of tokens: the texts of the specification, then those of the contract.
import { type ApiError, unauthorized } from '../errors.ts';

export const noIdentityProvider = (): ApiError =>
  unauthorized('NO_IDENTITY_PROVIDER', 'No external identity provider configured for this workspace', true);

export const issuerMismatch = (): ApiError =>
  unauthorized('ISSUER_MISMATCH', 'Token issuer does not match configured identity provider', true);

export const audienceMismatch = (): ApiError =>
  unauthorized('AUDIENCE_MISMATCH', 'Token audience does not match configured audience', true);

export const workspaceMismatch = (): ApiError =>
  unauthorized('WORKSPACE_MISMATCH', 'Token is not for this workspace', true);

export const resourceMismatch = (resource: string): ApiError =>
  unauthorized(
    'RESOURCE_MISMATCH',
    `Token is not for agents: its aud must have ${resource}, or the configured audience`,
    true,
  );

export const tokenExpired = (): ApiError => unauthorized('TOKEN_EXPIRED', 'Token has expired', true);

export const jwksNotDiscovered = (): ApiError =>
  unauthorized('JWKS_NOT_DISCOVERED', 'Failed to discover JWKS endpoint for issuer', true);

export const missingSub = (): ApiError => unauthorized('MISSING_SUB', 'Token is missing the sub claim', true);

export const missingExp = (): ApiError => unauthorized('MISSING_EXP', 'Token is missing the exp claim', true);

export const signatureInvalid = (): ApiError => unauthorized('INVALID_SIGNATURE', 'Token signature is invalid', true);

export const tokenNotYetValid = (): ApiError => unauthorized('TOKEN_NOT_YET_VALID', 'Token is not valid yet', true);

/** Error of opaque and malformed tokens. */
export const notAJwt = (): ApiError => unauthorized('NOT_A_JWT', 'Token is not a valid JWT', true);
