// Streams backups and restores from them. Concurrency is limited, as each holds a connection for its whole duration.
import { once as waitForEvent } from 'node:events';
import { PassThrough, type Readable } from 'node:stream';
import manifest from '../../package.json' with { type: 'json' };
import { nodeUnavailable } from '../database/errors.ts';
import type { NodeStatus, RequestSignal } from '../database/executor.ts';
import type { Session } from '../database/pool.ts';
import { payloadTooLarge, queryTimeout } from '../errors.ts';
import { type ConcurrencyLimiter, makeConcurrencyLimiter } from '../limits/concurrency.ts';
import { type MinRate, makeRateMeter, readUpload } from '../limits/upload.ts';
import type { Databases } from '../store/databases.ts';
import { findNode, type WorkspaceSummary } from '../store/workspaces.ts';
import { cutWhenUnavailable, throwWhenUnavailable } from '../topology/unavailable.ts';
import { copyWorkspace, type WorkspaceCopy } from './copy.ts';
import { removeDemo } from './demo-check.ts';
import { type BackupTarget, dumpPieces, loadSnapshotTime, TENANTS, withLockedSnapshot } from './dump.ts';
import { asAndReplace } from './errors.ts';
import { MAX_DATA, readFile, writeFile } from './format.ts';
import { type Replaced, restoreInPlace } from './replace.ts';
import { type Address, type Restored, type RestoredWorkspace, restoreAll } from './restore.ts';

export interface BackupLimits {
  /** Longest duration of a backup or restore, and of each of its statements. */
  readonly timeoutMs: number;
  /** Longest wait for a free slot. */
  readonly waitMs: number;
  /** Longest time that a client may leave the stream unread. */
  readonly stallMs: number;
  readonly minReadRate: MinRate;
  readonly minSendRate: MinRate;
  /** Longest file that is restored, in bytes. */
  readonly maxBytes: number;
  /** Longest schema document in the file, in bytes. */
  readonly maxDocumentBytes: number;
}

export interface RestoreOutcome extends Restored {
  readonly replaced?: Replaced;
}

export interface Restore {
  readonly source: Readable;
  readonly signal: RequestSignal;
  /** Target address for a single-workspace restore. Defaults to the original address. */
  readonly as?: Address | undefined;
  /** Workspace in whose place the one of the file is restored. */
  readonly replace?: WorkspaceSummary | undefined;
  /** Writes the activity in the transaction of the restore. */
  readonly writeActivity: (session: Session, restored: RestoreOutcome) => Promise<void>;
}

export interface Backups {
  /**
   * Opens the stream of a backup after its snapshot is taken: an earlier error is thrown, a later one destroys the
   * stream.
   */
  readonly open: (target: BackupTarget, signal: RequestSignal) => Promise<Readable>;
  /** Restores the whole file in one transaction. */
  readonly restore: (restore: Restore) => Promise<RestoreOutcome>;
  /** Copies a workspace in one transaction. */
  readonly copy: (copy: WorkspaceCopy) => Promise<RestoredWorkspace>;
}

// Limits of concurrent work: a backup and a restore of the instance, and one backup of workspaces; more would take the
// connections of imports and exports. Owners who read slowly delay each other, never the operator.
const MAX_CONCURRENT = { instance: 2, workspaces: 1 } as const;
const MAX_WAITING = 20;

export function makeBackups(databases: Databases, limits: BackupLimits): Backups {
  const db = databases.directory;
  const { timeoutMs, waitMs } = limits;
  const makeLimiter = (count: number) =>
    makeConcurrencyLimiter({ count, resources: 'backups and restores', maxWaiting: MAX_WAITING });
  const instanceLimiter = makeLimiter(MAX_CONCURRENT.instance);
  const workspaceLimiter = makeLimiter(MAX_CONCURRENT.workspaces);
  const acquireSlot = (limiter: ConcurrencyLimiter, workspaceKey: string, signal: RequestSignal): Promise<() => void> =>
    limiter.acquire({ workspace: workspaceKey, user: undefined, signal, deadline: performance.now() + waitMs });

  /** Returns the node of the tables; 503 while it does not answer. */
  async function findTargetNode(target: BackupTarget): Promise<NodeStatus | undefined> {
    if (target === null) {
      throwWhenUnavailable(databases.topology.everyNode);
      return databases.topology.everyNode;
    }
    const node = await findNode(databases, target);
    if (node?.isUnavailable() === true) throw nodeUnavailable();
    return node;
  }

  return {
    async open(target, signal) {
      const node = await findTargetNode(target);
      const release = await (target === null
        ? acquireSlot(instanceLimiter, 'backup', signal)
        : acquireSlot(workspaceLimiter, target, signal));
      const { streamReady, completion } = openStream(databases, limits, { target, signal, node });
      void completion.finally(release);
      return streamReady;
    },
    async restore({ source, signal, as, replace, writeActivity }) {
      if (as !== undefined && replace !== undefined) throw asAndReplace();
      throwWhenUnavailable(databases.topology.everyNode);
      const release = await acquireSlot(instanceLimiter, 'restore', signal);
      const upload = readUpload(source, limits.minSendRate);
      const timer = setTimeout(() => upload.end(queryTimeout()), timeoutMs);
      const stopListening = signal.onAbort(() => upload.end(new Error('the client has left')));
      try {
        return await db.transaction(
          (session) =>
            cutWhenUnavailable(session, databases.topology.everyNode, async () => {
              const file = await readFile(limitBytes(upload.chunks, limits.maxBytes));
              if (file.header.scope === 'instance') await removeDemo(session);
              const options = { maxDocumentBytes: limits.maxDocumentBytes, as, topology: databases.topology };
              const restored: RestoreOutcome = await (replace === undefined
                ? restoreAll(session, file, options)
                : restoreInPlace(session, file, options, replace));
              await writeActivity(session, restored);
              return restored;
            }),
          {
            statementTimeoutMs: timeoutMs,
            purpose: 'transfer',
            tenant: TENANTS.instance,
            signal,
            deadline: performance.now() + waitMs,
          },
        );
      } finally {
        clearTimeout(timer);
        stopListening();
        release();
      }
    },
    async copy(copy) {
      throwWhenUnavailable(databases.topology.everyNode);
      const node = await findTargetNode(copy.source);
      const release = await acquireSlot(instanceLimiter, 'copy', copy.signal);
      try {
        return await copyWorkspace(databases, copy, { timeoutMs, waitMs, node });
      } finally {
        release();
      }
    },
  };
}

async function* limitBytes(chunks: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > maxBytes) throw payloadTooLarge(maxBytes);
    yield chunk;
  }
}

/** Opens the stream. `done` resolves when its connection is free again; never rejects. */
function openStream(
  { directory: db, topology }: Databases,
  { timeoutMs, waitMs, stallMs, minReadRate }: BackupLimits,
  {
    target,
    signal,
    node,
  }: { readonly target: BackupTarget; readonly signal: RequestSignal; readonly node: NodeStatus | undefined },
): { readonly streamReady: Promise<Readable>; readonly completion: Promise<void> } {
  const { promise: streamReady, resolve, reject } = Promise.withResolvers<Readable>();
  const stream = new PassThrough({ highWaterMark: MAX_DATA });
  // The pipeline of the response listens later; until then an error must not end the process.
  stream.on('error', () => undefined);
  const stop = (why: string) => (): void => void stream.destroy(new Error(why));
  const stopListening = signal.onAbort(stop('the client has left'));
  const timer = setTimeout(stop('the backup took too long'), timeoutMs);
  const meter = makeRateMeter(minReadRate, stop('the client reads too slowly'));
  const write = async (bytes: Buffer): Promise<void> => {
    if (stream.destroyed) throw stream.errored ?? new Error('the client has left');
    meter.count(bytes.length);
    if (stream.write(bytes)) return;
    const stallTimer = setTimeout(stop('the client stopped reading'), stallMs);
    const resume = meter.wait();
    const abortController = new AbortController();
    await Promise.race([
      waitForEvent(stream, 'drain', abortController),
      waitForEvent(stream, 'close', abortController),
    ]).catch(() => undefined);
    abortController.abort();
    resume();
    clearTimeout(stallTimer);
  };
  const completion = withLockedSnapshot(
    db,
    target,
    {
      statementTimeoutMs: timeoutMs,
      signal,
      deadline: performance.now() + waitMs,
      node,
      localLockStatements: topology.localLockStatements,
    },
    async (session, backend) => {
      const scope = target === null ? 'instance' : 'workspace';
      const header = { scope, version: manifest.version, createdAt: await loadSnapshotTime(session) } as const;
      resolve(stream);
      for await (const bytes of writeFile(header, dumpPieces(session, backend, target))) await write(bytes);
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
      stopListening();
    });
  return { streamReady, completion };
}

export type { Address, Restored } from './restore.ts';
