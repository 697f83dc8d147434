// Loaded rows of the list in the address. While another list loads, or after an error, the former rows stay.
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { retryDelay } from '../../api/retry.ts';
import { pluralize } from '../../format/amount.ts';
import { hasPart, type InvalidPart, omitPart } from '../../records/invalid-query.ts';
import { isFiltered, type ListQuery, WINDOW_SIZE } from '../../records/list-query.ts';
import { type EntityRef, fetchTotal, fetchWindow } from '../../records/requests.ts';
import { Rows } from '../../records/rows.ts';
import { announce } from '../../shell/live-region.tsx';

export interface List {
  /** Loaded rows; undefined until the first ones arrive. */
  readonly rows: Rows | undefined;
  /** Query of the rows: that of the address without the parts that the server rejects. */
  readonly applied: ListQuery;
  readonly invalid: readonly InvalidPart[];
  /** Error of the list in the address. */
  readonly refused: unknown;
  readonly startRow: number;
  readonly isLoading: boolean;
  /** Number of reloads. */
  readonly revision: number;
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
  readonly findInvalid: (error: unknown, query: ListQuery) => InvalidPart | undefined;
}

interface LoadedList {
  readonly rows: Rows;
  readonly startRow: number;
  readonly key: string;
  readonly applied: ListQuery;
}

const NONE: readonly InvalidPart[] = [];

export function useList({ entityRef, query, fields, startRow, findInvalid }: ListOptions): List {
  const [list, setList] = useState<LoadedList>();
  const [invalid, setInvalid] = useState(NONE);
  const [refused, setRefused] = useState<{ readonly error: unknown; readonly key: string }>();
  const [reloading, setReloading] = useState({ count: 0, row: startRow });
  const key = JSON.stringify([entityRef, query, fields, reloading.count]);
  const latest = useRef({ entityRef, query, fields, startRow, findInvalid });
  latest.current = {
    entityRef,
    query,
    fields,
    findInvalid,
    startRow: reloading.count > 0 && list !== undefined ? reloading.row : startRow,
  };
  useEffect(() => {
    const { entityRef, query, fields, startRow } = latest.current;
    const controller = new AbortController();
    let isShown = false;
    let end: () => void = () => undefined;
    const start = (applied: ListQuery, invalid: readonly InvalidPart[]): void => {
      const count = isFiltered(applied) ? 'none' : 'exact';
      const rows = new Rows({
        load: (request, signal) => fetchWindow(entityRef, applied, { ...request, fields, count }, signal),
        retryDelay,
      });
      const stop = rows.subscribe(() => {
        const part =
          isShown || rows.refused === undefined ? undefined : latest.current.findInvalid(rows.refused, applied);
        if (part !== undefined) {
          end();
          // The list is shown without the invalid parts, and all of them are marked at once: a list that loads again after
          // the schema did would otherwise take away marks and set them again one by one.
          start(omitPart(applied, part), [...invalid, part]);
          return;
        }
        if (rows.hasLoaded && !isShown) {
          isShown = true;
          setList((last) => {
            if (last?.rows !== rows) last?.rows.close();
            return { rows, startRow, key, applied };
          });
          setInvalid(invalid);
          setRefused(undefined);
          void announceTotal(rows, entityRef, applied, controller.signal);
        }
        if (rows.refused !== undefined) {
          if (!isShown) setInvalid(invalid);
          setRefused({ error: rows.refused, key });
        }
      });
      end = () => {
        stop();
        if (!isShown) rows.close();
      };
      rows.setVisibleRange(startRow, startRow + WINDOW_SIZE / 2);
    };
    start(query, NONE);
    return () => {
      controller.abort();
      end();
    };
  }, [key]);
  useSyncExternalStore(list?.rows.subscribe ?? never, list?.rows.revision ?? zero);
  return useMemo(
    () => ({
      rows: list?.rows,
      applied: list?.applied ?? latest.current.query,
      invalid: invalid.filter((part) => hasPart(latest.current.query, part)),
      refused: refused?.key === key ? refused.error : undefined,
      startRow: list?.startRow ?? 0,
      isLoading: list?.key !== key && refused?.key !== key,
      revision: reloading.count,
      reload: (row: number) => setReloading(({ count }) => ({ count: count + 1, row })),
      retry: () => {
        if (list?.key === key) list.rows.retry();
        else setReloading(({ count, row }) => ({ count: count + 1, row }));
        setRefused(undefined);
      },
    }),
    [list, refused, invalid, key, reloading.count],
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
