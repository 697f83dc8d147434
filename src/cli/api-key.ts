// `wda key`: API keys of a workspace. The server keeps a hash only, so a key is printed once, when it is created.

import { chosenWorkspace, connect, type GlobalOptions, workspaceName, workspacePath } from './connection.ts';
import { entitiesMember, entitiesText, markedNames } from './credentials.ts';
import { usageFailure } from './failure.ts';
import { printResult } from './io.ts';
import { renderPairs, renderTable } from './table.ts';

const UNITS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const PERMISSIONS = ['OWNER', 'READ_WRITE', 'READ_ONLY'] as const;

interface ApiKey {
  readonly id: number | string;
  readonly name: string;
  readonly permissions: string;
  readonly entities?: readonly string[] | null;
  readonly prefix?: string;
  readonly key?: string;
  readonly createdAt?: string | null;
  readonly expiresAt?: string | null;
  readonly lastUsedAt?: string | null;
  readonly revokedAt?: string | null;
}

export interface NewKeyOptions extends GlobalOptions {
  readonly permissions?: string;
  readonly entities?: string;
  readonly expires?: string;
}

/** Creates a key; `now` is what a duration such as 30d counts from. */
export async function createKey(name: string, options: NewKeyOptions, now = new Date()): Promise<void> {
  const address = chosenWorkspace(options);
  const { data } = await connect(options).send('POST', `${workspacePath(address)}/api-keys`, {
    body: {
      name,
      ...(options.permissions === undefined ? {} : { permissions: parsePermissions(options.permissions) }),
      ...entitiesMember(options.entities),
      ...(options.expires === undefined ? {} : { expiresAt: parseExpiry(options.expires, now) }),
    },
  });
  const created = data as ApiKey;
  await printResult(options, data, () =>
    [
      renderPairs([
        ['Key', created.key],
        ['Id', created.id],
        ['Name', created.name],
        ['Permissions', created.permissions],
        ['Entities', entitiesText(created.entities)],
        ['Expires', created.expiresAt ?? 'never'],
      ]),
      '',
      'Keep the key now: it is not shown again.',
    ].join('\n'),
  );
}

export async function listKeys(options: GlobalOptions): Promise<void> {
  const address = chosenWorkspace(options);
  const found = (await connect(options).readAll(`${workspacePath(address)}/api-keys`)) as readonly ApiKey[];
  const names = markedNames(found.map(({ name }) => name));
  await printResult(options, found, () =>
    found.length === 0
      ? `No keys in ${workspaceName(address)}`
      : renderTable(
          ['ID', 'PREFIX', 'NAME', 'PERMISSIONS', 'ENTITIES', 'CREATED', 'LAST USED', 'EXPIRES'],
          found.map((key, index) => [
            key.id,
            key.prefix,
            names[index],
            key.permissions,
            entitiesText(key.entities),
            key.createdAt,
            key.lastUsedAt ?? 'never',
            key.revokedAt ? `revoked ${key.revokedAt}` : (key.expiresAt ?? 'never'),
          ]),
        ),
  );
}

export interface KeyChangeOptions extends GlobalOptions {
  readonly name?: string;
  readonly expires?: string;
}

/** Gives a key another name or another end; `never` takes its end away. */
export async function updateKey(id: string, options: KeyChangeOptions, now = new Date()): Promise<void> {
  const { name, expires } = options;
  if (name === undefined && expires === undefined) throw usageFailure('Nothing to change: give --name or --expires');
  const address = chosenWorkspace(options);
  const path = `${workspacePath(address)}/api-keys/${encodeURIComponent(id)}`;
  const body = {
    ...(name === undefined ? {} : { name }),
    ...(expires === undefined ? {} : { expiresAt: expires === 'never' ? null : parseExpiry(expires, now) }),
  };
  const { data } = await connect(options).send('PUT', path, { body });
  const key = data as ApiKey;
  await printResult(options, data, () =>
    renderPairs([
      ['Id', key.id],
      ['Name', key.name],
      ['Expires', key.expiresAt ?? 'never'],
    ]),
  );
}

/** Revokes a key by its id; it stops working everywhere within a second. */
export async function revokeKey(id: string, options: GlobalOptions): Promise<void> {
  const address = chosenWorkspace(options);
  await connect(options).send('DELETE', `${workspacePath(address)}/api-keys/${encodeURIComponent(id)}`);
  await printResult(options, { revoked: id }, () => `Revoked key ${id} of ${workspaceName(address)}`);
}

/** `read-only`, `READ_ONLY` and the like as the admin API writes it. */
export function parsePermissions(text: string): (typeof PERMISSIONS)[number] {
  const wanted = text.toUpperCase().replaceAll('-', '_');
  const found = PERMISSIONS.find((permissions) => permissions === wanted);
  if (found === undefined) throw usageFailure(`Permissions are ${PERMISSIONS.join(', ')}, not ${text}`);
  return found;
}

/** `30d`, `12h`, `15m` from `now`, a date (its start in UTC) or a date and time with Z or an offset; gives ISO 8601 in UTC. */
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

/** Milliseconds of an ISO 8601 date or date and time, NaN for anything else; Date.parse alone would take 30 February. */
function parseMoment(text: string): number {
  const date = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/.exec(text)?.[1];
  const day = date === undefined ? Number.NaN : Date.parse(date);
  return Number.isNaN(day) || new Date(day).toISOString().slice(0, 10) !== date ? Number.NaN : Date.parse(text);
}
