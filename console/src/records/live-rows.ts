// Loaded rows that follow the changes of their entity. What changed is fetched as the list shows it, with its labels and
// filters; a record that is edited is only marked.
import { Observable } from '../store.ts';
import type { Row, Rows } from './rows.ts';

/** Event of a record, as far as a list needs it. */
export interface RecordChange {
  readonly type: 'created' | 'updated' | 'removed';
  readonly id: string;
  /** Version after the change; undefined if no request made it. */
  readonly version?: string | undefined;
}

/** How a record is edited: something is typed that is not stored, or is being stored. */
export type EditState = 'typing' | 'saving' | undefined;

export type RowMark = 'changed' | 'meanwhile' | 'removed' | 'new';

/** List whose rows follow. */
export interface LiveList {
  readonly rows: Rows;
  readonly isFiltered: boolean;
  /** Fetches rows by their ids, a hundred at most; deleted ones are left out, excluded ones marked. */
  readonly fetchRows: (ids: readonly string[]) => Promise<readonly Row[]>;
  readonly fetchTotal: () => Promise<number>;
  readonly getEdit: (id: string) => EditState;
}

export const MARK_MS = 2000;
// Pauses between requests while changes go on.
const FETCH_PAUSE_MS = 300;
const TOTAL_PAUSE_MS = 1000;
const FETCHED = 100;
// Limit of records that are looked at after one pause; beyond, the user loads the list again.
const MOST_FETCHED = 1000;
const MOST_CREATED = 10_000;
// Time and number of changes that a list or a window may have missed which was requested before them.
const RECENT_MS = 10_000;
const MOST_RECENT = 1000;

export class LiveRows extends Observable {
  #list: LiveList | undefined;
  #total: number | undefined;
  #isOutdated = false;
  /** Time from which on all changes are known, on the clock of performance.now(). */
  #knownSince = Number.NEGATIVE_INFINITY;
  readonly #pending = new Map<string, RecordChange>();
  readonly #recent = new Map<string, { readonly change: RecordChange; readonly at: number }>();
  /** Changes of records that are edited. */
  readonly #held = new Map<string, RecordChange>();
  readonly #marks = new Map<string, Exclude<RowMark, 'meanwhile'>>();
  readonly #created = new Set<string>();
  #isFetching = false;
  #isCounting = false;

  /** Number of records that the list does not show yet. */
  get createdCount(): number {
    return this.#created.size;
  }

  /** Whether more has changed than was looked at, so that the list has to be loaded again. */
  get isOutdated(): boolean {
    return this.#isOutdated;
  }

  /** Number of records of today, or undefined if that of the list is the latest. */
  get total(): number | undefined {
    return this.#total;
  }

  getMark(id: string): RowMark | undefined {
    return this.#held.has(id) && this.#list?.getEdit(id) === 'typing' ? 'meanwhile' : this.#marks.get(id);
  }

  /** Sets the list to follow; its rows have all changes from before they were requested. */
  setList(list: LiveList | undefined): void {
    const isOther = list?.rows !== this.#list?.rows;
    if (isOther) {
      const created = [...this.#created];
      this.#created.clear();
      this.#held.clear();
      this.#marks.clear();
      this.#total = undefined;
      this.#isOutdated = false;
      for (const id of created) if (list?.rows.byId(id) !== undefined) this.#mark(id, 'new');
      this.#repeat(({ at }) => list !== undefined && at > list.rows.startedAt);
    }
    this.#list = list;
    if (isOther && list !== undefined && list.rows.startedAt < this.#knownSince) this.refresh();
    this.notify();
    void this.#fetch();
  }

  /** Begins to know all changes: those before, since the list was requested, are not known. */
  start(): void {
    this.#knownSince = performance.now();
    this.refresh();
  }

  add(change: RecordChange): void {
    this.#recent.delete(change.id);
    this.#recent.set(change.id, { change, at: performance.now() });
    for (const id of this.#recent.keys()) {
      if (this.#recent.size <= MOST_RECENT) break;
      this.#recent.delete(id);
    }
    // The next list takes it from the recent ones.
    if (this.#list === undefined) return;
    this.#pending.set(change.id, change);
    if (change.type !== 'updated' || this.#list.isFiltered) void this.#count();
    void this.#fetch();
  }

  /** Looks at all loaded records again, after changes that are not known. */
  refresh(): void {
    const ids = this.#list?.rows.listLoadedIds(MOST_FETCHED + 1) ?? [];
    if (ids.length > MOST_FETCHED) this.#isOutdated = true;
    else for (const id of ids) this.#pending.set(id, { type: 'updated', id });
    void this.#count();
    void this.#fetch();
  }

  /** Tells that records came or went without events of their own. */
  reset(): void {
    this.#isOutdated = true;
    this.refresh();
    this.notify();
  }

  /** Looks at changes again that a window which was just loaded may not have. */
  recheckLoaded(): void {
    this.#repeat(({ change }) => this.#list?.rows.byId(change.id) !== undefined);
    void this.#fetch();
  }

  /** Shows the changes of records that are no longer edited. */
  recheckEdited(): void {
    for (const [id, change] of this.#held) {
      if (this.#list?.getEdit(id) !== undefined) continue;
      this.#held.delete(id);
      this.#pending.set(id, change);
    }
    void this.#fetch();
  }

  #repeat(isWithin: (recent: { readonly change: RecordChange; readonly at: number }) => boolean): void {
    const since = performance.now() - RECENT_MS;
    for (const [id, recent] of this.#recent) {
      if (recent.at < since) this.#recent.delete(id);
      else if (isWithin(recent) && !this.#pending.has(id)) this.#pending.set(id, recent.change);
    }
  }

  /** Fetches what changed, again and again while there is more. */
  async #fetch(): Promise<void> {
    if (this.#isFetching) return;
    this.#isFetching = true;
    while (this.#pending.size > 0 && this.#list !== undefined) {
      const list = this.#list;
      const changes = new Map(this.#pending);
      this.#pending.clear();
      const ids = [...changes.values()].flatMap((change) => (this.#sort(list, change) ? [change.id] : []));
      if (ids.length > MOST_FETCHED) this.#isOutdated = true;
      for (let from = 0; from < Math.min(ids.length, MOST_FETCHED); from += FETCHED) {
        const some = ids.slice(from, from + FETCHED);
        // A refusal that passes was waited for; after another one, the next change of the record shows both.
        const rows = await list.fetchRows(some).catch(() => undefined);
        if (this.#list?.rows !== list.rows) break;
        if (rows !== undefined) this.#apply(list, some, changes, new Map(rows.map((row) => [row.id, row])));
      }
      this.notify();
      await new Promise((resolve) => setTimeout(resolve, FETCH_PAUSE_MS));
    }
    this.#isFetching = false;
  }

  /** Takes in what a change alone tells. Returns whether its record has to be fetched. */
  #sort(list: LiveList, change: RecordChange): boolean {
    const { id, type, version } = change;
    const row = list.rows.byId(id);
    if (row === undefined) {
      if (type === 'removed') this.#created.delete(id);
      else if (list.isFiltered) return type === 'created' || list.rows.isWhole;
      else if (type === 'created') this.#addCreated(id);
      return false;
    }
    this.#created.delete(id);
    if (version !== undefined && version === row.version && this.#marks.get(id) !== 'removed') return false;
    if (list.getEdit(id) === undefined) return true;
    this.#held.set(id, change);
    return false;
  }

  #apply(
    list: LiveList,
    ids: readonly string[],
    changes: ReadonlyMap<string, RecordChange>,
    fresh: ReadonlyMap<string, Row>,
  ): void {
    for (const id of ids) {
      const row = list.rows.byId(id);
      const now = fresh.get(id);
      if (row === undefined) {
        if (now !== undefined && now.isFilteredOut !== true) this.#addCreated(id);
        else this.#created.delete(id);
      } else if (list.getEdit(id) !== undefined) this.#held.set(id, changes.get(id) as RecordChange);
      else if (now === undefined) this.#marks.set(id, 'removed');
      else if (now.version !== row.version || this.#marks.get(id) === 'removed') {
        list.rows.replace(now);
        this.#mark(id, 'changed');
      }
    }
  }

  #addCreated(id: string): void {
    if (this.#created.size < MOST_CREATED) this.#created.add(id);
    else this.#isOutdated = true;
  }

  /** Marks a row for two seconds. */
  #mark(id: string, mark: 'changed' | 'new'): void {
    this.#marks.set(id, mark);
    setTimeout(() => {
      if (this.#marks.get(id) !== mark) return;
      this.#marks.delete(id);
      this.notify();
    }, MARK_MS);
  }

  async #count(): Promise<void> {
    if (this.#isCounting) return;
    this.#isCounting = true;
    await new Promise((resolve) => setTimeout(resolve, TOTAL_PAUSE_MS));
    this.#isCounting = false;
    const list = this.#list;
    const total = await list?.fetchTotal().catch(() => undefined);
    if (this.#list?.rows !== list?.rows || total === undefined) return;
    this.#total = total;
    this.notify();
  }
}
