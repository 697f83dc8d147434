// `wda idp`: the identity provider whose users may use a workspace.
import { chosenWorkspace, connect, type GlobalOptions, workspaceName, workspacePath } from './connection.ts';
import { usageFailure } from './failure.ts';
import { printResult } from './io.ts';
import { printable, renderPairs } from './table.ts';

interface IdentityProvider {
  readonly issuerUrl: string;
  readonly jwksUri: string | null;
  readonly audience: string | null;
  readonly defaultPermissions: string;
  readonly enabled: boolean;
}

export interface ProviderOptions extends GlobalOptions {
  readonly issuer?: string;
  readonly jwksUri?: string;
  readonly audience?: string;
  readonly permissions?: string;
  readonly enable?: boolean;
  readonly disable?: boolean;
}

const PERMISSIONS = ['READ_ONLY', 'READ_WRITE'] as const;

export async function showProvider(options: GlobalOptions): Promise<void> {
  const { data } = await connect(options).send('GET', providerPath(options));
  await printResult(options, data, () => describe(data as IdentityProvider));
}

/** With an issuer a whole configuration, enabled by default; without one a change of the options given. */
export async function setProvider(options: ProviderOptions): Promise<void> {
  const { issuer, jwksUri, audience, enable, disable } = options;
  if (enable && disable) throw usageFailure('--enable and --disable exclude each other');
  const permissions = options.permissions === undefined ? undefined : parsePermissions(options.permissions);
  if (issuer !== undefined && permissions === undefined) {
    throw usageFailure('A provider needs permissions for its users', ['Pass --permissions READ_ONLY or READ_WRITE.']);
  }
  const enabled = enable || disable ? !disable : issuer === undefined ? undefined : true;
  const body = {
    ...(issuer === undefined ? {} : { issuerUrl: issuer }),
    ...(jwksUri === undefined ? {} : { jwksUri }),
    ...(audience === undefined ? {} : { audience }),
    ...(permissions === undefined ? {} : { defaultPermissions: permissions }),
    ...(enabled === undefined ? {} : { enabled }),
  };
  if (Object.keys(body).length === 0) {
    throw usageFailure('Nothing to set', [
      'Pass --issuer, --jwks-uri, --audience, --permissions, --enable or --disable.',
    ]);
  }
  const { data, meta } = await connect(options).send('PUT', providerPath(options), { body });
  const warnings = (meta as { warnings?: readonly string[] } | null)?.warnings ?? [];
  for (const warning of warnings) options.io.stderr.write(`Warning: ${printable(warning)}\n`);
  await printResult(options, data, () => describe(data as IdentityProvider));
}

export async function deleteProvider(options: GlobalOptions): Promise<void> {
  const name = workspaceName(chosenWorkspace(options));
  await connect(options).send('DELETE', providerPath(options));
  await printResult(options, { deleted: name }, () => `Deleted the identity provider of ${name}`);
}

function describe({ issuerUrl, jwksUri, audience, defaultPermissions, enabled }: IdentityProvider): string {
  return renderPairs([
    ['Issuer URL', issuerUrl],
    ['JWKS URI', jwksUri ?? '(discovered)'],
    ['Audience', audience ?? '(any)'],
    ['Permissions', defaultPermissions],
    ['Enabled', enabled ? 'yes' : 'no'],
  ]);
}

function parsePermissions(text: string): string {
  const wanted = text.toUpperCase().replaceAll('-', '_');
  const found = PERMISSIONS.find((permissions) => permissions === wanted);
  if (found === undefined) throw usageFailure(`Permissions are ${PERMISSIONS.join(' or ')}, not ${text}`);
  return found;
}

const providerPath = (options: GlobalOptions): string => `${workspacePath(chosenWorkspace(options))}/identity-provider`;
