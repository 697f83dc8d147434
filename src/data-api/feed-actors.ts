// Facts about the events of a feed or of a history besides their rows: ids, and who made the changes, with the names that keys
// and clients have now.
import type { Principal } from '../model/principal.ts';
import type { Workspace } from '../model/workspace.ts';
import type { FeedView } from '../plan/feed.ts';
import type { FeedRow } from '../plan/result.ts';
import type { EventContext } from '../response/feed.ts';
import { toControlError } from '../store/control-error.ts';
import { loadCredentialNames } from '../store/credentials.ts';
import type { Databases } from '../store/databases.ts';
import type { FeedSeals } from './feed-cursor.ts';
import { getEpoch } from './feed-numbering.ts';

/** A page of events as it is shown to a principal. */
export interface ShownPage {
  readonly workspace: Workspace;
  readonly principal: Principal;
  readonly views: readonly FeedView[];
  readonly rows: readonly FeedRow[];
  readonly seals: FeedSeals;
}

/** Loads what formatEvent() needs for the rows of a page. */
export async function loadEventContext(
  databases: Pick<Databases, 'directory'>,
  { workspace, principal, views, rows, seals }: ShownPage,
): Promise<EventContext> {
  const names = await loadActorNames(databases, workspace.id, rows, principal);
  return {
    views,
    epoch: getEpoch(workspace),
    toEventId: (seq) => seals.toEventId(workspace.id, seq),
    toTransactionId: (xid) => seals.toTransactionId(workspace.id, xid),
    showActor: (actor) => (names === undefined ? undefined : showActor(actor, names)),
  };
}

/** Returns the names of keys and clients by their kinds and ids, or undefined where events show no actor. */
async function loadActorNames(
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
function showActor(actor: string | null, names: ReadonlyMap<string, string>): string {
  if (actor === null) return 'null';
  const { kind, id, ...rest } = JSON.parse(actor) as StoredActor;
  const name = kind === 'key' || kind === 'client' ? (names.get(`${kind}:${id}`) ?? null) : undefined;
  return JSON.stringify({ kind, id, ...(name === undefined ? {} : { name }), ...rest });
}
