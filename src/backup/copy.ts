// Copies a workspace: the pieces of its backup become another workspace, without a file between them. Its records are read
// in one snapshot, while others write, and the copy is visible when all of it is there.
import manifest from '../../package.json' with { type: 'json' };
import type { NodeStatus, RequestSignal } from '../database/executor.ts';
import type { Session } from '../database/pool.ts';
import type { StoredLimits } from '../model/limits.ts';
import { makeNameConflict } from '../store/control-error.ts';
import type { Databases } from '../store/databases.ts';
import { cutWhenUnavailable } from '../topology/unavailable.ts';
import { dumpPieces, loadSnapshotTime, TENANTS, withLockedSnapshot } from './dump.ts';
import type { Piece } from './format.ts';
import { type Address, type RestoredWorkspace, restoreAll } from './restore.ts';

export interface WorkspaceCopy {
  /** Id of the workspace that is copied. */
  readonly source: string;
  readonly target: Address;
  /** Name of the copy for people. */
  readonly name: string;
  readonly withoutRecords: boolean;
  readonly signal: RequestSignal;
  /** Writes the activity in the transaction of the copy. */
  readonly writeActivity: (session: Session, copied: RestoredWorkspace) => Promise<void>;
}

export interface CopyOptions {
  /** Longest duration of each of its statements. */
  readonly timeoutMs: number;
  /** Longest wait for a connection. */
  readonly waitMs: number;
  /** Place of the tables of the source. */
  readonly node: NodeStatus | undefined;
}

// Rows that belong to the source alone: its credentials, its users, and how its schema became what it is.
const LEFT_OUT: ReadonlySet<unknown> = new Set(['apiKeys', 'oauthClients', 'identityProvider', 'migrations']);
const RECORDS: ReadonlySet<string> = new Set(['records', 'history']);

/** Copies a workspace; 409 when the slug is in use. Two connections are used, as the source is read while the copy is written. */
export function copyWorkspace(
  { directory: db, topology }: Databases,
  { source, target, name, withoutRecords, signal, writeActivity }: WorkspaceCopy,
  { timeoutMs, waitMs, node }: CopyOptions,
): Promise<RestoredWorkspace> {
  const deadline = performance.now() + waitMs;
  const common = { statementTimeoutMs: timeoutMs, signal, deadline };
  return withLockedSnapshot(
    db,
    source,
    { ...common, node, localLockStatements: topology.localLockStatements },
    async (snapshot, backend) => {
      const createdAt = await loadSnapshotTime(snapshot);
      const pieces = selectPieces(dumpPieces(snapshot, backend, source), withoutRecords, {
        name,
        createdAt,
        state: 'active',
        follows: null,
        limits: {},
      });
      return db.transaction(
        (session) =>
          cutWhenUnavailable(session, topology.everyNode, async () => {
            const header = { scope: 'workspace', version: manifest.version, createdAt } as const;
            const { workspaces } = await restoreAll(
              session,
              { header, pieces },
              {
                maxDocumentBytes: Number.POSITIVE_INFINITY,
                as: target,
                topology,
                makeConflict: ({ slug }) => makeNameConflict(`Workspace ${slug}`, 'slug'),
              },
            );
            const [copied] = workspaces as [RestoredWorkspace];
            await writeActivity(session, copied);
            return copied;
          }),
        { ...common, purpose: 'transfer', tenant: TENANTS.instance },
      );
    },
  );
}

/** Yields the pieces of a backup that a copy has. The organization is left out, as a copy makes none. */
async function* selectPieces(
  pieces: AsyncIterable<Piece>,
  withoutRecords: boolean,
  changes: Readonly<Record<'name' | 'createdAt' | 'state', string>> & {
    readonly follows: null;
    readonly limits: StoredLimits;
  },
): AsyncGenerator<Piece> {
  let isCopied = false;
  for await (const piece of pieces) {
    if ('entry' in piece) {
      const { entry } = piece;
      const { kind } = entry;
      isCopied = kind !== 'organization' && !LEFT_OUT.has(entry.of) && !(withoutRecords && RECORDS.has(kind));
      // Times of entries are texts, as in a file.
      if (isCopied)
        yield { entry: JSON.parse(JSON.stringify(kind === 'workspace' ? { ...entry, ...changes } : entry)) };
    } else if (isCopied) yield piece;
  }
}
