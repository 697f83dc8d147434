// `wda key`: manages API keys of a workspace. The server stores only a hash, so a key is shown once, when it is created.
import type { Command } from 'commander';
import type { ApiKey, ApiKeyCreated } from '../../../admin-types/admin-api.d.ts';
import { action, examples } from '../command.ts';
import { connect, type GlobalOptions, requireWorkspace, workspaceName, workspacePath } from '../connection.ts';
import {
  addCredentialOptions,
  type CredentialOptions,
  credentialBody,
  entitiesText,
  markedNames,
} from '../credentials.ts';
import { usageFailure } from '../failure.ts';
import { printResult } from '../io.ts';
import { renderPairs, renderTable } from '../table.ts';

export function register(program: Command): void {
  const group = program.command('key').description('API keys of a workspace');
  const creation = addCredentialOptions(
    group.command('create').description('create a key; it is shown once').argument('<name>', 'what it is for'),
  )
    .option('--expires <when>', '30d, 12h or 15m from now, a date, or a date and time with Z or an offset')
    .action(action(create));
  examples(creation, [
    'wda key create website -w acme/shop --permissions READ_ONLY --expires 90d',
    'wda key create nightly -w acme/shop --permissions READ_ONLY --entities orders,customers',
    'WDA_KEY=$(wda key create ci -w acme/shop --json | jq -r .key)',
  ]);
  group.command('list').description('list the keys: prefix, permissions, last use').action(action(list));
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
}

async function create(
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
  await printResult(options, data, () =>
    [
      renderPairs([
        ['Key', data.key],
        ['Id', data.id],
        ['Name', data.name],
        ['Permissions', data.permissions],
        ['Entities', entitiesText(data.entities)],
        ['Expires', data.expiresAt ?? 'never'],
      ]),
      '',
      'Keep the key now: it is not shown again.',
    ].join('\n'),
  );
}

async function list(options: GlobalOptions): Promise<void> {
  const address = requireWorkspace(options);
  const keys = await connect(options).readAll<ApiKey>(`${workspacePath(address)}/api-keys`);
  const names = markedNames(keys);
  await printResult(options, keys, () =>
    keys.length === 0
      ? `No keys in ${workspaceName(address)}`
      : renderTable(
          ['ID', 'PREFIX', 'NAME', 'PERMISSIONS', 'ENTITIES', 'CREATED', 'LAST USED', 'EXPIRES'],
          keys.map((key, index) => [
            key.id,
            key.prefix,
            names[index],
            key.permissions,
            entitiesText(key.entities),
            key.createdAt,
            key.lastUsedAt ?? 'never',
            key.expiresAt ?? 'never',
          ]),
        ),
  );
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
