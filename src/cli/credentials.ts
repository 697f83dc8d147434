// What API keys and OAuth clients have in common: their options, and how both are listed.
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

/** The members of a body that creates a key or client; none for an option that was not given. */
export const credentialBody = ({ permissions, entities }: CredentialOptions) => ({
  ...(permissions === undefined ? {} : { permissions: parsePermissions(permissions) }),
  ...entitiesMember(entities),
});

/** `orders,items` as a member of a body; no member when it was not given. */
export function entitiesMember(text: string | undefined): { readonly entities?: readonly string[] } {
  if (text === undefined) return {};
  const entities = text.split(',').map((name) => name.trim());
  if (entities.includes('')) throw usageFailure(`--entities takes names separated by commas, not ${text || '""'}`);
  return { entities };
}

const KEY_PERMISSIONS = ['OWNER', 'READ_WRITE', 'READ_ONLY'] as const;

/** `read-only`, `READ_ONLY` and the like as the admin API writes it. */
export function parsePermissions(text: string): (typeof KEY_PERMISSIONS)[number] {
  const name = text.toUpperCase().replaceAll('-', '_');
  const permissions = KEY_PERMISSIONS.find((choice) => choice === name);
  if (permissions === undefined) throw usageFailure(`Permissions are ${KEY_PERMISSIONS.join(', ')}, not ${text}`);
  return permissions;
}

/** The entities that a key or client reaches, for people. */
export const entitiesText = (entities: readonly string[] | null): string =>
  entities === null ? 'all' : entities.join(', ') || 'none';

/** Names for a list; one that several have is shown with their number, as it identifies none of them. */
export function markedNames(items: readonly { readonly name: string }[]): readonly string[] {
  const counts = Map.groupBy(items, ({ name }) => name);
  return items.map(({ name }) => {
    const { length } = counts.get(name) ?? [];
    return length > 1 ? `${name} (${length} of this name)` : name;
  });
}
