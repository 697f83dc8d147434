// Snapshots of workspaces by slug, in bounded memory, never older than a second: versions are compared with the
// database while requests come, so no notification can be missed, and an idle server asks nothing.
import { LRUCache } from 'lru-cache';
import type { Workspace } from '../model/workspace.ts';

export interface WorkspaceCache {
  /** The snapshot, at once when it is fresh. */
  get(organization: string, slug: string): Workspace | undefined | Promise<Workspace | undefined>;
  /** Something in the workspace was changed by this process. */
  changed(workspaceId: string): void;
  size(): number;
}

export interface WorkspaceCacheOptions {
  readonly load: (organization: string, slug: string) => Promise<Workspace | undefined>;
  readonly loadVersions: (ids: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  /** Milliseconds, never going back. */
  readonly now: () => number;
  readonly maximum: number;
}

// Every change is in force within 1 s: versions are checked in the background from the first age on, and a request
// waits for the check from the second on.
const CHECK_AFTER_MS = 300;
const STALE_AFTER_MS = 800;

/** A snapshot and the time that the database is known to have agreed with it. */
interface Entry {
  readonly workspace: Workspace;
  asOf: number;
}

export function makeWorkspaceCache(options: WorkspaceCacheOptions): WorkspaceCache {
  const snapshots = new LRUCache<string, Entry>({ max: options.maximum });
  /** Slugs that named nothing, with the time that it was so. */
  const missing = new LRUCache<string, number>({ max: 1000 });
  const loading = new Map<string, Promise<void>>();
  let checking: Promise<void> | undefined;

  function check(): Promise<void> {
    checking ??= compareVersions().finally(() => {
      checking = undefined;
    });
    return checking;
  }

  async function compareVersions(): Promise<void> {
    const started = options.now();
    const known = [...snapshots.entries()];
    const versions = await options.loadVersions(known.map(([, { workspace }]) => workspace.id));
    for (const [key, entry] of known) {
      if (versions.get(entry.workspace.id) === entry.workspace.version) entry.asOf = started;
      else if (snapshots.peek(key) === entry) snapshots.delete(key);
    }
  }

  function load(key: string, organization: string, slug: string): Promise<void> {
    const running = loading.get(key);
    if (running !== undefined) return running;
    // What is read may be replaced while it is on its way: it is as old as the question, not as the answer.
    const asOf = options.now();
    const promise = options
      .load(organization, slug)
      .then((workspace) => {
        // A change that came while loading has taken the entry out of `loading`: what was read may be older than it.
        if (loading.get(key) !== promise) return;
        if (workspace === undefined) missing.set(key, asOf);
        else snapshots.set(key, { workspace, asOf });
      })
      .finally(() => {
        if (loading.get(key) === promise) loading.delete(key);
      });
    loading.set(key, promise);
    return promise;
  }

  /** Ends after two questions at most, unless changes keep coming: the second one was asked after this request came. */
  async function getFresh(key: string, organization: string, slug: string): Promise<Workspace | undefined> {
    const since = options.now() - STALE_AFTER_MS;
    for (;;) {
      const entry = snapshots.get(key);
      if (entry !== undefined && entry.asOf >= since) return entry.workspace;
      if ((missing.get(key) ?? Number.NEGATIVE_INFINITY) >= since) return undefined;
      await (entry === undefined ? load(key, organization, slug) : check());
    }
  }

  return {
    get(organization, slug) {
      const key = `${organization}/${slug}`;
      const entry = snapshots.get(key);
      const age = entry === undefined ? Number.POSITIVE_INFINITY : options.now() - entry.asOf;
      if (entry === undefined || age > STALE_AFTER_MS) return getFresh(key, organization, slug);
      // A failed check is found by the request that has to wait for one.
      if (age > CHECK_AFTER_MS && checking === undefined) check().catch(() => undefined);
      return entry.workspace;
    },
    changed(workspaceId) {
      for (const [key, { workspace }] of snapshots.entries()) if (workspace.id === workspaceId) snapshots.delete(key);
      missing.clear();
      loading.clear();
    },
    size: () => snapshots.size,
  };
}
