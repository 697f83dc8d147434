// Undo history. An undo is the inverse write, bound to the version that our write gave: where only we have written since,
// that version leads by way of our later writes to the present one; where somebody else has, the server refuses it.
import type { Json } from '../api/json.ts';
import type { RecordValue } from './value.ts';

export type Values = ReadonlyMap<string, Json>;

/** Change of a record by a write. */
export interface Change {
  readonly id: string;
  readonly before: Values;
  readonly after: Values;
  /** That the record had after it. */
  readonly version: string;
}

export type Entry =
  | { readonly kind: 'update'; readonly description: string; readonly changes: readonly Change[] }
  | { readonly kind: 'delete'; readonly description: string; readonly records: readonly RecordValue[] };

export interface History {
  readonly done: readonly Entry[];
  readonly undone: readonly Entry[];
  /** `id/version` → the version that our next write gave. */
  readonly chain: ReadonlyMap<string, string>;
}

export const EMPTY_HISTORY: History = { done: [], undone: [], chain: new Map() };

const MOST = 100;

/** Our write made one version of a record another. */
export function addStep(history: History, id: string, from: string, to: string): History {
  const chain = new Map(history.chain).set(`${id}/${from}`, to);
  // The oldest steps belong to entries that are gone.
  for (const key of chain.keys()) {
    if (chain.size <= MOST * 20) break;
    chain.delete(key);
  }
  return { ...history, chain };
}

/** Adds an entry; what was undone before can no longer be redone. */
export const addDone = (history: History, entry: Entry): History => ({
  ...history,
  done: [...history.done, entry].slice(-MOST),
  undone: [],
});

/** The last entry is taken out; `opposite`, what doing its inverse did, goes to the other side. */
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

/** The version that a record has if nobody else has written since. */
export function latestVersion({ chain }: History, id: string, version: string): string {
  let latest = version;
  for (let steps = 0; steps <= chain.size; steps++) {
    const next = chain.get(`${id}/${latest}`);
    if (next === undefined) return latest;
    latest = next;
  }
  return latest;
}
