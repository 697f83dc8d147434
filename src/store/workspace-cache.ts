// Cache of workspace snapshots by slug, in bounded memory, as fresh as the process registry requires: versions are
// compared with the database while requests come, so no notification can be missed, and an idle server sends no
// queries.
import { LRUCache } from 'lru-cache';
import type { Metric } from '../metric.ts';
import { type GrantSummary, grantWorkspace, type HeldRoles, summarizeGrants } from '../model/granted.ts';
import type { Principal, Scope } from '../model/principal.ts';
import { getUnrestricted, restrictWorkspace } from '../model/restricted.ts';
import type { Workspace } from '../model/workspace.ts';
import type { ProcessRegistry } from './process-registry.ts';

export interface WorkspaceCache {
  /** Returns the snapshot if it is in memory and fresh, without waiting for the database. */
  getCached(organization: string, slug: string): Workspace | undefined;
  /** Returns the snapshot, at once when it is fresh. */
  get(organization: string, slug: string): Promise<Workspace | undefined>;
  /**
   * Returns the current snapshot, at most 50 ms old. Used before a request is refused because its snapshot lacks a
   * name.
   */
  getRecent(organization: string, slug: string): Promise<Workspace | undefined>;
  /**
   * Returns the part of a whole snapshot that a principal may access, by its scope and by the grants of its roles; the
   * same object each time, while it is in memory.
   */
  restrict(workspace: Workspace, principal: Principal): Workspace;
  /** Returns whether a newer snapshot has replaced this one, or the one that it is a part of, or must be read. */
  isReplaced(workspace: Workspace): boolean;
  /** Invalidates the snapshot after a change by this process. */
  invalidate(workspaceId: string): void;
  size(): number;
}

export interface WorkspaceCacheOptions {
  readonly load: (organization: string, slug: string) => Promise<Workspace | undefined>;
  readonly compare: ProcessRegistry['compare'];
  readonly validFrom: ProcessRegistry['validFrom'];
  /** Monotonic clock in milliseconds. */
  readonly now: () => number;
  /** Bytes of all snapshots in memory. */
  readonly maxBytes: number;
}

// Measured for 1 to 40 entities of 1 to 300 fields: 275 to 350 bytes a field, with those that every entity has.
const SNAPSHOT_BYTES = 1000;
const FIELD_BYTES = 330;

/** Estimates the memory of a snapshot, in bytes. */
export function estimateSnapshotBytes({ entities }: Workspace): number {
  let fields = 0;
  for (const entity of entities.values()) fields += entity.fields.size + entity.relations.size;
  return SNAPSHOT_BYTES + FIELD_BYTES * fields;
}

// Age from which versions are compared in the background, so that requests need not wait for it.
const CHECK_AFTER_MS = 300;
// Interval in which refusals cost one comparison, however many they are.
const RECENT_MS = 50;

// Limit of restricted snapshots in memory, counted in entities, which have some 2 kB each.
const MAX_RESTRICTED_ENTITIES = 20_000;

/** A snapshot and the latest time at which the database agreed with it. */
interface Entry {
  readonly workspace: Workspace;
  asOf: number;
}

export function makeWorkspaceCache(options: WorkspaceCacheOptions): WorkspaceCache {
  const snapshots = new LRUCache<string, Entry>({
    maxSize: options.maxBytes,
    sizeCalculation: ({ workspace }) => estimateSnapshotBytes(workspace),
  });
  /** Slugs without a workspace, with the time of their lookup. */
  const missing = new LRUCache<string, number>({ max: 1000 });
  const restrict = makeRestrict();
  const loading = new Map<string, Promise<void>>();
  let checking: Promise<void> | undefined;

  function check(): Promise<void> {
    checking ??= compareVersions().finally(() => {
      checking = undefined;
    });
    return checking;
  }

  async function compareVersions(): Promise<void> {
    const entries = [...snapshots.entries()];
    const { versions, asOf } = await options.compare(entries.map(([, { workspace }]) => workspace.id));
    for (const [key, entry] of entries) {
      if (versions.get(entry.workspace.id) === entry.workspace.version) entry.asOf = asOf;
      else if (snapshots.peek(key) === entry) snapshots.delete(key);
    }
  }

  function load(key: string, organization: string, slug: string): Promise<void> {
    const running = loading.get(key);
    if (running !== undefined) return running;
    // The answer may be outdated when it arrives: it is valid as of the time of the query.
    const asOf = options.now();
    const promise = options
      .load(organization, slug)
      .then((workspace) => {
        // A change during the load has removed the entry from `loading`: the result may be older than the change.
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

  /**
   * Loads twice at most, unless changes keep coming: the second load starts after this request came. `age`: maximum age
   * of the snapshot.
   */
  async function getFresh(
    organization: string,
    slug: string,
    receivedAt: number,
    age: number,
  ): Promise<Workspace | undefined> {
    const key = `${organization}/${slug}`;
    for (;;) {
      const since = Math.max(options.validFrom(receivedAt), receivedAt - age);
      const entry = snapshots.get(key);
      if (entry !== undefined && entry.asOf >= since) return entry.workspace;
      if ((missing.get(key) ?? Number.NEGATIVE_INFINITY) >= since) return undefined;
      const mustCheck = entry !== undefined || since === Number.POSITIVE_INFINITY;
      await Promise.all([
        mustCheck ? check() : undefined,
        entry === undefined ? load(key, organization, slug) : undefined,
      ]);
    }
  }

  function getCached(organization: string, slug: string): Workspace | undefined {
    const now = options.now();
    const entry = snapshots.get(`${organization}/${slug}`);
    if (entry === undefined || entry.asOf < options.validFrom(now)) return undefined;
    // A failed check is reported by the request that has to wait for one.
    if (now - entry.asOf > CHECK_AFTER_MS && checking === undefined) check().catch(() => undefined);
    return entry.workspace;
  }

  return {
    getCached,
    async get(organization, slug) {
      return getCached(organization, slug) ?? getFresh(organization, slug, options.now(), Number.POSITIVE_INFINITY);
    },
    getRecent: (organization, slug) => getFresh(organization, slug, options.now(), RECENT_MS),
    restrict,
    isReplaced: (workspace) =>
      snapshots.peek(`${workspace.organization}/${workspace.slug}`)?.workspace !== getUnrestricted(workspace),
    invalidate(workspaceId) {
      for (const [key, { workspace }] of snapshots.entries()) if (workspace.id === workspaceId) snapshots.delete(key);
      missing.clear();
      loading.clear();
    },
    size: () => snapshots.size,
  };
}

/** Creates the function that selects the part of a snapshot, with a cache of parts. */
function makeRestrict(): WorkspaceCache['restrict'] {
  /**
   * Restricted snapshots by snapshot and scope. A version is never reused, so a cached part never belongs to another
   * document.
   */
  const restrictedSnapshots = new LRUCache<string, Workspace>({
    maxSize: MAX_RESTRICTED_ENTITIES,
    sizeCalculation: ({ entities }) => entities.size + 1,
  });
  /** Every request of an external user needs one, and a snapshot never changes. */
  const summaries = new WeakMap<Workspace, GrantSummary>();

  function getPart(workspace: Workspace, suffix: string, select: () => Workspace): Workspace {
    const key = `${workspace.id}.${workspace.version} ${workspace.part?.key ?? ''} ${suffix}`;
    const cached = restrictedSnapshots.get(key);
    if (cached !== undefined && getUnrestricted(cached) === getUnrestricted(workspace)) return cached;
    const restricted = select();
    restrictedSnapshots.set(key, restricted);
    return restricted;
  }

  function restrictToScope(workspace: Workspace, scope: Scope): Workspace {
    if (scope === null) return workspace;
    return getPart(workspace, `scope ${scope.join()}`, () => {
      const entityNames = [...workspace.entityIds].flatMap(([name, id]) => (scope.includes(id) ? [name] : []));
      return restrictWorkspace(workspace, new Set(entityNames));
    });
  }

  function getSummary(workspace: Workspace): GrantSummary {
    const cached = summaries.get(workspace);
    if (cached !== undefined) return cached;
    const summary = summarizeGrants(workspace);
    summaries.set(workspace, summary);
    return summary;
  }

  /** Roles that no grant names change nothing, so they make no part of their own. */
  function restrictToGrants(workspace: Workspace, { roles, onlyGrants }: HeldRoles): Workspace {
    if (!onlyGrants && !getSummary(workspace).hasGrants) return workspace;
    const held = getSummary(getUnrestricted(workspace)).roles.filter((role) => roles.includes(role));
    return getPart(workspace, `grants ${onlyGrants} ${JSON.stringify(held)}`, () =>
      grantWorkspace(workspace, { roles: held, onlyGrants }),
    );
  }

  return (workspace, principal) => {
    const restricted = restrictToScope(workspace, principal.scope);
    return principal.kind === 'external' ? restrictToGrants(restricted, principal) : restricted;
  };
}

export const getWorkspaceMetrics = ({ size }: Pick<WorkspaceCache, 'size'>): readonly Metric[] => [
  { name: 'wda_cached_workspaces', help: 'Snapshots of workspaces in memory', read: size },
];
