// Identifies tokens of any identity provider. No external user may use the admin API, so it is enough that some
// workspace knows the issuer and accepts the token.

import { isStorable } from '../model/exact-json.ts';
import type { WorkspaceProvider } from '../store/identity-provider.ts';
import type { Verified } from './authenticate.ts';
import { noIdentityProvider } from './errors.ts';
import type { ExternalTokens } from './external-token.ts';
import { readJwt } from './jwt.ts';

/** Creates the verifier. It throws the error of the first provider when none accepts the token. */
export function makeIdentifyExternal(
  findProviders: (issuer: string) => Promise<readonly WorkspaceProvider[]>,
  tokens: ExternalTokens,
): (token: string) => Promise<Verified> {
  return async (token) => {
    const issuer = readJwt(token)?.claims.iss;
    const providers = typeof issuer === 'string' && isStorable(issuer) ? await findProviders(issuer) : [];
    let firstError: unknown;
    for (const provider of providers) {
      try {
        return await tokens.verify(token, provider);
      } catch (error) {
        firstError ??= error;
      }
    }
    throw firstError ?? noIdentityProvider();
  };
}
