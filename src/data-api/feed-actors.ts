// Who made the changes of a feed or of a history, with the names that keys and clients have now.
import type { Principal } from '../model/principal.ts';
import type { FeedRow } from '../plan/result.ts';
import { toControlError } from '../store/control-error.ts';
import { loadCredentialNames } from '../store/credentials.ts';
import type { Databases } from '../store/databases.ts';

/** Returns the names of keys and clients by their kinds and ids, or undefined where events show no actor. */
export async function loadActorNames(
  databases: Pick<Databases, 'directory'>,
  workspaceId: string,
  rows: readonly FeedRow[],
  principal: Principal,
): Promise<ReadonlyMap<string, string> | undefined> {
  if (principal.kind === 'external') return undefined;
  const actors = rows.flatMap(({ actor }) => (actor === null ? [] : [JSON.parse(actor) as StoredActor]));
  const credentials = [
    ...new Set(actors.flatMap(({ kind, id }) => (kind === 'key' || kind === 'client' ? [`${kind}:${id}`] : []))),
  ];
  if (credentials.length === 0) return new Map();
  return loadCredentialNames(databases.directory, workspaceId, credentials).catch(rethrowControl);
}

/** Throws the error of a statement on the control tables as one of the API. */
export function rethrowControl(error: unknown): never {
  throw toControlError(error);
}

interface StoredActor {
  readonly kind: 'operator' | 'key' | 'client' | 'user';
  readonly id: string;
}

/** Returns the actor of a change as JSON text, with the name that its key or client has now. */
export function showActor(actor: string | null, names: ReadonlyMap<string, string>): string {
  if (actor === null) return 'null';
  const { kind, id, ...rest } = JSON.parse(actor) as StoredActor;
  const name = kind === 'key' || kind === 'client' ? (names.get(`${kind}:${id}`) ?? null) : undefined;
  return JSON.stringify({ kind, id, ...(name === undefined ? {} : { name }), ...rest });
}
