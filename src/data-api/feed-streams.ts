// Counts those who wait for changes in this process, streams and polls: limits by process and credential, figures for metrics,
// and the end of all of them at a shutdown.
import type { Config } from '../config.ts';
import { rateLimited, serviceUnavailable } from '../errors.ts';
import type { Metric } from '../metric.ts';
import type { RequestContext } from './context.ts';
import type { Continuation } from './feed-numbering.ts';

/** A page of events as messages of a stream. */
export interface StreamPage {
  readonly events: readonly StreamEvent[];
  /** Where the next page begins. */
  readonly end: Continuation;
  /** Whether there is more to look at now. */
  readonly more: boolean;
}

export interface StreamEvent {
  /** A chunk. */
  readonly message: Uint8Array;
  /** Place after the event. */
  readonly end: Continuation;
}

export interface FeedStreams {
  /** Counts one more until the function that it returns is called; throws 429 beyond a limit, 503 where there are none. */
  readonly take: (context: Pick<RequestContext, 'workspace' | 'principal'>, kind: 'stream' | 'poll') => () => void;
  /** Returns what `read` resolves with, the same for all who ask with the key while it runs. */
  readonly share: (key: string, read: () => Promise<StreamPage>) => Promise<StreamPage>;
  /** Returns the number of open streams of a workspace. */
  readonly countStreams: (workspaceId: string) => number;
  readonly countEvent: () => void;
  readonly countEnd: (code: string) => void;
  /** Returns whether the process shuts down. */
  readonly isEnding: () => boolean;
  readonly endAll: () => void;
  readonly metrics: readonly Metric[];
}

const RETRY_SECONDS = 5;
// Users of an identity provider have this part of what a credential has.
const USER_SHARE = 10;
// The last of this many parts of a process is for workspaces that have less than such a part, as the keys of one workspace
// are as many as its owner likes.
const PARTS = 10;

export function makeFeedStreams(config: Pick<Config, 'maxStreams' | 'streamsPerCredential'>): FeedStreams {
  const { maxStreams, streamsPerCredential } = config;
  const counts = new Map<string, number>();
  const byWorkspace = new Map<string, number>();
  const part = Math.floor(maxStreams / PARTS);
  const shared = new Map<string, Promise<StreamPage>>();
  const endings = new Map<string, number>();
  const streams = new Map<string, number>();
  let total = 0;
  let events = 0;
  let isEnding = false;
  return {
    take({ workspace, principal: { kind, credentialId } }, purpose) {
      const isStream = purpose === 'stream';
      if (isStream && maxStreams === 0)
        throw serviceUnavailable('OVERLOADED', 'This server has no streams: read pages with wait', RETRY_SECONDS);
      if (isStream && isEnding) throw serviceUnavailable('SHUTTING_DOWN', 'The server is shutting down; retry');
      const key = `${workspace.id} ${credentialId}`;
      const count = counts.get(key) ?? 0;
      const most =
        kind === 'external' ? Math.max(1, Math.floor(streamsPerCredential / USER_SHARE)) : streamsPerCredential;
      const isOverPart = part > 0 && total >= maxStreams - part && (byWorkspace.get(workspace.id) ?? 0) >= part;
      if (count >= most || isOverPart || total >= Math.max(1, maxStreams)) throw rateLimited(RETRY_SECONDS);
      addTo(counts, key, 1);
      addTo(byWorkspace, workspace.id, 1);
      if (isStream) addTo(streams, workspace.id, 1);
      total++;
      let isTaken = true;
      return () => {
        if (!isTaken) return;
        isTaken = false;
        addTo(counts, key, -1);
        addTo(byWorkspace, workspace.id, -1);
        if (isStream) addTo(streams, workspace.id, -1);
        total--;
      };
    },
    share(key, read) {
      const running = shared.get(key);
      if (running !== undefined) return running;
      const reading = read().finally(() => shared.delete(key));
      shared.set(key, reading);
      return reading;
    },
    countStreams: (workspaceId) => streams.get(workspaceId) ?? 0,
    countEvent: () => void events++,
    countEnd: (code) => void endings.set(code, (endings.get(code) ?? 0) + 1),
    isEnding: () => isEnding,
    endAll() {
      isEnding = true;
    },
    metrics: [
      {
        name: 'wda_streams',
        help: 'Streams of changes that are open',
        read: () => streams.values().reduce((sum, count) => sum + count, 0),
      },
      { name: 'wda_stream_events_total', help: 'Events sent in streams of changes', read: () => events },
      {
        name: 'wda_streams_ended_total',
        help: 'Streams of changes that the server has ended, by the code that it sent',
        label: 'code',
        read: () => Object.fromEntries(endings),
      },
    ],
  };
}

/** Changes a count, which is not kept when it is 0. */
function addTo(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
