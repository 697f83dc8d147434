// Which statements one connection has prepared, by name: bounded, the one that was used longest ago goes first.
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Query } from '../sql/fragment.ts';
import { sqlState } from './pg-error.ts';

/** How a run names its statement to PostgreSQL. */
export interface Naming {
  readonly statement: string;
  /** True when the text must be parsed first; a statement of that name is replaced. */
  readonly isNew: boolean;
  /** Another statement, which the connection must forget. */
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
  failed(naming: Naming, error?: unknown): void;
}

// Statements kept prepared on a connection that runs one at a time.
const MAX_ON_SESSION = 100;
const onClient = new WeakMap<object, Prepared>();

/** Of a connection that is lent, the same for all who have it one after the other. `client`: the driver's. */
export function preparedOn(client: object): Prepared {
  const known = onClient.get(client);
  if (known !== undefined) return known;
  const made = makePrepared(MAX_ON_SESSION);
  onClient.set(client, made);
  return made;
}

/** What a connection has prepared under the name that its owner gave the statement. */
interface Known {
  readonly text: string;
  readonly statement: string;
}

/**
 * The name on the wire, a hash of the text: where a pooler gives one backend to several processes, or several backends to
 * one, whatever is prepared there under a name is the statement itself. 96 of the bits of SHA-256.
 */
const wireName = (text: string): string => `w${hash('sha256', text, 'base64url').slice(0, 16)}`;

export function makePrepared(max: number): Prepared {
  let evicted: string | undefined;
  const known = new LRUCache<string, Known>({
    max,
    dispose: ({ statement }, _name, reason) => {
      if (reason === 'evict') evicted = statement;
    },
  });
  return {
    has: ({ name, text }) => name !== undefined && known.peek(name)?.text === text,
    isFull: () => known.size >= max,
    name({ name, text }) {
      if (name === undefined) return UNNAMED;
      const found = known.get(name);
      if (found?.text === text) return { statement: found.statement, isNew: false, forget: undefined };
      evicted = found?.statement;
      const statement = wireName(text);
      known.set(name, { text, statement });
      return { statement, isNew: true, forget: evicted };
    },
    failed({ statement, isNew }, error) {
      // 26000: it is not there, whatever was thought.
      if (!isNew && sqlState(error) !== '26000') return;
      for (const [name, one] of known.entries()) if (one.statement === statement) known.delete(name);
    },
  };
}
