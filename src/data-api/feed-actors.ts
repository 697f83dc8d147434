// Facts about the events of a feed or of a history besides their rows: ids, and who made the changes, with the names that keys,
// clients and people have now.
import type { Principal } from '../model/principal.ts';
import { getEpoch, type Workspace } from '../model/workspace.ts';
import type { FeedView } from '../plan/feed.ts';
import type { FeedRow } from '../plan/result.ts';
import type { EventContext } from '../response/feed.ts';
import { toControlError } from '../store/control-error.ts';
import { loadCredentialNames } from '../store/credentials.ts';
import type { Databases } from '../store/databases.ts';
import type { FeedSeals } from './feed-cursor.ts';

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
  const ids = seals.toEventIds(workspace.id, listTexts(rows, 'seq'));
  const transactions = seals.toTransactionIds(workspace.id, listTexts(rows, 'xid'));
  const names =
    principal.kind === 'external' ? undefined : await loadActorNames(databases, workspace.id, listTexts(rows, 'actor'));
  return {
    views,
    epoch: getEpoch(workspace),
    toEventId: (seq) => ids.get(seq) ?? '',
    toTransactionId: (xid) => transactions.get(xid) ?? '',
    showActor: names === undefined ? () => undefined : makeShowActor(names),
  };
}

function listTexts(rows: readonly FeedRow[], member: 'seq' | 'xid' | 'actor'): readonly string[] {
  const texts: string[] = [];
  for (const row of rows) {
    const text = row[member];
    if (text !== null) texts.push(text);
  }
  return texts;
}

// The begin of the text of an actor (describeActor()) that has a name: parsing the texts of 1,000 rows would take 1 ms.
const CREDENTIAL = /^\{"kind":"(key|client|person)","id":"([^"\\]+)"/;

/** Makes a search for the begin that tries first what it has found before: most changes are by the same few. */
function makeFindBegin(): (actor: string) => string | undefined {
  let last: string | undefined;
  return (actor) => {
    if (last !== undefined && actor.startsWith(last)) return last;
    const begin = CREDENTIAL.exec(actor)?.[0];
    last = begin ?? last;
    return begin;
  };
}

/** Returns the names of keys, clients and people by the begin of their text. */
async function loadActorNames(
  databases: Pick<Databases, 'directory'>,
  workspaceId: string,
  actors: readonly string[],
): Promise<ReadonlyMap<string, string | null>> {
  const findBegin = makeFindBegin();
  const credentials = new Map<string, string>();
  for (const actor of actors) {
    const begin = findBegin(actor);
    if (begin === undefined || credentials.has(begin)) continue;
    const [, kind, id] = CREDENTIAL.exec(begin) ?? [];
    credentials.set(begin, `${kind}:${id}`);
  }
  if (credentials.size === 0) return new Map();
  const names = await loadCredentialNames(databases.directory, workspaceId, [...new Set(credentials.values())]).catch(
    rethrowControl,
  );
  return new Map([...credentials].map(([begin, credential]) => [begin, names.get(credential) ?? null]));
}

/** Throws the error of a statement on the control tables as one of the API. */
export function rethrowControl(error: unknown): never {
  throw toControlError(error);
}

/** Makes the function that returns the actor of a change as JSON text, with the name that its key, client or person has now. */
function makeShowActor(names: ReadonlyMap<string, string | null>): (actor: string | null) => string {
  const findBegin = makeFindBegin();
  const members = new Map([...names].map(([begin, name]) => [begin, `,"name":${JSON.stringify(name)}`]));
  return (actor) => {
    if (actor === null) return 'null';
    const begin = findBegin(actor);
    return begin === undefined ? actor : begin + (members.get(begin) ?? ',"name":null') + actor.slice(begin.length);
  };
}
