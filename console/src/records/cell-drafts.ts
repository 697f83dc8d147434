// Drafts of edited cells that are not saved yet, with the reason.
import type { Json } from '../api/json.ts';
import { Observable } from '../store.ts';

export interface CellDraft {
  readonly kind: 'saving' | 'saved' | 'waiting' | 'refused' | 'conflict' | 'queued';
  /** Typed value, displayed in place of the stored one. */
  readonly value: Json;
  readonly message: string;
}

export type RecordDrafts = ReadonlyMap<string, CellDraft>;

/** Drafts by the id of the record and the name of the field. A change replaces the Map of its record. */
export class CellDrafts extends Observable {
  readonly #records = new Map<string, RecordDrafts>();

  get(id: string): RecordDrafts | undefined {
    return this.#records.get(id);
  }

  set(id: string, names: Iterable<string>, getDraft: (name: string) => CellDraft | undefined): void {
    const drafts = new Map(this.#records.get(id));
    for (const name of names) {
      const draft = getDraft(name);
      if (draft === undefined) drafts.delete(name);
      else drafts.set(name, draft);
    }
    if (drafts.size === 0) this.#records.delete(id);
    else this.#records.set(id, drafts);
    this.notify();
  }

  clear(id: string, names: Iterable<string>): void {
    this.set(id, names, () => undefined);
  }

  /** Lists all drafts of a kind. */
  all(kind: CellDraft['kind']): readonly { readonly id: string; readonly name: string; readonly draft: CellDraft }[] {
    return [...this.#records].flatMap(([id, drafts]) =>
      [...drafts].flatMap(([name, draft]) => (draft.kind === kind ? [{ id, name, draft }] : [])),
    );
  }

  /** Whether leaving would lose a draft. */
  get isUnsaved(): boolean {
    return [...this.#records.values()].some((drafts) => [...drafts.values()].some(({ kind }) => kind !== 'saved'));
  }
}
