// Readers of feeds during a run, by pages, by waiting and by a live stream, as owner and as users. At the end all of them
// must have had the same changes in the same order, and what results from these must be what is stored.
import { setTimeout as sleep } from 'node:timers/promises';
import { readMessages } from '../support/event-stream.ts';
import { applyFeed, compareFeeds, type FeedEvent, type Records } from '../support/feed-journal.ts';
import { type Field, USERS } from './clients.ts';
import type { Batch } from './journal.ts';

export interface Feeds {
  /** Reads to the end. Returns everything that is wrong with the feeds, and the records that result from them. */
  finish(): Promise<{ readonly wrong: string[]; readonly events: readonly FeedEvent[]; readonly records: Records }>;
  stop(): Promise<void>;
}

/** What the readers share. */
interface Reading {
  readonly field: Field;
  readonly url: string;
  /** Whether nothing more is written. */
  readonly isLast: () => boolean;
  readonly signal: AbortSignal;
}

interface Reader {
  readonly name: string;
  readonly events: FeedEvent[];
  /** Resolves when everything is read. */
  readonly end: Promise<void>;
}

interface PageReader {
  readonly path: string;
  readonly size: number;
  /** Seconds that a page without events waits. */
  readonly wait?: number;
  readonly credential: () => string;
  readonly start: string;
}

const ENTITIES = 'entities=entries,parcels,counters';
const PAUSE_MS = 60;
// A reader that has not come to the end by then never will.
const NEVER_MS = 60_000;
/** Fields that migrations add, drop, rename and convert: events from before a conversion have no value of the field. */
const UNSTABLE = ['amount', 'extra', 'note', 'remark'];
/** Fields that clients update: no migration may have an event of its own. */
const UPDATED = new Set(['value', 'number', 'mark']);

/** Starts the readers; resolves when each has its cursor. `url`: of the server. */
export async function startFeeds(field: Field, url: string): Promise<Feeds> {
  let isLast = false;
  const abort = new AbortController();
  const reading: Reading = { field, url, isLast: () => isLast, signal: abort.signal };
  const owner = () => field.ownerKey;
  const cursorOf = async (path: string, credential: () => string): Promise<string> =>
    ((await field.caller.ask(path, { credential: credential() })) as { json?: { meta: { cursor: string } } }).json?.meta
      .cursor ?? '';
  const all = `_changes?previous=true&${ENTITIES}`;
  const start = await cursorOf(`${field.path}/${all}`, owner);
  const readers = [
    readPages('pages', reading, { path: all, size: 500, credential: owner, start }),
    readPages('pages that wait', reading, { path: all, size: 60, wait: 2, credential: owner, start }),
    readStream('a stream', reading, { path: all, start }),
  ];
  const users: [user: string, reader: Reader][] = [];
  for (const user of USERS) {
    const path = 'entries/_changes?previous=true';
    const credential = () => field.tokenOf(user);
    const own = await cursorOf(`${field.path}/${path}`, credential);
    users.push([user, readPages(`pages of ${user}`, reading, { path, size: 20, credential, start: own })]);
  }
  const everybody = [...readers, ...users.map(([, reader]) => reader)];
  return {
    async finish() {
      isLast = true;
      await Promise.all(everybody.map(({ end }) => end));
      const [{ events }, ...others] = readers.map(({ name, events }) => ({ name, events })) as [Reader, ...Reader[]];
      const { wrong, records } = applyFeed(events, { unstable: UNSTABLE });
      for (const other of others) wrong.push(...compareFeeds(other.name, other.events, events));
      for (const [user, reader] of users) wrong.push(...compareFeeds(reader.name, reader.events, viewOf(user, events)));
      for (const { type, changed = [], id } of events)
        if (type === 'updated' && !changed.every((name) => UPDATED.has(name)))
          wrong.push(`${id} says that ${changed.join()} was changed, which no client did`);
      field.done['events of a feed'] = events.length;
      return { wrong, events, records };
    },
    async stop() {
      abort.abort();
      await Promise.allSettled(everybody.map(({ end }) => end));
    },
  };
}

/** Events of the entries that are a user's: an entry never changes its owner. */
const viewOf = (user: string, events: readonly FeedEvent[]): FeedEvent[] =>
  events.filter(
    ({ entity, recordId, record, previous }) =>
      entity === 'entries' && (recordId === undefined || (record ?? previous)?.owner === user),
  );

/** Reads pages until nothing is left, each from the cursor of the last one that was answered. */
function readPages(name: string, { field, isLast, signal }: Reading, options: PageReader): Reader {
  const { path, size, wait = 0, credential, start } = options;
  const events: FeedEvent[] = [];
  async function read(): Promise<void> {
    let limit = Number.POSITIVE_INFINITY;
    for (let cursor = start; !signal.aborted; ) {
      const wasLast = isLast();
      if (wasLast) limit = Math.min(limit, performance.now() + NEVER_MS);
      const seconds = wasLast ? 0 : wait;
      const page = await field.caller.ask(
        `${field.path}/${path}&size=${size}&after=${cursor}${seconds > 0 ? `&wait=${seconds}` : ''}`,
        { credential: credential(), fresh: true },
      );
      if (performance.now() > limit) return field.violation(`${name} never came to the end`);
      if (page.status === undefined || page.status >= 500) {
        await sleep(PAUSE_MS);
        continue;
      }
      if (page.status !== 200) return field.violation(`${name}: ${page.status} ${page.text.slice(0, 300)}`);
      const { data, meta } = page.json;
      events.push(...data);
      cursor = meta.cursor;
      if (wasLast && data.length === 0 && !meta.more) return;
      if (!meta.more && seconds === 0) await sleep(PAUSE_MS);
    }
  }
  return { name, events, end: read() };
}

/** Reads a live stream, which is opened again after the last cursor whenever it ends. */
function readStream(
  name: string,
  { field, url, isLast, signal }: Reading,
  { path, start }: Pick<PageReader, 'path' | 'start'>,
): Reader {
  const events: FeedEvent[] = [];
  async function read(): Promise<void> {
    let limit = Number.POSITIVE_INFINITY;
    for (let cursor = start; !signal.aborted; await sleep(PAUSE_MS)) {
      // The last connection ends where the reader has come to the end.
      const wasLast = isLast();
      if (wasLast) limit = Math.min(limit, performance.now() + NEVER_MS);
      if (performance.now() > limit) return field.violation(`${name} never came to the end`);
      try {
        const response = await fetch(`${url}${field.path}/${path}`, {
          headers: { authorization: `Bearer ${field.ownerKey}`, accept: 'text/event-stream', 'last-event-id': cursor },
          signal: AbortSignal.any([signal, AbortSignal.timeout(wasLast ? NEVER_MS : STREAM_MS)]),
        });
        if (response.status !== 200) {
          const text = await response.text();
          if (response.status < 500) return field.violation(`${name}: ${response.status} ${text.slice(0, 300)}`);
          continue;
        }
        for await (const { event, id, data } of readMessages(response.body as ReadableStream<Uint8Array>)) {
          if (data?.id !== undefined) events.push(data);
          cursor = id ?? cursor;
          if (event === 'caught-up' && wasLast) return;
        }
      } catch {
        // The connection has broken, or was closed after its time: the next one goes on.
      }
    }
  }
  return { name, events, end: read() };
}
// Streams are left now and then, so that they begin again at every moment of a run.
const STREAM_MS = 5000;

/** The same of transactions that set marks as `compareBatches` says of rows: all of one or nothing, and in one piece. */
export function compareMarks(batches: readonly Batch[], events: readonly FeedEvent[]): string[] {
  const wrong: string[] = [];
  const marked = Map.groupBy(
    events.filter(({ entity, type }) => entity === 'counters' && type === 'updated'),
    ({ record }) => String(record?.mark),
  );
  for (const { name, rows, acknowledged } of batches) {
    const found = marked.get(name) ?? [];
    marked.delete(name);
    if (found.length === 0 && !acknowledged) continue;
    if (found.length !== rows) wrong.push(`${name} has ${found.length} events of ${rows}`);
    if (new Set(found.map(({ transaction }) => transaction)).size > 1) wrong.push(`${name} has several transactions`);
  }
  for (const [name, { length }] of marked) wrong.push(`${name} was refused and has ${length} events`);
  return wrong;
}
