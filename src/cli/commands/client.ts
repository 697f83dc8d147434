// `wda client` and `wda signing-key`: manage OAuth clients of a workspace, and the keys that sign their tokens. The server
// stores only the hash of a secret, so a secret is shown once, when its client is created.
import type { Command } from 'commander';
import type { OAuthClient, OAuthClientCreated, SigningKey } from '../../../admin-types/admin-api.d.ts';
import { ADMIN_PREFIX } from '../admin-client.ts';
import { action, examples } from '../command.ts';
import { connect, type GlobalOptions, requireWorkspace, workspaceName, workspacePath } from '../connection.ts';
import {
  addCredentialOptions,
  type CredentialOptions,
  credentialBody,
  entitiesText,
  markedNames,
} from '../credentials.ts';
import { printResult } from '../io.ts';
import { renderPairs, renderTable } from '../table.ts';

export function register(program: Command): void {
  const clients = program.command('client').description('OAuth clients of a workspace, for programs that take tokens');
  addCredentialOptions(
    clients
      .command('create')
      .description('create a client; its secret is shown once')
      .argument('<name>', 'what it is for'),
  ).action(action(create));
  clients.command('list').description('list the clients').action(action(list));
  clients
    .command('delete')
    .description('delete a client; its tokens stop working within a second')
    .argument('<id>', 'client id, as client list shows it')
    .action(action(remove));
  examples(clients, [
    'wda client create nightly-sync -w acme/shop',
    'wda client create nightly-export -w acme/shop --permissions read-only --entities orders,customers',
    'wda client list -w acme/shop',
    'wda client delete wdac_… -w acme/shop',
  ]);
  const keys = program
    .command('signing-key')
    .description('keys that sign the tokens of all OAuth clients (needs the operator key)');
  keys
    .command('list')
    .description('list the key that signs and those that still verify')
    .action(action(listSigningKeys));
  keys
    .command('rotate')
    .description('sign with a new key; tokens of the old one work until they expire')
    .option('--revoke', 'end all tokens signed so far, for a key that has leaked')
    .action(action(rotateSigningKey));
  examples(keys, ['wda signing-key rotate', 'wda signing-key rotate --revoke']);
}

async function create(name: string, options: GlobalOptions & CredentialOptions): Promise<void> {
  const path = `${workspacePath(requireWorkspace(options))}/oauth-clients`;
  const body = { name, ...credentialBody(options) };
  const { data } = await connect(options).send<OAuthClientCreated>('POST', path, { body });
  await printResult(options, data, () =>
    [
      renderPairs([
        ['Client id', data.clientId],
        ['Client secret', data.clientSecret],
        ['Name', data.name],
        ['Permissions', data.permissions],
        ['Entities', entitiesText(data.entities)],
      ]),
      '',
      'Keep the secret now: it is not shown again.',
    ].join('\n'),
  );
}

async function list(options: GlobalOptions): Promise<void> {
  const address = requireWorkspace(options);
  const clients = await connect(options).readAll<OAuthClient>(`${workspacePath(address)}/oauth-clients`);
  const names = markedNames(clients);
  await printResult(options, clients, () =>
    clients.length === 0
      ? `No OAuth clients in ${workspaceName(address)}`
      : renderTable(
          ['CLIENT ID', 'NAME', 'PERMISSIONS', 'ENTITIES', 'CREATED'],
          clients.map(({ clientId, permissions, entities, createdAt }, index) => [
            clientId,
            names[index],
            permissions,
            entitiesText(entities),
            createdAt,
          ]),
        ),
  );
}

async function remove(id: string, options: GlobalOptions): Promise<void> {
  const address = requireWorkspace(options);
  await connect(options).send('DELETE', `${workspacePath(address)}/oauth-clients/${encodeURIComponent(id)}`);
  await printResult(options, { deleted: id }, () => `Deleted OAuth client ${id} of ${workspaceName(address)}`);
}

const SIGNING_KEYS = `${ADMIN_PREFIX}/signing-keys`;

async function listSigningKeys(options: GlobalOptions): Promise<void> {
  await printKeys(options, (await connect(options).send<readonly SigningKey[]>('GET', SIGNING_KEYS)).data);
}

async function rotateSigningKey(options: GlobalOptions & { readonly revoke?: boolean }): Promise<void> {
  const query = [['revoke', options.revoke]] as const;
  const { data } = await connect(options).send<readonly SigningKey[]>('POST', `${SIGNING_KEYS}/rotate`, { query });
  await printKeys(options, data);
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
