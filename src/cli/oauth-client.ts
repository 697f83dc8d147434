// `wda client` and `wda signing-key`: OAuth clients of a workspace, and the keys that sign their tokens. The server keeps
// the hash of a secret only, so a secret is printed once, when its client is created.
import { ADMIN_PREFIX } from './admin-client.ts';
import { parsePermissions } from './api-key.ts';
import { chosenWorkspace, connect, type GlobalOptions, workspaceName, workspacePath } from './connection.ts';
import { entitiesMember, entitiesText, markedNames } from './credentials.ts';
import { printResult } from './io.ts';
import { renderPairs, renderTable } from './table.ts';

interface OAuthClient {
  readonly clientId: string;
  readonly name: string;
  readonly permissions: string;
  readonly entities?: readonly string[] | null;
  readonly createdAt: string;
  /** Only in the answer to the creation. */
  readonly clientSecret?: string;
}

interface SigningKey {
  readonly kid: string;
  readonly state: string;
  readonly createdAt: string;
  readonly rotatedAt: string | null;
  readonly expiresAt: string | null;
}

export interface RotateOptions extends GlobalOptions {
  readonly revoke?: boolean;
}

export interface CreateClientOptions extends GlobalOptions {
  readonly permissions?: string;
  readonly entities?: string;
}

export async function createClient(name: string, options: CreateClientOptions): Promise<void> {
  const address = chosenWorkspace(options);
  const body = {
    name,
    ...(options.permissions === undefined ? {} : { permissions: parsePermissions(options.permissions) }),
    ...entitiesMember(options.entities),
  };
  const { data } = await connect(options).send('POST', `${workspacePath(address)}/oauth-clients`, { body });
  const { clientId, clientSecret, permissions, entities } = data as OAuthClient;
  await printResult(options, data, () =>
    [
      renderPairs([
        ['Client id', clientId],
        ['Client secret', clientSecret],
        ['Name', (data as OAuthClient).name],
        ['Permissions', permissions],
        ['Entities', entitiesText(entities)],
      ]),
      '',
      'Keep the secret now: it is not shown again.',
    ].join('\n'),
  );
}

export async function listClients(options: GlobalOptions): Promise<void> {
  const address = chosenWorkspace(options);
  const found = (await connect(options).readAll(`${workspacePath(address)}/oauth-clients`)) as readonly OAuthClient[];
  const names = markedNames(found.map(({ name }) => name));
  await printResult(options, found, () =>
    found.length === 0
      ? `No OAuth clients in ${workspaceName(address)}`
      : renderTable(
          ['CLIENT ID', 'NAME', 'PERMISSIONS', 'ENTITIES', 'CREATED'],
          found.map(({ clientId, permissions, entities, createdAt }, index) => [
            clientId,
            names[index],
            permissions,
            entitiesText(entities),
            createdAt,
          ]),
        ),
  );
}

/** Deletes a client; its tokens stop working everywhere within a second. */
export async function deleteClient(id: string, options: GlobalOptions): Promise<void> {
  const address = chosenWorkspace(options);
  await connect(options).send('DELETE', `${workspacePath(address)}/oauth-clients/${encodeURIComponent(id)}`);
  await printResult(options, { deleted: id }, () => `Deleted OAuth client ${id} of ${workspaceName(address)}`);
}

export async function listSigningKeys(options: GlobalOptions): Promise<void> {
  const { data } = await connect(options).send('GET', `${ADMIN_PREFIX}/signing-keys`);
  await printKeys(options, data as readonly SigningKey[]);
}

/** Makes a new key sign; with `revoke` the tokens of all older keys end. */
export async function rotateSigningKey(options: RotateOptions): Promise<void> {
  const { data } = await connect(options).send('POST', `${ADMIN_PREFIX}/signing-keys/rotate`, {
    query: [['revoke', options.revoke]],
  });
  await printKeys(options, data as readonly SigningKey[]);
}

function printKeys(options: GlobalOptions, keys: readonly SigningKey[]): Promise<void> {
  return printResult(options, keys, () =>
    keys.length === 0
      ? 'No signing keys yet: the first token makes one'
      : renderTable(
          ['KEY ID', 'STATE', 'CREATED', 'ROTATED', 'EXPIRES'],
          keys.map(({ kid, state, createdAt, rotatedAt, expiresAt }) => [kid, state, createdAt, rotatedAt, expiresAt]),
        ),
  );
}
