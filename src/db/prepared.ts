// Which statements one connection has prepared, by name: bounded, the one that was used longest ago goes first.
import { LRUCache } from 'lru-cache';
import type { Query } from '../sql/fragment.ts';

/** How a run names its statement to PostgreSQL. */
export interface Naming {
  readonly statement: string;
  /** Has the connection to parse the text first? What it may have had under the name is replaced. */
  readonly isNew: boolean;
  /** Another statement that the connection shall forget. */
  readonly forget: string | undefined;
}

/** Parsed for one run alone. */
export const UNNAMED: Naming = { statement: '', isNew: true, forget: undefined };

export interface Prepared {
  has(query: Query): boolean;
  isFull(): boolean;
  /** From now on it counts as prepared, if it has a name. */
  name(query: Query): Naming;
  /** A run that should have prepared it has failed: it may be that PostgreSQL could not even parse it. */
  failed(naming: Naming): void;
}

export function makePrepared(max: number): Prepared {
  let evicted: string | undefined;
  const texts = new LRUCache<string, string>({
    max,
    dispose: (_text, name, reason) => {
      if (reason === 'evict') evicted = name;
    },
  });
  return {
    has: ({ name, text }) => name !== undefined && texts.peek(name) === text,
    isFull: () => texts.size >= max,
    name({ name, text }) {
      if (name === undefined) return UNNAMED;
      if (texts.get(name) === text) return { statement: name, isNew: false, forget: undefined };
      evicted = undefined;
      texts.set(name, text);
      return { statement: name, isNew: true, forget: evicted };
    },
    failed({ statement, isNew }) {
      if (isNew) texts.delete(statement);
    },
  };
}
