// Shares options and table cells between the commands for API keys and OAuth clients.
import type { Command } from 'commander';
import { usageFailure } from './failure.ts';

export interface CredentialOptions {
  readonly permissions?: string;
  readonly entities?: string;
}

export const addCredentialOptions = (command: Command): Command =>
  command
    .option('--permissions <permissions>', 'OWNER (default), READ_WRITE or READ_ONLY (the last two: data only)')
    .option(
      '--entities <names>',
      'the only entities that it reaches, separated by commas; needs READ_WRITE or READ_ONLY',
    );

/** Returns the members of a body that creates a key or client; none for a missing option. */
export const credentialBody = ({ permissions, entities }: CredentialOptions) => ({
  ...(permissions === undefined ? {} : { permissions: parsePermissions(permissions) }),
  ...entitiesMember(entities),
});

/** Parses `orders,items` into a member of a body; no member without text. */
export function entitiesMember(text: string | undefined): { readonly entities?: readonly string[] } {
  if (text === undefined) return {};
  const entities = text.split(',').map((name) => name.trim());
  if (entities.includes('')) throw usageFailure(`--entities takes names separated by commas, not ${text || '""'}`);
  return { entities };
}

const KEY_PERMISSIONS = ['OWNER', 'READ_WRITE', 'READ_ONLY'] as const;

/** Parses permissions such as `read-only` or `READ_ONLY` into the form of the admin API. */
export function parsePermissions(text: string): (typeof KEY_PERMISSIONS)[number] {
  const name = text.toUpperCase().replaceAll('-', '_');
  const permissions = KEY_PERMISSIONS.find((choice) => choice === name);
  if (permissions === undefined) throw usageFailure(`Permissions are ${KEY_PERMISSIONS.join(', ')}, not ${text}`);
  return permissions;
}

/** Formats the entities that a key or client reaches, for people. */
export const entitiesText = (entities: readonly string[] | null): string =>
  entities === null ? 'all' : entities.join(', ') || 'none';

/** Returns names for a list; a shared name has the number of its items, because it identifies none of them. */
export function markedNames(items: readonly { readonly name: string }[]): readonly string[] {
  const counts = Map.groupBy(items, ({ name }) => name);
  return items.map(({ name }) => {
    const { length } = counts.get(name) ?? [];
    return length > 1 ? `${name} (${length} of this name)` : name;
  });
}
