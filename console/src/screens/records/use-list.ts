// Loaded rows of the list in the address. While another list loads, or after an error, the former rows stay.
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { retryDelay } from '../../api/retry.ts';
import { pluralize } from '../../format/amount.ts';
import { isFiltered, type ListQuery, WINDOW_SIZE } from '../../records/list-query.ts';
import { type EntityRef, fetchTotal, fetchWindow } from '../../records/requests.ts';
import { Rows } from '../../records/rows.ts';
import { announce } from '../../shell/live-region.tsx';

export interface List {
  /** Loaded rows; undefined until the first ones arrive. */
  readonly rows: Rows | undefined;
  /** Error of the list in the address. */
  readonly refused: unknown;
  readonly startRow: number;
  readonly isLoading: boolean;
  /** Reloads the list from a row on. */
  readonly reload: (row: number) => void;
  readonly retry: () => void;
}

export interface ListOptions {
  readonly entityRef: EntityRef;
  readonly query: ListQuery;
  /** Fields to request. */
  readonly fields: readonly string[];
  readonly startRow: number;
}

export function useList({ entityRef, query, fields, startRow }: ListOptions): List {
  const [list, setList] = useState<{ readonly rows: Rows; readonly startRow: number; readonly key: string }>();
  const [refused, setRefused] = useState<{ readonly error: unknown; readonly key: string }>();
  const [reloading, setReloading] = useState({ count: 0, row: startRow });
  const key = JSON.stringify([entityRef, query, fields, reloading.count]);
  const latest = useRef({ entityRef, query, fields, startRow });
  latest.current = {
    entityRef,
    query,
    fields,
    startRow: reloading.count > 0 && list !== undefined ? reloading.row : startRow,
  };
  useEffect(() => {
    const { entityRef, query, fields, startRow } = latest.current;
    const narrowed = isFiltered(query);
    const controller = new AbortController();
    const rows = new Rows({
      load: (request, signal) =>
        fetchWindow(entityRef, query, { ...request, fields, count: narrowed ? 'none' : 'exact' }, signal),
      retryDelay,
    });
    let isShown = false;
    const stop = rows.subscribe(() => {
      if (rows.hasLoaded && !isShown) {
        isShown = true;
        setList((last) => {
          if (last?.rows !== rows) last?.rows.close();
          return { rows, startRow, key };
        });
        setRefused(undefined);
        void announceTotal(rows, entityRef, query, controller.signal);
      }
      if (rows.refused !== undefined) setRefused({ error: rows.refused, key });
    });
    rows.setVisibleRange(startRow, startRow + WINDOW_SIZE / 2);
    return () => {
      controller.abort();
      stop();
      if (!isShown) rows.close();
    };
  }, [key]);
  useSyncExternalStore(list?.rows.subscribe ?? never, list?.rows.revision ?? zero);
  return useMemo(
    () => ({
      rows: list?.rows,
      refused: refused?.key === key ? refused.error : undefined,
      startRow: list?.startRow ?? 0,
      isLoading: list?.key !== key && refused?.key !== key,
      reload: (row: number) => setReloading(({ count }) => ({ count: count + 1, row })),
      retry: () => {
        if (list?.key === key) list.rows.retry();
        else setReloading(({ count, row }) => ({ count: count + 1, row }));
        setRefused(undefined);
      },
    }),
    [list, refused, key],
  );
}

const never = () => () => undefined;
const zero = () => 0;

/** Fetches the total after the rows, and announces it if the list is filtered. */
async function announceTotal(rows: Rows, entityRef: EntityRef, query: ListQuery, signal: AbortSignal): Promise<void> {
  if (!rows.count.isExact) {
    try {
      const total = await fetchTotal(entityRef, query, signal);
      if (signal.aborted) return;
      rows.setTotal(total);
    } catch {
      // The rows are displayed; only the total is unknown.
      return;
    }
  }
  if (isFiltered(query)) announce(pluralize(rows.count.rows, 'record'));
}
