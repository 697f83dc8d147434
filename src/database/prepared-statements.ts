// The prepared statements of a connection, by name: a bounded number, of which the least recently used is dropped first.
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Query } from '../sql/fragment.ts';
import { getSqlState } from './errors.ts';
import type { Parameter } from './statement-messages.ts';

/** Names of a run on its connection. */
export interface Naming {
  readonly statement: string;
  /** True when the text must be parsed first; a statement of that name is replaced. */
  readonly isNew: boolean;
  /** Name of another statement that the connection must forget, if any. */
  readonly evictedName: string | undefined;
}

/** Naming of a statement that is parsed for one run alone. */
export const UNNAMED: Naming = { statement: '', isNew: true, evictedName: undefined };

/** A statement with its name on the connection, and its parameters. */
export interface NamedStatement extends Naming {
  readonly text: string;
  readonly parameters: readonly Parameter[];
}

export interface Prepared {
  has(query: Query): boolean;
  isFull(): boolean;
  /** Names a query and records it as prepared, unless it has no name. */
  name(query: Query): Naming;
  /** Forgets a statement whose run has failed: PostgreSQL may not have been able to parse it. */
  handleFailure(naming: Naming, error?: unknown): void;
}

/** Names a statement and records it as prepared on its connection, unless the query has no name. */
export const nameStatement = (prepared: Prepared, query: Query): NamedStatement => ({
  ...prepared.name(query),
  text: query.text,
  parameters: query.values as readonly Parameter[],
});

// Statements kept prepared on a connection that runs one at a time.
const MAX_ON_SESSION = 100;
const preparedByClient = new WeakMap<object, Prepared>();

/** Returns the prepared statements of a leased connection, the same for all its users. `client`: the driver's. */
export function getPrepared(client: object): Prepared {
  const cached = preparedByClient.get(client);
  if (cached !== undefined) return cached;
  const created = makePrepared(MAX_ON_SESSION);
  preparedByClient.set(client, created);
  return created;
}

/** A prepared statement, stored under the name in its query. */
interface PreparedEntry {
  readonly text: string;
  readonly statement: string;
}

/**
 * Builds the name on the wire, a hash of the text (96 of the bits of SHA-256): a pooler may give one backend to several
 * processes, or several backends to one, and a statement that is prepared there under the name must be the same one.
 */
const buildWireName = (text: string): string => `w${hash('sha256', text, 'base64url').slice(0, 16)}`;

export function makePrepared(max: number): Prepared {
  let evicted: string | undefined;
  const entries = new LRUCache<string, PreparedEntry>({
    max,
    dispose: ({ statement }, _name, reason) => {
      if (reason === 'evict') evicted = statement;
    },
  });
  return {
    has: ({ name, text }) => name !== undefined && entries.peek(name)?.text === text,
    isFull: () => entries.size >= max,
    name({ name, text }) {
      if (name === undefined) return UNNAMED;
      const entry = entries.get(name);
      if (entry?.text === text) return { statement: entry.statement, isNew: false, evictedName: undefined };
      evicted = entry?.statement;
      const statement = buildWireName(text);
      entries.set(name, { text, statement });
      return { statement, isNew: true, evictedName: evicted };
    },
    handleFailure({ statement, isNew }, error) {
      // 26000: the statement does not exist, though it was recorded as prepared.
      if (!isNew && getSqlState(error) !== '26000') return;
      for (const [name, one] of entries.entries()) if (one.statement === statement) entries.delete(name);
    },
  };
}
