// How cells stand that were edited: what of them is not saved yet, and why.
import type { Json } from '../api/json.ts';

export interface CellDraft {
  readonly kind: 'saving' | 'saved' | 'waiting' | 'refused' | 'conflict' | 'queued';
  /** What was typed; shown in place of what is stored. */
  readonly value: Json;
  readonly message: string;
}

export type RecordDrafts = ReadonlyMap<string, CellDraft>;

/** Drafts by the id of the record and the name of the field. Those of a record are another Map when one has changed. */
export class CellDrafts {
  readonly #records = new Map<string, RecordDrafts>();
  readonly #listeners = new Set<() => void>();
  #revision = 0;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  readonly revision = (): number => this.#revision;

  get(id: string): RecordDrafts | undefined {
    return this.#records.get(id);
  }

  set(id: string, names: Iterable<string>, draftOf: (name: string) => CellDraft | undefined): void {
    const drafts = new Map(this.#records.get(id));
    for (const name of names) {
      const draft = draftOf(name);
      if (draft === undefined) drafts.delete(name);
      else drafts.set(name, draft);
    }
    if (drafts.size === 0) this.#records.delete(id);
    else this.#records.set(id, drafts);
    this.#changed();
  }

  clear(id: string, names: Iterable<string>): void {
    this.set(id, names, () => undefined);
  }

  /** All drafts of a kind. */
  all(kind: CellDraft['kind']): readonly { readonly id: string; readonly name: string; readonly draft: CellDraft }[] {
    return [...this.#records].flatMap(([id, drafts]) =>
      [...drafts].flatMap(([name, draft]) => (draft.kind === kind ? [{ id, name, draft }] : [])),
    );
  }

  /** Whether something would be lost by leaving. */
  get isUnsaved(): boolean {
    return [...this.#records.values()].some((drafts) => [...drafts.values()].some(({ kind }) => kind !== 'saved'));
  }

  #changed(): void {
    this.#revision++;
    for (const listener of this.#listeners) listener();
  }
}
