// Looks something up by the slug of a workspace, present or not, for as long as the process registry allows without a statement:
// unknown slugs cost no more than those of workspaces.
import { LRUCache } from 'lru-cache';
import type { ProcessRegistry } from './process-registry.ts';

export type SlugLookup<T> = (organization: string, slug: string) => Promise<T>;

export interface SlugLookupOptions<T> {
  readonly load: SlugLookup<T>;
  readonly validFrom: ProcessRegistry['validFrom'];
  /** Monotonic milliseconds, on the clock of the registry. */
  readonly now: () => number;
  /** Sum of the sizes of all entries in memory. */
  readonly maxSize: number;
  /** Size of an entry: a positive integer, 1 by default. */
  readonly getSize?: (value: T) => number;
}

/** Makes a lookup that keeps what it has read. */
export function makeSlugLookup<T>({ load, validFrom, now, maxSize, getSize }: SlugLookupOptions<T>): SlugLookup<T> {
  const entries = new LRUCache<string, { readonly value: T; readonly asOf: number }>({
    maxSize,
    sizeCalculation: ({ value }) => getSize?.(value) ?? 1,
  });
  return async (organization, slug) => {
    const asOf = now();
    const key = `${organization}/${slug}`;
    const entry = entries.get(key);
    if (entry !== undefined && entry.asOf >= validFrom(asOf)) return entry.value;
    const value = await load(organization, slug);
    entries.set(key, { value, asOf });
    return value;
  };
}
