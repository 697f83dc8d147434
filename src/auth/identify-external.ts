// Whether a token comes from any identity provider. No external user may use the admin API, so it is enough that some
// workspace knows the issuer and accepts the token.
import type { ProviderOfWorkspace } from '../directory/identity-provider.ts';
import { isStorable } from '../model/exact-json.ts';
import type { Verified } from './authenticate.ts';
import { noIdentityProvider } from './errors.ts';
import type { ExternalTokens } from './external-token.ts';
import { readJwt } from './jwt.ts';

/** Throws the first provider's refusal when none accepts the token. */
export function makeIdentifyExternal(
  findProviders: (issuer: string) => Promise<readonly ProviderOfWorkspace[]>,
  tokens: ExternalTokens,
): (token: string) => Promise<Verified> {
  return async (token) => {
    const issuer = readJwt(token)?.claims.iss;
    const found = typeof issuer === 'string' && isStorable(issuer) ? await findProviders(issuer) : [];
    let refusal: unknown;
    for (const provider of found) {
      try {
        return await tokens.verify(token, provider);
      } catch (error) {
        refusal ??= error;
      }
    }
    throw refusal ?? noIdentityProvider();
  };
}
