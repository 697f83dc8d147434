// Write queue of a list: one write at a time for each record, with the version from the read. After a transient error
// (a lost connection, a migration) it retries with the same key; rejected values stay in their cells.

import { type ApiError, isApiError } from '../api/api-error.ts';
import type { Json } from '../api/json.ts';
import { Observable } from '../store.ts';
import type { CellDrafts } from './cell-drafts.ts';
import {
  addDone,
  addStep,
  type Change,
  EMPTY_HISTORY,
  type Entry,
  type History,
  latestVersion,
  moveToDone,
  moveToUndone,
  type Values,
} from './history.ts';
import type { Versioned } from './requests.ts';
import type { Row } from './rows.ts';
import { createIdempotencyKey, type Update } from './write-requests.ts';

export interface Edit {
  /** Record before the edit, with complete values of the fields. */
  readonly row: Row;
  readonly before: Values;
  readonly values: Values;
}

/** Edit conflict: another user has changed or deleted the record. */
export interface Conflict {
  readonly row: Row;
  readonly mine: Values;
  /** Current record, or undefined if it was deleted. */
  readonly theirs: Versioned | undefined;
}

export type WriteResult =
  | { readonly kind: 'saved' }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'refused'; readonly error: unknown; readonly messages: ReadonlyMap<string, string> };

export interface WriterOptions {
  readonly drafts: CellDrafts;
  readonly update: (update: Update, key: string) => Promise<Versioned>;
  /** Returns the new versions of the records. */
  readonly updateAll: (updates: readonly Update[], key: string) => Promise<readonly string[]>;
  readonly readRecord: (id: string) => Promise<Versioned>;
  readonly restore: (entry: Entry & { readonly kind: 'delete' }) => Promise<void>;
  /** Returns the current row, or undefined if it is not loaded. */
  readonly getRow: (id: string) => Row | undefined;
  /** Called after a write with the record of the response, or with ids whose rows have to be fetched. */
  readonly onWritten: (
    written: readonly { readonly id: string; readonly now: Versioned | undefined }[],
  ) => Promise<void>;
  readonly onConflict: (conflict: Conflict) => void;
  readonly onError: (error: unknown) => void;
  readonly say: (words: string) => void;
  /** Returns the milliseconds before a retry, or undefined if the error is final. */
  readonly retryDelay: (error: unknown, failures: number) => number | undefined;
  /** Resolves after a pause, or as soon as the connection is restored. */
  readonly wait: (milliseconds: number) => Promise<void>;
}

export class Writer extends Observable {
  readonly #options: WriterOptions;
  readonly #queues = new Map<string, Promise<unknown>>();
  #undoing: Promise<unknown> = Promise.resolve();
  #history: History = EMPTY_HISTORY;

  constructor(options: WriterOptions) {
    super();
    this.#options = options;
  }

  readonly history = (): History => this.#history;

  /** Saves fields of one record. `description` names the change for an undo. */
  save(edit: Edit, description: string): Promise<WriteResult> {
    const { id } = edit.row;
    this.#mark(id, edit.values, 'saving', 'Saving');
    return this.#inTurn([id], async () => {
      const version = this.#getVersion(edit.row);
      const { outcome, change } = await this.#write(edit, version);
      if (change !== undefined) this.#set(addDone(this.#history, { kind: 'update', description, changes: [change] }));
      return outcome;
    });
  }

  /** Saves fields of many records, all or none. */
  async saveAll(edits: readonly Edit[], description: string): Promise<WriteResult> {
    for (const { row, values } of edits) this.#mark(row.id, values, 'saving', 'Saving');
    return this.#inTurn(listIds(edits), async () => {
      const { outcome, changes } = await this.#writeAll(edits);
      if (changes !== undefined) this.#set(addDone(this.#history, { kind: 'update', description, changes }));
      return outcome;
    });
  }

  recordDelete(entry: Entry): void {
    this.#set(addDone(this.#history, entry));
  }

  undo(): Promise<void> {
    return this.#afterAll(async () => {
      const entry = this.#history.done.at(-1);
      if (entry === undefined) this.#options.say('Nothing to undo');
      else await this.#takeBack(entry, moveToUndone, 'Undone');
    });
  }

  redo(): Promise<void> {
    return this.#afterAll(async () => {
      const entry = this.#history.undone.at(-1);
      if (entry === undefined) this.#options.say('Nothing to redo');
      else await this.#takeBack(entry, moveToDone, 'Redone');
    });
  }

  /** Runs work after all pending writes, so that an undo takes the latest write and not the latest response. */
  #afterAll(work: () => Promise<void>): Promise<void> {
    const turn = this.#undoing.then(() => Promise.all(this.#queues.values())).then(work);
    this.#undoing = turn.catch(() => undefined);
    return turn;
  }

  async #takeBack(entry: Entry, settle: typeof moveToUndone, label: string): Promise<void> {
    const { say, onError, restore } = this.#options;
    if (entry.kind === 'delete') {
      try {
        await restore(entry);
        this.#set(settle(this.#history, undefined));
        say(`${label}: ${entry.description}`);
      } catch (error) {
        onError(error);
      }
      return;
    }
    const edits = entry.changes.map(({ id, before, after, version }) => {
      const at = latestVersion(this.#history, id, version);
      const row = this.#options.getRow(id) ?? {
        id,
        record: Object.fromEntries(after),
        version: at,
        truncatedLengths: new Map(),
      };
      return { row: { ...row, version: at }, before: after, values: before };
    });
    const only = edits.length === 1 ? edits[0] : undefined;
    const changes = await this.#inTurn(listIds(edits), async () => {
      if (only === undefined) return (await this.#writeAll(edits)).changes;
      const { change } = await this.#write(only, only.row.version);
      return change === undefined ? undefined : [change];
    });
    this.#set(settle(this.#history, changes === undefined ? undefined : { ...entry, changes }));
    if (changes === undefined) for (const { row, values } of edits) this.#clearUnless(row.id, values, 'conflict');
    else say(`${label}: ${entry.description}`);
  }

  /** Writes one record and returns the change. */
  async #write(
    { row, before, values }: Edit,
    version: string,
  ): Promise<{ readonly outcome: WriteResult; readonly change?: Change }> {
    const { id } = row;
    try {
      const key = createIdempotencyKey();
      const now = await this.#sendUntilAnswered([{ row, values }], () =>
        this.#options.update({ id, version, values }, key),
      );
      this.#set(addStep(this.#history, id, version, now.version));
      await this.#options.onWritten([{ id, now }]);
      this.#markSaved(id, values);
      this.#options.say('Saved');
      this.#fade([{ row, values }]);
      return { outcome: { kind: 'saved' }, change: { id, before, after: values, version: now.version } };
    } catch (error) {
      if (isApiError(error, 'PRECONDITION_FAILED')) return { outcome: await this.#collide(row, values) };
      return { outcome: this.#refuse(error, [{ row, before, values }]) };
    }
  }

  async #writeAll(
    edits: readonly Edit[],
  ): Promise<{ readonly outcome: WriteResult; readonly changes?: readonly Change[] }> {
    const key = createIdempotencyKey();
    const updates = edits.map(({ row, values }) => ({ id: row.id, version: this.#getVersion(row), values }));
    try {
      const versions = await this.#sendUntilAnswered(edits, () => this.#options.updateAll(updates, key));
      // A row that is fetched again may have another user's changes, so an undo has the versions of the write itself.
      await this.#options.onWritten(updates.map(({ id }) => ({ id, now: undefined })));
      const changes = edits.map(({ row: { id }, before, values }, index): Change => {
        const version = versions[index] as string;
        this.#set(addStep(this.#history, id, updates[index]?.version ?? '', version));
        this.#markSaved(id, values);
        return { id, before, after: values, version };
      });
      this.#fade(edits);
      this.#options.say('Saved');
      return { outcome: { kind: 'saved' }, changes };
    } catch (error) {
      if (isApiError(error, 'PRECONDITION_FAILED')) {
        const first = edits[error.details[0]?.index ?? -1];
        for (const { row, values } of edits) this.#options.drafts.clear(row.id, values.keys());
        if (first !== undefined) await this.#collide(first.row, first.values);
        this.#options.onError(error);
        return { outcome: { kind: 'conflict' } };
      }
      return { outcome: this.#refuse(error, edits) };
    }
  }

  /**
   * Returns the version from the read, or that of our latest write since; a write of others in between is a conflict.
   */
  #getVersion({ id, version }: Row): string {
    return latestVersion(this.#history, id, version);
  }

  /** Sends until there is a response; the cells show the error that it waits for. */
  async #sendUntilAnswered<T>(edits: readonly Pick<Edit, 'row' | 'values'>[], send: () => Promise<T>): Promise<T> {
    for (let failures = 0; ; failures++) {
      try {
        return await send();
      } catch (error) {
        const pause = this.#options.retryDelay(error, failures);
        if (pause === undefined) throw error;
        const { message, isOffline } = describeWaiting(error as ApiError, pause);
        for (const { row, values } of edits) this.#mark(row.id, values, 'waiting', message);
        if (failures === 0) this.#options.onError(isOffline ? new Error(message) : error);
        await this.#options.wait(pause);
      }
    }
  }

  async #collide(row: Row, mine: Values): Promise<WriteResult> {
    this.#mark(row.id, mine, 'conflict', 'Someone else has changed this record');
    try {
      this.#options.onConflict({ row, mine, theirs: await this.#options.readRecord(row.id) });
    } catch (error) {
      if (isApiError(error, 'NOT_FOUND')) this.#options.onConflict({ row, mine, theirs: undefined });
      else this.#options.onError(error);
    }
    return { kind: 'conflict' };
  }

  /** Marks the cells that the error is about; other cells of a rejected bulk request get their former mark. */
  #refuse(error: unknown, edits: readonly Edit[]): WriteResult {
    const details = isApiError(error) ? error.details : [];
    const general = error instanceof Error ? error.message : String(error);
    const messages = new Map<string, string>();
    edits.forEach(({ row, values }, index) => {
      this.#options.drafts.set(row.id, values.keys(), (name) => {
        const detail = details.find((one) => one.field === name && (one.index ?? index) === index);
        const isAbout =
          detail !== undefined ||
          (edits.length === 1 && !details.some(({ field }) => field !== null && values.has(field)));
        if (!isAbout) return undefined;
        const message = detail?.message ?? general;
        messages.set(name, message);
        return { kind: 'refused', value: values.get(name) as Json, message };
      });
    });
    this.#options.onError(error);
    return { kind: 'refused', error, messages };
  }

  #mark(id: string, values: Values, kind: 'saving' | 'saved' | 'waiting' | 'conflict', message: string): void {
    this.#options.drafts.set(id, values.keys(), (name) => ({ kind, value: values.get(name) as Json, message }));
  }

  /** Newer text in a cell is another draft, and stays. */
  #markSaved(id: string, values: Values): void {
    const drafts = this.#options.drafts.get(id);
    const own = [...values].filter(([name, value]) => {
      const draft = drafts?.get(name);
      return draft === undefined || draft.value === value;
    });
    this.#mark(id, new Map(own), 'saved', 'Saved');
  }

  /** Removes the mark "Saved" after 2 s; from all cells at once, as each task renders the list again. */
  #fade(edits: readonly Pick<Edit, 'row' | 'values'>[]): void {
    setTimeout(() => {
      for (const { row, values } of edits) this.#clearIf(row.id, values, 'saved');
    }, 2000);
  }

  #clearIf(id: string, values: Values, kind: string): void {
    const drafts = this.#options.drafts.get(id);
    const names = [...values.keys()].filter((name) => drafts?.get(name)?.kind === kind);
    if (names.length > 0) this.#options.drafts.clear(id, names);
  }

  #clearUnless(id: string, values: Values, kind: string): void {
    const drafts = this.#options.drafts.get(id);
    this.#options.drafts.clear(
      id,
      [...values.keys()].filter((name) => drafts?.get(name)?.kind !== kind),
    );
  }

  #inTurn<T>(ids: readonly string[], work: () => Promise<T>): Promise<T> {
    const turn = Promise.all(ids.map((id) => this.#queues.get(id))).then(work);
    const settled = turn
      .catch(() => undefined)
      .then(() => {
        for (const id of ids) if (this.#queues.get(id) === settled) this.#queues.delete(id);
      });
    for (const id of ids) this.#queues.set(id, settled);
    return turn;
  }

  #set(history: History): void {
    this.#history = history;
    this.notify();
  }
}

const listIds = (edits: readonly Edit[]): readonly string[] => edits.map(({ row }) => row.id);

function describeWaiting(refusal: ApiError, pause: number): { readonly message: string; readonly isOffline: boolean } {
  if (refusal.status === 0) return { message: 'Not saved, offline', isOffline: true };
  return { message: `Not saved yet: ${refusal.message} Again in ${Math.ceil(pause / 1000)} s`, isOffline: false };
}
