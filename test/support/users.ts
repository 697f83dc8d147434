// Users of a workspace's identity provider in tests: the provider is configured, and tokens with any claims are signed
// by its own key.
import { forge, type Issuer, signature } from './issuer.ts';
import type { TestWorkspace } from './server.ts';

/** The server must be allowed to fetch keys from this machine. */
export const LOCAL_PROVIDER = { WDA_IDP_PRIVATE_NETWORK: 'allow' } as const;

/** Gives a token with the claims; JSON text keeps the digits of its numbers. */
export type TokenOf = (claims: object | string) => string;

export type DefaultPermissions = 'READ_ONLY' | 'READ_WRITE';

/** Makes the issuer the identity provider of the workspace. */
export async function makeUsers(
  workspace: TestWorkspace,
  issuer: Issuer,
  defaultPermissions: DefaultPermissions = 'READ_WRITE',
): Promise<TokenOf> {
  const body = { issuerUrl: issuer.url, defaultPermissions, enabled: true };
  const answer = await workspace.admin('identity-provider', { method: 'PUT', body });
  if (answer.status !== 200) throw new Error(`identity provider: ${answer.status} ${answer.text}`);
  const { kid, privateKey } = issuer.key('ES256');
  return (claims) => {
    const own = (typeof claims === 'string' ? claims : JSON.stringify(claims)).slice(1, -1);
    const standing: Record<string, unknown> = {
      iss: issuer.url,
      exp: Math.floor(Date.now() / 1000) + 600,
      sub: 'user',
    };
    for (const name of Object.keys(JSON.parse(`{${own}}`))) delete standing[name];
    const members = [JSON.stringify(standing).slice(1, -1), own].filter((part) => part !== '');
    return forge({ alg: 'ES256', kid, typ: 'JWT' }, `{${members.join()}}`, signature('ES256', privateKey));
  };
}
