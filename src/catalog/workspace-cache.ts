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

export function makeWorkspaceCache(options: WorkspaceCacheOptions): WorkspaceCache {
  const snapshots = new LRUCache<string, Workspace>({ max: options.maximum });
  const missing = new LRUCache<string, true>({ max: 1000, ttl: 500 });
  const loading = new Map<string, Promise<Workspace | undefined>>();
  let checkedAt = Number.NEGATIVE_INFINITY;
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
    if (known.length > 0) {
      const versions = await options.loadVersions(known.map(([, workspace]) => workspace.id));
      for (const [key, workspace] of known) {
        if (versions.get(workspace.id) !== workspace.version && snapshots.peek(key) === workspace)
          snapshots.delete(key);
      }
    }
    checkedAt = started;
  }

  function load(key: string, organization: string, slug: string): Promise<Workspace | undefined> {
    const running = loading.get(key);
    if (running !== undefined) return running;
    const promise = options
      .load(organization, slug)
      .then((workspace) => {
        // A change that came while loading has taken the entry out of `loading`: what was read may be older than it.
        if (loading.get(key) !== promise) return workspace;
        if (workspace === undefined) missing.set(key, true);
        else snapshots.set(key, workspace);
        return workspace;
      })
      .finally(() => {
        if (loading.get(key) === promise) loading.delete(key);
      });
    loading.set(key, promise);
    return promise;
  }

  async function getFresh(key: string, organization: string, slug: string): Promise<Workspace | undefined> {
    if (options.now() - checkedAt > STALE_AFTER_MS) await check();
    if (missing.has(key)) return undefined;
    return snapshots.get(key) ?? load(key, organization, slug);
  }

  return {
    get(organization, slug) {
      const key = `${organization}/${slug}`;
      const age = options.now() - checkedAt;
      const snapshot = age > STALE_AFTER_MS ? undefined : snapshots.get(key);
      if (snapshot === undefined) return getFresh(key, organization, slug);
      // A failed check is found by the request that has to wait for one.
      if (age > CHECK_AFTER_MS && checking === undefined) check().catch(() => undefined);
      return snapshot;
    },
    changed(workspaceId) {
      for (const [key, workspace] of snapshots.entries()) if (workspace.id === workspaceId) snapshots.delete(key);
      missing.clear();
      loading.clear();
    },
    size: () => snapshots.size,
  };
}
