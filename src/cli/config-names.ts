// Finds the names that several keys, clients or webhooks of a workspace have, which a configuration file cannot manage.

import { type WorkspaceAddress, workspaceName } from './command.ts';
import type { Actual } from './config-actual.ts';
import type { DesiredOrganization } from './config-file.ts';
import { LISTS, type Values } from './config-parts.ts';

/** Ambiguous name, which several keys or clients of a workspace have. */
export interface SharedName {
  readonly address: WorkspaceAddress;
  /** Member of LISTS. */
  readonly member: string;
  readonly name: string;
  readonly ids: readonly string[];
}

/** Returns the names that several items of a list of a workspace have. */
export function sharedNames(address: WorkspaceAddress, member: string, items: readonly Values[]): SharedName[] {
  const groups = Map.groupBy(items, ({ name }) => String(name));
  return [...groups]
    .filter(([, group]) => group.length > 1)
    .map(([name, group]) => ({ address, member, name, ids: group.map((item) => String(item[LISTS[member]!.id])) }));
}

/** Returns the names of the file that several items of the server have. */
export function ambiguousNames(desired: readonly DesiredOrganization[], actual: Actual): readonly SharedName[] {
  return desired.flatMap(({ slug, workspaces }) =>
    workspaces.flatMap(({ address, lists }) =>
      Object.entries(lists).flatMap(([member, items]) =>
        sharedNames(
          address,
          member,
          actual.organizations[slug]?.workspaces[address.workspace]?.lists[member] ?? [],
        ).filter(({ name }) => Object.hasOwn(items, name)),
      ),
    ),
  );
}

/** Describes the items that share a name, with ten ids at most. */
export const describeShared = ({ address, member, name, ids }: SharedName): string =>
  `${LISTS[member]!.label} ${name} of ${workspaceName(address)} (ids ${ids.slice(0, 10).join(', ')}${ids.length > 10 ? ', …' : ''})`;

/** Returns the command that deletes an item, without its id. */
export const getDeleteCommand = ({ address, member }: SharedName): string =>
  `${LISTS[member]!.deleteCommand} <id> -w ${workspaceName(address)}`;
