// Bounds what idempotency keys take in the tables of a workspace: their number, and the bytes of answers. A process
// counts what it adds itself, and the table every few minutes, or sooner when it has added much: a counter in the
// database would make all keyed writes of a workspace wait for each other.
import { LRUCache } from 'lru-cache';
import type { Database } from '../database/pool.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import { internalRef } from '../sql/internal-names.ts';

/** Bounds for one workspace. */
export interface KeyLimits {
  readonly maxBytes: number;
  readonly maxKeys: number;
}

/** Table of keys: the PostgreSQL schema of a workspace, and its id. */
export interface KeyTable {
  readonly schema: string;
  readonly tenant: string;
}

interface Usage {
  /** Number and bytes at the last count; after one that failed, with what was added before it. */
  keys: number;
  bytes: number;
  countedAt: number;
  isCounting: boolean;
  /** Since that count began. */
  addedKeys: number;
  addedBytes: number;
}

export interface KeyBudget {
  /** True when the workspace has as many keys as it may have. */
  isFull(table: KeyTable): boolean;
  /** True when an answer may be stored. */
  hasBytes(table: KeyTable): boolean;
  /** Adds a key that was stored with an answer of this size. */
  add(table: KeyTable, bytes: number): void;
  /** Bytes of answers in the workspaces whose keys this process has counted. */
  getBytes(): number;
}

// Bounds of the memory for counts; a workspace beyond them is counted again.
const MAX_TABLES = 10_000;
const RECOUNT_MS = 300_000;
// A used up budget is looked at more often, as keys expire.
const RECOUNT_FULL_MS = 30_000;
// Share of a bound after which a process counts again, as others add keys, too.
const RECOUNT_SHARE = 4;
const COUNT_TIMEOUT_MS = 60_000;

export function makeKeyBudget(
  db: Database,
  { maxBytes, maxKeys }: KeyLimits,
  now = () => performance.now(),
): KeyBudget {
  const usages = new LRUCache<string, Usage>({ max: MAX_TABLES });

  function getUsage(table: KeyTable): Usage {
    let usage = usages.get(table.schema);
    if (usage === undefined) {
      usage = { keys: 0, bytes: 0, countedAt: -Infinity, isCounting: false, addedKeys: 0, addedBytes: 0 };
      usages.set(table.schema, usage);
    }
    if (!usage.isCounting && isOutdated(usage)) void count(table, usage);
    return usage;
  }

  function isOutdated({ keys, bytes, countedAt, addedKeys, addedBytes }: Usage): boolean {
    const isUsedUp = bytes + addedBytes >= maxBytes || keys + addedKeys >= maxKeys;
    const hasAddedMuch = addedBytes * RECOUNT_SHARE >= maxBytes || addedKeys * RECOUNT_SHARE >= maxKeys;
    const ageMs = now() - countedAt;
    return ageMs > RECOUNT_MS || (ageMs > RECOUNT_FULL_MS && isUsedUp) || (hasAddedMuch && !isUsedUp);
  }

  async function count({ schema, tenant }: KeyTable, usage: Usage): Promise<void> {
    const { addedKeys, addedBytes } = usage;
    usage.isCounting = true;
    try {
      const table = internalRef(schema, 'idempotency_key');
      // The length of a long text is known without reading it.
      const query = toQuery(sql`select count(*)::text, coalesce(sum(octet_length(body)), 0)::text from ${table}`);
      const options = { tenant, expected: 'unknown', deadline: performance.now() + COUNT_TIMEOUT_MS } as const;
      const [row] = await db.run(query, 'read', options);
      const [keys, bytes] = [Number(row?.[0] ?? 0), Number(row?.[1] ?? 0)];
      usage.keys = keys;
      usage.bytes = bytes;
    } catch {
      // The workspace was deleted or moves, or the database is down. As part of the base, additions cause no count at
      // each key.
      usage.keys += addedKeys;
      usage.bytes += addedBytes;
    } finally {
      usage.addedKeys -= addedKeys;
      usage.addedBytes -= addedBytes;
      usage.countedAt = now();
      usage.isCounting = false;
    }
  }

  return {
    isFull(table) {
      const { keys, addedKeys } = getUsage(table);
      return keys + addedKeys >= maxKeys;
    },
    hasBytes(table) {
      const { bytes, addedBytes } = getUsage(table);
      return bytes + addedBytes < maxBytes;
    },
    add(table, bytes) {
      const usage = getUsage(table);
      usage.addedKeys++;
      usage.addedBytes += bytes;
    },
    getBytes: () => [...usages.values()].reduce((sum, { bytes, addedBytes }) => sum + bytes + addedBytes, 0),
  };
}
