// Undo history. An undo is the inverse write with If-Match of the version that our write returned. If only we have
// written since, the chain of our later writes leads to the current version; after a write of another user the server
// rejects the undo.
import type { Json } from '../api/json.ts';
import type { RecordValue } from './value.ts';

export type Values = ReadonlyMap<string, Json>;

/** Change of a record by a write. */
export interface Change {
  readonly id: string;
  readonly before: Values;
  readonly after: Values;
  /** Version of the record after the write. */
  readonly version: string;
}

export type Entry =
  | { readonly kind: 'update'; readonly description: string; readonly changes: readonly Change[] }
  | { readonly kind: 'delete'; readonly description: string; readonly records: readonly RecordValue[] };

export interface History {
  readonly done: readonly Entry[];
  readonly undone: readonly Entry[];
  /** Version after our next write by `id/version`. */
  readonly chain: ReadonlyMap<string, string>;
}

export const EMPTY_HISTORY: History = { done: [], undone: [], chain: new Map() };

const MOST = 100;

/** Adds a step of a record from one version to the next by our write. */
export function addStep(history: History, id: string, from: string, to: string): History {
  const chain = new Map(history.chain).set(`${id}/${from}`, to);
  // The oldest steps belong to entries that are no longer in the history.
  for (const key of chain.keys()) {
    if (chain.size <= MOST * 20) break;
    chain.delete(key);
  }
  return { ...history, chain };
}

/** Adds an entry and clears the redo list. */
export const addDone = (history: History, entry: Entry): History => ({
  ...history,
  done: [...history.done, entry].slice(-MOST),
  undone: [],
});

/** Moves the last entry to the redo list; `opposite` holds the changes of its inverse. */
export const moveToUndone = (history: History, opposite: Entry | undefined): History => ({
  ...history,
  done: history.done.slice(0, -1),
  undone: opposite === undefined ? history.undone : [...history.undone, opposite],
});

export const moveToDone = (history: History, opposite: Entry | undefined): History => ({
  ...history,
  undone: history.undone.slice(0, -1),
  done: opposite === undefined ? history.done : [...history.done, opposite],
});

/** Returns the current version of a record if only we have written since. */
export function latestVersion({ chain }: History, id: string, version: string): string {
  let latest = version;
  for (let steps = 0; steps <= chain.size; steps++) {
    const next = chain.get(`${id}/${latest}`);
    if (next === undefined) return latest;
    latest = next;
  }
  return latest;
}
