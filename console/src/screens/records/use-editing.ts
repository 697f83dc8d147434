// Writes of the grid: single cells, ranges, deletes, and their undo.
import { useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { retryDelay } from '../../api/retry.ts';
import type { EntityDocument } from '../../api/schema.ts';
import { pluralize } from '../../format/amount.ts';
import { type CellDraft, CellDrafts } from '../../records/cell-drafts.ts';
import { getKeyColumn, listBelongsTo } from '../../records/fields.ts';
import type { History, Values } from '../../records/history.ts';
import type { ListQuery } from '../../records/list-query.ts';
import { isFiltered } from '../../records/list-query.ts';
import { type EntityRef, fetchRecord, fetchRecords, fetchRows, type Versioned } from '../../records/requests.ts';
import { type Row, type Rows, updateRow } from '../../records/rows.ts';
import { getMember, isSameValue } from '../../records/value.ts';
import { restoreRecords, updateRecord, updateRecords } from '../../records/write-requests.ts';
import { type Conflict, type Edit, type WriteResult, Writer } from '../../records/writer.ts';
import { announce } from '../../shell/live-region.tsx';

export interface EditingOptions {
  readonly entityRef: EntityRef;
  readonly entity: EntityDocument;
  readonly query: ListQuery;
  readonly fields: readonly string[];
  readonly rows: Rows | undefined;
  readonly reload: () => void;
}

export interface RowEdit {
  readonly row: Row;
  readonly values: Values;
}

export interface Editing {
  readonly drafts: CellDrafts;
  readonly writer: Writer;
  readonly history: History;
  readonly conflict: Conflict | undefined;
  /** Last error, until a save succeeds or the user dismisses it. */
  readonly refused: unknown;
  readonly setRefused: (error: unknown) => void;
  /** Whether edits are queued and saved together. */
  readonly isQueueing: boolean;
  readonly setQueueing: (isOn: boolean) => void;
  readonly save: (edits: readonly RowEdit[]) => Promise<WriteResult>;
  /** Queues edits until `saveQueue`, with their base records, as the list may have newer ones by then. */
  readonly queue: (edits: readonly RowEdit[]) => void;
  readonly saveQueue: () => Promise<WriteResult>;
  readonly discardQueue: () => void;
  readonly resolve: (how: 'mine' | 'theirs' | 'later') => void;
}

export const READ_ONLY = ['createdAt', 'updatedAt'];

export function useEditing(options: EditingOptions): Editing {
  const latest = useRef(options);
  latest.current = options;
  const [conflicts, setConflicts] = useState<readonly Conflict[]>([]);
  const [refused, setRefused] = useState<unknown>();
  const [isQueueing, setQueueing] = useState(false);
  const drafts = useMemo(() => new CellDrafts(), []);
  const queuedRows = useRef(new Map<string, Row>());
  const writer = useMemo(
    () =>
      new Writer({
        drafts,
        update: (update, key) => updateRecord(latest.current.entityRef, update, key),
        updateAll: (updates, key) => updateRecords(latest.current.entityRef, updates, key),
        readRecord: (id) => fetchRecord(latest.current.entityRef, id),
        restore: async ({ records }) => {
          const stamps = latest.current.entity.timestamps === true ? READ_ONLY : [];
          await restoreRecords(latest.current.entityRef, records, stamps);
          latest.current.reload();
        },
        getRow: (id) => latest.current.rows?.byId(id),
        onWritten: (written) => refreshWritten(latest.current, written),
        onConflict: (conflict) => setConflicts((all) => [...all, conflict]),
        onError: setRefused,
        say(words) {
          setRefused(undefined);
          announce(words);
        },
        retryDelay,
        wait: waitUntilOnline,
      }),
    [drafts],
  );
  useSyncExternalStore(drafts.subscribe, drafts.revision);
  const history = useSyncExternalStore(writer.subscribe, writer.history);

  return useMemo(() => {
    const save = async (newEdits: readonly RowEdit[]): Promise<WriteResult> => {
      const edits = await completeEdits(latest.current.entityRef, newEdits);
      const only = edits.length === 1 ? edits[0] : undefined;
      return only === undefined ? writer.saveAll(edits, describeEdits(edits)) : writer.save(only, describeEdits(edits));
    };
    const queued = (): readonly RowEdit[] => {
      const byId = new Map<string, Map<string, CellDraft>>();
      for (const { id, name, draft } of drafts.all('queued'))
        byId.set(id, (byId.get(id) ?? new Map()).set(name, draft));
      return [...byId].flatMap(([id, fields]) => {
        const row = queuedRows.current.get(id) ?? latest.current.rows?.byId(id);
        const values = new Map([...fields].map(([name, { value }]) => [name, value]));
        return row === undefined ? [] : [{ row, values }];
      });
    };
    return {
      drafts,
      writer,
      history,
      conflict: conflicts[0],
      refused,
      setRefused,
      isQueueing,
      setQueueing,
      save,
      queue(edits) {
        for (const { row, values } of edits) {
          if (!queuedRows.current.has(row.id)) queuedRows.current.set(row.id, row);
          drafts.set(row.id, values.keys(), (name) => ({
            kind: 'queued',
            value: values.get(name) ?? null,
            message: 'Not saved yet',
          }));
        }
      },
      async saveQueue() {
        const before = drafts.all('queued');
        const outcome = await save(queued());
        if (outcome.kind === 'saved') queuedRows.current.clear();
        // A rejected bulk write saved nothing: cells without an error stay in the queue.
        if (outcome.kind !== 'saved')
          for (const { id, name, draft } of before)
            if (drafts.get(id)?.has(name) !== true) drafts.set(id, [name], () => draft);
        return outcome;
      },
      discardQueue() {
        queuedRows.current.clear();
        for (const kind of ['queued', 'refused'] as const)
          for (const { id, name } of drafts.all(kind)) drafts.clear(id, [name]);
      },
      resolve(how) {
        const [conflict] = conflicts;
        if (conflict === undefined) return;
        setConflicts((all) => all.slice(1));
        if (how === 'later') return;
        const { row, mine, theirs } = conflict;
        drafts.clear(row.id, mine.keys());
        const { rows, reload } = latest.current;
        if (theirs === undefined) {
          reload();
          return;
        }
        const now = updateRow(rows?.byId(row.id) ?? row, theirs.record, theirs.version);
        rows?.replace(now);
        if (how === 'mine') void save([{ row: now, values: mine }]);
        else announce('The current version is shown; yours was not saved');
      },
    };
  }, [drafts, writer, history, conflicts, refused, isQueueing]);
}

/** Fetches truncated values before they are replaced, as an undo needs them whole. */
async function completeEdits(entityRef: EntityRef, edits: readonly RowEdit[]): Promise<readonly Edit[]> {
  const cut = edits.filter(({ row, values }) => [...values.keys()].some((name) => row.truncatedLengths.has(name)));
  const names = [
    ...new Set(cut.flatMap(({ row, values }) => [...values.keys()].filter((name) => row.truncatedLengths.has(name)))),
  ];
  const whole = new Map<string, Versioned>();
  if (cut.length > 0)
    for (const one of await fetchRecords(
      entityRef,
      cut.map(({ row }) => row.id),
      names,
    ))
      whole.set(String(getMember(one.record, 'id')), one);
  return edits.map(({ row, values }) => {
    const source = whole.get(row.id)?.record;
    const before = new Map(
      [...values.keys()].map((name) => [
        name,
        getMember(row.truncatedLengths.has(name) ? (source ?? {}) : row.record, name) ?? null,
      ]),
    );
    return { row, before, values };
  });
}

function describeEdits(edits: readonly Edit[]): string {
  const values = edits.reduce((sum, edit) => sum + edit.values.size, 0);
  const only = edits.length === 1 ? edits[0] : undefined;
  if (only !== undefined && only.values.size === 1) return `${[...only.values.keys()][0]} of record ${only.row.id}`;
  return `${pluralize(values, 'value')} in ${pluralize(edits.length, 'record')}`;
}

/** Updates written records in the list; the server evaluates labels and filters. */
async function refreshWritten(
  { entityRef, entity, query, fields, rows }: EditingOptions,
  written: readonly { readonly id: string; readonly now: Versioned | undefined }[],
): Promise<void> {
  const keys = listBelongsTo(entity)
    .filter(({ name }) => query.expand.includes(name))
    .map(getKeyColumn);
  let isTold = !isFiltered(query);
  for (const { id, now } of written) {
    const row = rows?.byId(id);
    // The answer to a write has no names of related records.
    isTold &&= now !== undefined && keys.every((key) => isSameValue(now.record[key], row?.record[key]));
    if (now === undefined) continue;
    if (row !== undefined) rows?.replace(updateRow(row, now.record, now.version));
  }
  if (isTold) return;
  const ids = written.map(({ id }) => id);
  for (let from = 0; from < ids.length; from += 100) {
    const fresh = await fetchRows(entityRef, query, fields, ids.slice(from, from + 100)).catch(() => []);
    for (const row of fresh) rows?.replace(row);
  }
}

/** Resolves after a pause, or when the browser is online again. */
const waitUntilOnline = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(end, milliseconds);
    addEventListener('online', end);
    function end(): void {
      clearTimeout(timer);
      removeEventListener('online', end);
      resolve();
    }
  });
