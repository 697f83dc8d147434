// Backups as streams of bytes, and restores from them. What may be at once is limited, as each holds a connection for as
// long as it takes.
import { once } from 'node:events';
import { PassThrough, type Readable } from 'node:stream';
import manifest from '../../package.json' with { type: 'json' };
import { findNode } from '../catalog/node-of-workspace.ts';
import { placeAway } from '../db/errors.ts';
import type { Caller, Place } from '../db/executor.ts';
import type { Session } from '../db/pool.ts';
import type { Databases } from '../directory/databases.ts';
import { payloadTooLarge, queryTimeout } from '../errors.ts';
import { type ConcurrencyLimiter, makeConcurrencyLimiter } from '../limits/concurrency.ts';
import { type MinRate, makeRateMeter, readUpload } from '../limits/upload.ts';
import { cutWhenUnavailable, refuseWhileUnavailable } from '../topology/unavailable.ts';
import { inHeldSnapshot, piecesOf, snapshotTime, TENANTS, type Wanted } from './dump.ts';
import { makeRoom } from './emptiness.ts';
import { MAX_DATA, readFile, writeFile } from './format.ts';
import { type Address, type Restored, restoreAll } from './restore.ts';

export interface BackupLimits {
  /** Longest time of one, and of each of its statements. */
  readonly timeoutMs: number;
  /** How long one waits for its turn. */
  readonly waitMs: number;
  /** Longest time that a client may leave the stream unread. */
  readonly stallMs: number;
  readonly readFloor: MinRate;
  readonly sendFloor: MinRate;
  /** Longest file that is restored, in bytes. */
  readonly maxBytes: number;
  /** Longest schema document in it. */
  readonly maxDocumentBytes: number;
}

export interface Restore {
  readonly source: Readable;
  readonly caller: Caller;
  /** Where the one workspace of the file goes; missing: where it was. */
  readonly as?: Address | undefined;
  /** Written in its transaction. */
  readonly note: (session: Session, restored: Restored) => Promise<void>;
}

export interface Backups {
  /** The bytes of a backup, once its snapshot is taken: an error until then is thrown, a later one destroys the stream. */
  readonly open: (wanted: Wanted, caller: Caller) => Promise<Readable>;
  /** All of a file or nothing. */
  readonly restore: (restore: Restore) => Promise<Restored>;
}

// Of the instance a backup and a restore are under way, and of all workspaces one backup; more would take the connections
// of imports and exports. Owners who read slowly hold up each other, never the operator.
const AT_ONCE = { instance: 2, workspaces: 1 } as const;
const MAX_WAITING = 20;

export function makeBackups(databases: Databases, limits: BackupLimits): Backups {
  const db = databases.directory;
  const { timeoutMs, waitMs } = limits;
  const turnsOf = (count: number) =>
    makeConcurrencyLimiter({ count, of: 'backups and restores', maxWaiting: MAX_WAITING });
  const ofInstance = turnsOf(AT_ONCE.instance);
  const ofWorkspaces = turnsOf(AT_ONCE.workspaces);
  const turnOf = (limiter: ConcurrencyLimiter, whose: string, caller: Caller): Promise<() => void> =>
    limiter.acquire({ workspace: whose, user: undefined, caller, deadline: performance.now() + waitMs });

  /** Where the tables are; 503 when that is silent. */
  async function placeOf(wanted: Wanted): Promise<Place | undefined> {
    if (wanted === null) {
      refuseWhileUnavailable(databases.topology.everyNode);
      return databases.topology.everyNode;
    }
    const place = await findNode(databases, wanted);
    if (place?.isAway() === true) throw placeAway();
    return place;
  }

  return {
    async open(wanted, caller) {
      const place = await placeOf(wanted);
      const ended = await (wanted === null
        ? turnOf(ofInstance, 'backup', caller)
        : turnOf(ofWorkspaces, wanted, caller));
      const { opened, done } = openStream(databases, limits, { wanted, caller, place });
      void done.finally(ended);
      return opened;
    },
    async restore({ source, caller, as, note }) {
      refuseWhileUnavailable(databases.topology.everyNode);
      const ended = await turnOf(ofInstance, 'restore', caller);
      const arrival = readUpload(source, limits.sendFloor);
      const timer = setTimeout(() => arrival.end(queryTimeout()), timeoutMs);
      const stay = caller.onGone(() => arrival.end(new Error('the client has left')));
      try {
        return await db.transaction(
          (session) =>
            cutWhenUnavailable(session, databases.topology.everyNode, async () => {
              const file = await readFile(bounded(arrival.chunks, limits.maxBytes));
              if (file.header.scope === 'instance') await makeRoom(session);
              const restored = await restoreAll(session, file, {
                maxDocumentBytes: limits.maxDocumentBytes,
                as,
                topology: databases.topology,
              });
              await note(session, restored);
              return restored;
            }),
          {
            statementTimeoutMs: timeoutMs,
            purpose: 'transfer',
            tenant: TENANTS.instance,
            caller,
            deadline: performance.now() + waitMs,
          },
        );
      } finally {
        clearTimeout(timer);
        stay();
        ended();
      }
    },
  };
}

async function* bounded(chunks: AsyncIterable<Buffer>, most: number): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > most) throw payloadTooLarge(most);
    yield chunk;
  }
}

/** `done`: when its connection is free again; never rejects. */
function openStream(
  { directory: db, topology }: Databases,
  { timeoutMs, waitMs, stallMs, readFloor }: BackupLimits,
  { wanted, caller, place }: { readonly wanted: Wanted; readonly caller: Caller; readonly place: Place | undefined },
): { readonly opened: Promise<Readable>; readonly done: Promise<void> } {
  const { promise: opened, resolve, reject } = Promise.withResolvers<Readable>();
  const stream = new PassThrough({ highWaterMark: MAX_DATA });
  // The pipeline of the response listens later; until then an error must not end the process.
  stream.on('error', () => undefined);
  const stop = (why: string) => (): void => void stream.destroy(new Error(why));
  const stay = caller.onGone(stop('the client has left'));
  const timer = setTimeout(stop('the backup took too long'), timeoutMs);
  const meter = makeRateMeter(readFloor, stop('the client reads too slowly'));
  const write = async (bytes: Buffer): Promise<void> => {
    if (stream.destroyed) throw stream.errored ?? new Error('the client has left');
    meter.count(bytes.length);
    if (stream.write(bytes)) return;
    const stalled = setTimeout(stop('the client stopped reading'), stallMs);
    const goOn = meter.wait();
    const ends = new AbortController();
    await Promise.race([once(stream, 'drain', ends), once(stream, 'close', ends)]).catch(() => undefined);
    ends.abort();
    goOn();
    clearTimeout(stalled);
  };
  const done = inHeldSnapshot(
    db,
    wanted,
    { statementTimeoutMs: timeoutMs, caller, deadline: performance.now() + waitMs, place, lockHere: topology.lockHere },
    async (session, backend) => {
      const scope = wanted === null ? 'instance' : 'workspace';
      const header = { scope, version: manifest.version, createdAt: await snapshotTime(session) } as const;
      resolve(stream);
      for await (const bytes of writeFile(header, piecesOf(session, backend, wanted))) await write(bytes);
    },
  )
    .then(
      () => void stream.end(),
      (error) => {
        stream.destroy(error);
        reject(error);
      },
    )
    .finally(() => {
      clearTimeout(timer);
      stay();
    });
  return { opened, done };
}

export type { Address, Restored } from './restore.ts';
