// `wda key`, `wda client` and `wda signing-key`: credentials of a workspace, and the keys that sign the tokens of its clients.
// The server stores only hashes, so a key or a secret is shown once, when it is created.
import type { Command } from 'commander';
import type {
  ApiKey,
  ApiKeyCreated,
  OAuthClient,
  OAuthClientCreated,
  SigningKey,
} from '../../../admin-types/admin-api.d.ts';
import { parseExact } from '../../model/exact-json.ts';
import { ADMIN_PREFIX } from '../admin-client.ts';
import {
  action,
  connect,
  examples,
  type GlobalOptions,
  printList,
  requireWorkspace,
  workspaceName,
  workspacePath,
} from '../command.ts';
import { type CommandFailure, usageFailure } from '../failure.ts';
import { printResult } from '../io.ts';
import { isObject } from '../schema-file.ts';
import { renderPairs } from '../table.ts';

export function register(program: Command): void {
  const group = program.command('key').description('API keys of a workspace');
  const creation = addCredentialOptions(
    group.command('create').description('create a key; it is shown once').argument('<name>', 'what it is for'),
  )
    .option('--expires <when>', '30d, 12h or 15m from now, a date, or a date and time with Z or an offset')
    .action(action(createKey));
  examples(creation, [
    'wda key create website -w acme/shop --permissions READ_ONLY --expires 90d',
    'wda key create nightly -w acme/shop --permissions READ_ONLY --entities orders,customers',
    'wda key create status-page -w acme/helpdesk --permissions GRANTS --roles public',
    'WDA_KEY=$(wda key create ci -w acme/shop --permissions OWNER --json | jq -r .key)',
  ]);
  group.command('list').description('list the keys: prefix, permissions, last use').action(action(listKeys));
  group
    .command('update')
    .description('rename a key or change its expiry')
    .argument('<id>', 'id of the key, as key list shows it')
    .option('--name <name>', 'what it is for')
    .option('--expires <when>', '30d, 12h or 15m from now, a date, a date and time with Z or an offset, or never')
    .action(action(update));
  group
    .command('revoke')
    .description('revoke a key; it stops working within a second')
    .argument('<id>', 'id of the key, as key list shows it')
    .action(action(revoke));
  examples(group, [
    'wda key create website -w acme/shop --permissions READ_ONLY --expires 90d',
    'wda key list -w acme/shop',
    'wda key update 3 -w acme/shop --expires 90d',
    'wda key revoke 3 -w acme/shop',
  ]);
  const clients = program.command('client').description('OAuth clients of a workspace, for programs that take tokens');
  addCredentialOptions(
    clients
      .command('create')
      .description('create a client; its secret is shown once')
      .argument('<name>', 'what it is for'),
  ).action(action(createClient));
  clients.command('list').description('list the clients').action(action(listClients));
  clients
    .command('delete')
    .description('delete a client; its tokens stop working within a second')
    .argument('<id>', 'client id, as client list shows it')
    .action(action(removeClient));
  examples(clients, [
    'wda client create nightly-sync -w acme/shop --permissions READ_WRITE',
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

async function createKey(
  name: string,
  options: GlobalOptions & CredentialOptions & { readonly expires?: string },
): Promise<void> {
  const { expires } = options;
  const path = `${workspacePath(requireWorkspace(options))}/api-keys`;
  const body = {
    name,
    ...credentialBody(options),
    ...(expires === undefined ? {} : { expiresAt: parseExpiry(expires, new Date()) }),
  };
  const { data } = await connect(options).send<ApiKeyCreated>('POST', path, { body });
  await printOnce(options, 'key', data, [
    ['Key', data.key],
    ['Id', data.id],
    ...describeCredential(data),
    ['Expires', data.expiresAt ?? 'never'],
  ]);
}

async function listKeys(options: GlobalOptions): Promise<void> {
  const address = requireWorkspace(options);
  const keys = await connect(options).readAll<ApiKey>(`${workspacePath(address)}/api-keys`);
  const names = markedNames(keys);
  const head = ['ID', 'PREFIX', 'NAME', 'PERMISSIONS', 'ENTITIES', 'CREATED', 'LAST USED', 'EXPIRES'];
  await printList(options, keys, `No keys in ${workspaceName(address)}`, head, (key, index) => [
    key.id,
    key.prefix,
    names[index],
    permissionsText(key),
    reachText(key),
    key.createdAt,
    key.lastUsedAt ?? 'never',
    key.expiresAt ?? 'never',
  ]);
}

/** Renames a key or changes its expiry; `never` removes the expiry. */
async function update(
  id: string,
  options: GlobalOptions & { readonly name?: string; readonly expires?: string },
): Promise<void> {
  const { name, expires } = options;
  if (name === undefined && expires === undefined) throw usageFailure('Nothing to change: give --name or --expires');
  const path = `${workspacePath(requireWorkspace(options))}/api-keys/${encodeURIComponent(id)}`;
  const body = {
    ...(name === undefined ? {} : { name }),
    ...(expires === undefined ? {} : { expiresAt: expires === 'never' ? null : parseExpiry(expires, new Date()) }),
  };
  const { data } = await connect(options).send<ApiKey>('PUT', path, { body });
  await printResult(options, data, () =>
    renderPairs([
      ['Id', data.id],
      ['Name', data.name],
      ['Expires', data.expiresAt ?? 'never'],
    ]),
  );
}

async function revoke(id: string, options: GlobalOptions): Promise<void> {
  const address = requireWorkspace(options);
  await connect(options).send('DELETE', `${workspacePath(address)}/api-keys/${encodeURIComponent(id)}`);
  await printResult(options, { revoked: id }, () => `Revoked key ${id} of ${workspaceName(address)}`);
}

const UNITS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Parses `30d`, `12h`, `15m` from `now`, a date (its start in UTC) or a date and time with Z or an offset to ISO 8601 in UTC. */
export function parseExpiry(text: string, now: Date): string {
  const duration = /^(\d{1,6})([mhd])$/.exec(text);
  const moment =
    duration === null
      ? parseMoment(text)
      : now.getTime() + Number(duration[1]) * UNITS[duration[2] as keyof typeof UNITS];
  if (Number.isNaN(moment))
    throw usageFailure(
      `An expiry is a duration (30d, 12h, 15m), a date or a date and time with Z or an offset, not ${text}`,
    );
  if (moment <= now.getTime()) throw usageFailure(`The expiry ${text} is not in the future`);
  return new Date(moment).toISOString();
}

/** Parses an ISO 8601 date or date and time to milliseconds, or NaN; Date.parse alone would accept 30 February. */
function parseMoment(text: string): number {
  const date = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/.exec(text)?.[1];
  const day = date === undefined ? Number.NaN : Date.parse(date);
  return Number.isNaN(day) || new Date(day).toISOString().slice(0, 10) !== date ? Number.NaN : Date.parse(text);
}

async function createClient(name: string, options: GlobalOptions & CredentialOptions): Promise<void> {
  const path = `${workspacePath(requireWorkspace(options))}/oauth-clients`;
  const body = { name, ...credentialBody(options) };
  const { data } = await connect(options).send<OAuthClientCreated>('POST', path, { body });
  await printOnce(options, 'secret', data, [
    ['Client id', data.clientId],
    ['Client secret', data.clientSecret],
    ...describeCredential(data),
  ]);
}

async function listClients(options: GlobalOptions): Promise<void> {
  const address = requireWorkspace(options);
  const clients = await connect(options).readAll<OAuthClient>(`${workspacePath(address)}/oauth-clients`);
  const names = markedNames(clients);
  const head = ['CLIENT ID', 'NAME', 'PERMISSIONS', 'ENTITIES', 'CREATED'];
  await printList(options, clients, `No OAuth clients in ${workspaceName(address)}`, head, (client, index) => [
    client.clientId,
    names[index],
    permissionsText(client),
    reachText(client),
    client.createdAt,
  ]);
}

async function removeClient(id: string, options: GlobalOptions): Promise<void> {
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
  const head = ['KEY ID', 'STATE', 'CREATED', 'ROTATED', 'EXPIRES'];
  return printList(options, keys, 'No signing keys yet: the first token makes one', head, (key) => [
    key.kid,
    key.state,
    key.createdAt,
    key.rotatedAt,
    key.expiresAt,
  ]);
}

interface CredentialOptions {
  readonly permissions?: string;
  readonly entities?: string;
  readonly roles?: string;
  readonly claims?: string;
}

const addCredentialOptions = (command: Command): Command =>
  command
    .option(
      '--permissions <permissions>',
      'READ_ONLY, READ_WRITE (these two: data only), GRANTS (what a role may) or OWNER; required',
    )
    .option(
      '--entities <names>',
      'the only entities that it reaches, separated by commas; needs READ_WRITE or READ_ONLY',
    )
    .option('--roles <names>', 'the roles that it has, separated by commas; needs GRANTS')
    .option('--claims <json>', 'the claims that it has, such as \'{"tenant": 7}\'; needs GRANTS');

/** Returns the members of a body that creates a key or client. A key without permissions would be an owner's. */
function credentialBody({ permissions, entities, roles, claims }: CredentialOptions) {
  if (permissions === undefined)
    throw usageFailure('Permissions are needed', [
      'Pass --permissions READ_ONLY or READ_WRITE (for the data alone), GRANTS (for what a role may), or OWNER (for schema, keys and settings, too).',
    ]);
  return {
    permissions: parsePermissions(permissions, KEY_PERMISSIONS),
    ...entitiesMember(entities),
    ...(roles === undefined ? {} : { roles: parseNames('--roles', roles) }),
    ...(claims === undefined ? {} : { claims: parseClaims(claims) }),
  };
}

/** Parses `orders,items` into a member of a body; no member without text. */
export const entitiesMember = (text: string | undefined): { readonly entities?: readonly string[] } =>
  text === undefined ? {} : { entities: parseNames('--entities', text) };

function parseNames(option: string, text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.includes('')) throw usageFailure(`${option} takes names separated by commas, not ${text || '""'}`);
  return names;
}

/** Parses a JSON object. The digits of its numbers stay as they are. */
function parseClaims(text: string): unknown {
  const mistake = (): CommandFailure => usageFailure(`--claims takes a JSON object, not ${text || '""'}`);
  let claims: unknown;
  try {
    claims = parseExact(text);
  } catch {
    throw mistake();
  }
  if (!isObject(claims)) throw mistake();
  return claims;
}

const KEY_PERMISSIONS = ['OWNER', 'READ_WRITE', 'READ_ONLY', 'GRANTS'] as const;

/** Parses permissions such as `read-only`, `readonly` or `READ_ONLY` into one of `choices`, in the form of the admin API. */
export function parsePermissions<Choice extends string>(text: string, choices: readonly Choice[]): Choice {
  const letters = text.toUpperCase().replaceAll(/[^A-Z]/g, '');
  const permissions = choices.find((choice) => choice.replace('_', '') === letters);
  if (permissions === undefined)
    throw usageFailure(`Permissions are ${choices.join(choices.length === 2 ? ' or ' : ', ')}, not ${text}`);
  return permissions;
}

/** Formats the entities that a key or client reaches, for people. */
export const entitiesText = (entities: readonly string[] | null): string =>
  entities === null ? 'all' : entities.join(', ') || 'none';

/** Formats the entities of a key or client, for people. */
const reachText = ({ entities, roles }: ApiKey | OAuthClient): string =>
  roles === undefined ? entitiesText(entities) : 'by its grants';

/** Formats permissions with the roles of a key or client that acts as a role, for people. */
const permissionsText = ({ permissions, roles }: ApiKey | OAuthClient): string =>
  roles === undefined ? permissions : `${permissions} (${roles.join(', ') || 'no role'})`;

/** Returns names for a list; a shared name has the number of its items, because it identifies none of them. */
function markedNames(items: readonly { readonly name: string }[]): readonly string[] {
  const counts = Map.groupBy(items, ({ name }) => name);
  return items.map(({ name }) => {
    const { length } = counts.get(name) ?? [];
    return length > 1 ? `${name} (${length} of this name)` : name;
  });
}

type Pairs = readonly (readonly [string, unknown])[];

const describeCredential = (credential: ApiKeyCreated | OAuthClientCreated): Pairs => [
  ['Name', credential.name],
  ['Permissions', permissionsText(credential)],
  ['Entities', reachText(credential)],
  ...(credential.claims === undefined ? [] : [['Claims', JSON.stringify(credential.claims)] as const]),
];

/** Prints a new credential with its `secret`, which the server does not show again. */
const printOnce = (options: GlobalOptions, secret: string, data: unknown, pairs: Pairs): Promise<void> =>
  printResult(options, data, () => `${renderPairs(pairs)}\n\nKeep the ${secret} now: it is not shown again.`);
