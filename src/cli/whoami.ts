// `wda whoami`: whose credential this is, and where it is good for what.
import { ADMIN_PREFIX } from './admin-client.ts';
import { connect, type GlobalOptions, workspaceName } from './connection.ts';
import { entitiesText } from './credentials.ts';
import { printResult } from './io.ts';
import { renderPairs } from './table.ts';

interface Session {
  readonly kind: string;
  readonly name: string;
  readonly permissions: string | null;
  readonly entities: readonly string[] | null;
  readonly workspaces: readonly { readonly organization: string; readonly slug: string }[];
  readonly expiresAt: string | null;
}

export async function whoami(options: GlobalOptions): Promise<void> {
  const { data } = await connect(options).send('GET', `${ADMIN_PREFIX}/session`);
  await printResult(options, data, () => describe(data as Session));
}

function describe({ kind, name, permissions, entities, workspaces, expiresAt }: Session): string {
  const places = workspaces.map(({ organization, slug }) => workspaceName({ organization, workspace: slug }));
  return renderPairs([
    ['Name', name],
    ['Permissions', kind === 'operator' ? 'everything' : permissions],
    ['Workspace', kind === 'operator' ? 'all' : places.join(', ')],
    ['Entities', entitiesText(entities)],
    ['Expires', expiresAt ?? 'never'],
  ]);
}
