// Loaded records of a list: windows of a hundred, fetched when they become visible and evicted when they are far away.
// A neighbour is fetched by the cursor of the window before it, a jump by its index; the response of a write replaces
// the record with its id.
import { Digits, type Json, stringifyExact } from '../api/json.ts';
import { sleep } from '../api/retry.ts';
import { Observable } from '../store.ts';
import { PREVIEW_LENGTH, WINDOW_SIZE } from './list-query.ts';
import { getId, type RecordValue } from './value.ts';

/** Record in the list. A change creates another object, so that rows can be compared by identity. */
export interface Row {
  readonly id: string;
  readonly record: RecordValue;
  /** Version for If-Match, without quotes. */
  readonly version: string;
  /** Full lengths of truncated values, by field. */
  readonly truncatedLengths: ReadonlyMap<string, number>;
  /** Whether a change excluded it by the filter; it stays until the list is reloaded. */
  readonly isFilteredOut?: boolean;
}

/** Response to a request for a window. */
export interface LoadedWindow {
  readonly rows: readonly Row[];
  /** Cursor of the next window, or null at the end of the list. */
  readonly next: string | null;
  /** Size of the whole list, or null if it was not counted. */
  readonly total: number | null;
}

export interface WindowRequest {
  readonly window: number;
  readonly after: string | undefined;
}

export interface RowsOptions {
  readonly load: (request: WindowRequest, signal: AbortSignal) => Promise<LoadedWindow>;
  /** Returns the milliseconds before a retry, or undefined if the error is final. */
  readonly retryDelay: (error: unknown, failures: number) => number | undefined;
}

// Limit of loaded windows: 6,000 records with previews are some 10 MB.
const MOST_WINDOWS = 60;

export class Rows extends Observable {
  /** Time of its first request, on the clock of performance.now(). */
  readonly startedAt = performance.now();
  readonly #options: RowsOptions;
  readonly #windows = new Map<number, LoadedWindow>();
  readonly #loading = new Map<number, AbortController>();
  readonly #places = new Map<string, number>();
  #refused: { readonly window: number; readonly error: unknown } | undefined;
  #total: number | undefined;
  #least = 0;
  #longestId = 0;
  readonly #filteredOut = new Set<string>();
  #isEndLoaded = false;
  #loads = 0;

  constructor(options: RowsOptions) {
    super();
    this.#options = options;
  }

  /** Error of a window that failed to load; `retry` requests it again. */
  get refused(): unknown {
    return this.#refused?.error;
  }

  get hasLoaded(): boolean {
    return this.#windows.size > 0;
  }

  /** Size of the list: exact when it was counted or its end was loaded, else the known rows and one more window. */
  get count(): { readonly rows: number; readonly isExact: boolean } {
    if (this.#total !== undefined) return { rows: this.#total, isExact: true };
    return { rows: this.#least, isExact: this.#isEndLoaded };
  }

  /** Number of windows that have been loaded, also of those that were forgotten. */
  get loads(): number {
    return this.#loads;
  }

  /** Whether all of the list is loaded. */
  get isWhole(): boolean {
    const { rows, isExact } = this.count;
    return isExact && this.#windows.size * WINDOW_SIZE >= rows;
  }

  /** Length of the longest id that was loaded, in characters. */
  get longestId(): number {
    return this.#longestId;
  }

  /** Number of loaded records that no longer match the filter. */
  get filteredOutCount(): number {
    return this.#filteredOut.size;
  }

  /** Removes the mark of records that no longer match the filter; they stay until the list is reloaded. */
  keepFilteredOut(): void {
    for (const id of [...this.#filteredOut]) {
      const row = this.byId(id);
      if (row !== undefined) this.replace({ ...row, isFilteredOut: false });
    }
  }

  /** Sets the counted size of the list. */
  setTotal(total: number): void {
    this.#total = total;
    this.notify();
  }

  get(index: number): Row | undefined {
    return this.#windows.get(Math.floor(index / WINDOW_SIZE))?.rows[index % WINDOW_SIZE];
  }

  byId(id: string): Row | undefined {
    const index = this.indexOf(id);
    return index === undefined ? undefined : this.get(index);
  }

  /** Lists the ids of the first `most` loaded records, in order. */
  listLoadedIds(most: number): readonly string[] {
    const windows = [...this.#windows].sort(([one], [other]) => one - other);
    return windows.flatMap(([, { rows }]) => rows.map(({ id }) => id)).slice(0, most);
  }

  indexOf(id: string): number | undefined {
    return this.#places.get(id);
  }

  /** Replaces a record after a write or a new read. */
  replace(row: Row): void {
    const index = this.#places.get(row.id);
    const number = index === undefined ? -1 : Math.floor(index / WINDOW_SIZE);
    const window = this.#windows.get(number);
    if (index === undefined || window === undefined) return;
    this.#windows.set(number, { ...window, rows: window.rows.with(index % WINDOW_SIZE, row) });
    if (row.isFilteredOut === true) this.#filteredOut.add(row.id);
    else this.#filteredOut.delete(row.id);
    this.notify();
  }

  /**
   * Sets the visible rows from (inclusive) to (exclusive): loads missing windows and aborts the loads of invisible
   * ones.
   */
  setVisibleRange(from: number, to: number): void {
    const first = Math.floor(from / WINDOW_SIZE);
    const last = Math.floor(Math.max(from, to - 1) / WINDOW_SIZE);
    for (const [window, controller] of this.#loading) if (window < first || window > last) controller.abort();
    for (let window = first; window <= last; window++) void this.#want(window);
    this.#forget(first, last);
  }

  /** Loads rows outside the view, for a paste for example, `MOST_WINDOWS` windows at most. */
  async load(from: number, to: number): Promise<void> {
    for (let window = Math.floor(from / WINDOW_SIZE); window <= Math.floor((to - 1) / WINDOW_SIZE); window++) {
      if (!this.#windows.has(window))
        this.#store(window, await this.#options.load(this.#request(window), new AbortController().signal));
    }
  }

  retry(): void {
    const window = this.#refused?.window;
    this.#refused = undefined;
    this.notify();
    if (window !== undefined) void this.#want(window);
  }

  close(): void {
    for (const controller of this.#loading.values()) controller.abort();
    this.removeListeners();
  }

  #request(window: number): WindowRequest {
    return { window, after: this.#windows.get(window - 1)?.next ?? undefined };
  }

  async #want(window: number): Promise<void> {
    if (this.#windows.has(window) || this.#loading.has(window) || this.#refused?.window === window) return;
    if (this.count.isExact && window > 0 && window * WINDOW_SIZE >= this.count.rows) return;
    const controller = new AbortController();
    this.#loading.set(window, controller);
    const { signal } = controller;
    for (let failures = 0; ; failures++) {
      try {
        const loaded = await this.#options.load(this.#request(window), signal);
        if (!signal.aborted) this.#store(window, loaded);
        break;
      } catch (error) {
        if (signal.aborted) break;
        const pause = this.#options.retryDelay(error, failures);
        if (pause === undefined) {
          this.#refused = { window, error };
          break;
        }
        await sleep(pause, signal);
        if (signal.aborted) break;
      }
    }
    if (this.#loading.get(window) === controller) this.#loading.delete(window);
    this.notify();
  }

  #store(window: number, loaded: LoadedWindow): void {
    this.#windows.set(window, loaded);
    this.#loads++;
    loaded.rows.forEach((row, place) => {
      this.#places.set(row.id, window * WINDOW_SIZE + place);
      this.#longestId = Math.max(this.#longestId, row.id.length);
    });
    if (this.#refused?.window === window) this.#refused = undefined;
    const end = window * WINDOW_SIZE + loaded.rows.length;
    this.#least = Math.max(this.#least, loaded.next === null ? end : end + WINDOW_SIZE);
    // An empty page past the end does not tell where the end is.
    if (loaded.next === null && (loaded.rows.length > 0 || window === 0)) {
      this.#isEndLoaded = true;
      this.#least = end;
    }
    if (loaded.total !== null) this.#total = loaded.total;
    this.notify();
  }

  #forget(first: number, last: number): void {
    if (this.#windows.size <= MOST_WINDOWS) return;
    const middle = (first + last) / 2;
    const far = [...this.#windows.keys()].sort((one, other) => Math.abs(other - middle) - Math.abs(one - middle));
    for (const window of far.slice(0, this.#windows.size - MOST_WINDOWS)) {
      for (const row of this.#windows.get(window)?.rows ?? []) {
        this.#places.delete(row.id);
        this.#filteredOut.delete(row.id);
      }
      this.#windows.delete(window);
    }
  }
}

interface ListMeta {
  readonly nextCursor?: string | null;
  readonly totalElements?: number | null;
  readonly versions?: readonly string[];
  readonly previews?: readonly { readonly index: number; readonly field: string; readonly length: number }[];
}

/** Converts the response of a list with versions and previews to rows. */
export function parseWindow(records: readonly RecordValue[], meta: ListMeta): LoadedWindow {
  const lengths = new Map<number, Map<string, number>>();
  for (const { index, field, length } of meta.previews ?? []) {
    const ofRow = lengths.get(index) ?? new Map<string, number>();
    lengths.set(index, ofRow.set(field, length));
  }
  return {
    rows: records.map((record, index) => ({
      id: getId(record),
      record,
      version: meta.versions?.[index] ?? '',
      truncatedLengths: lengths.get(index) ?? NOT_TRUNCATED,
    })),
    next: meta.nextCursor ?? null,
    total: meta.totalElements ?? null,
  };
}

export const NOT_TRUNCATED: ReadonlyMap<string, number> = new Map();

/** Updates a row by the response of a write: long values are truncated, labels stay. */
export function updateRow(row: Row, record: RecordValue, version: string): Row {
  const truncatedLengths = new Map<string, number>();
  const members = Object.entries(row.record).map(([name, before]) => {
    if (!Object.hasOwn(record, name)) return [name, before] as const;
    const value = record[name] as Json;
    const cut =
      typeof value === 'string' || (typeof value === 'object' && value !== null && !(value instanceof Digits))
        ? truncate(value)
        : undefined;
    if (cut === undefined) return [name, value] as const;
    truncatedLengths.set(name, cut.length);
    return [name, cut.start] as const;
  });
  return { ...row, record: Object.fromEntries(members), version, truncatedLengths };
}

/** Truncates a long value as the API does: by characters, a json as text. Returns undefined if it is short enough. */
function truncate(value: Json): { readonly start: string; readonly length: number } | undefined {
  const text = typeof value === 'string' ? value : stringifyExact(value);
  if (text.length <= PREVIEW_LENGTH) return undefined;
  const characters = [...text];
  return characters.length <= PREVIEW_LENGTH
    ? undefined
    : { start: characters.slice(0, PREVIEW_LENGTH).join(''), length: characters.length };
}
