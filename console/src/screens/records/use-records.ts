// State of the records screen: the query of the address, the columns, the rows, and the grid.
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef } from 'react';
import { getAll } from '../../address.ts';
import { isApiError } from '../../api/api-error.ts';
import { type EntityDocument, schemaQuery, type WorkspaceSchema } from '../../api/schema.ts';
import type { WorkspaceRef } from '../../api/workspace.ts';
import { orderColumns } from '../../grid/columns.ts';
import type { GridColumn } from '../../grid/grid-types.ts';
import { useGrid } from '../../grid/use-grid.ts';
import { findInvalidPart } from '../../records/invalid-query.ts';
import { type ListQuery, parseListQuery, parseNames, toFilterSearch, WINDOW_SIZE } from '../../records/list-query.ts';
import { toMatching } from '../../records/matching-requests.ts';
import { useMayWrite } from '../../shell/permissions.ts';
import { useAddress } from '../../shell/use-address.ts';
import { type Presentation, parsePresentation, toPresentationSearch } from '../../views/view-state.ts';
import { createColumnPlan } from './column-plan.ts';
import { useLayout } from './use-layout.ts';
import { useList } from './use-list.ts';

export interface RecordsViewProps extends WorkspaceRef {
  readonly schema: WorkspaceSchema;
  readonly entity: EntityDocument;
}

const SELECTOR: GridColumn = { name: '#select', title: 'Select', width: 36, isEditable: false, isSelector: true };

export function useRecords({ org, ws, schema, entity }: RecordsViewProps) {
  const entityRef = useMemo(() => ({ org, ws, entity: entity.name }), [org, ws, entity.name]);
  const { search, write: change } = useAddress();
  const mayWrite = useMayWrite();

  const [layout, setLayout] = useLayout(entityRef, search, change);
  // Without `expand` in the address all relations show names; with it, those that it names.
  const [expand] = getAll(search, 'expand');
  const plan = useMemo(
    () => createColumnPlan(schema, entity, expand === undefined ? undefined : parseNames(expand)),
    [schema, entity, expand],
  );
  const names = useMemo(() => orderColumns(layout, plan.names), [layout, plan]);
  const query = useMemo(() => ({ ...parseListQuery(search), expand: plan.toExpand(names) }), [search, plan, names]);
  const page = Number(getAll(search, 'page')[0] ?? 0);
  const startRow = Number.isSafeInteger(page) && page > 0 ? page * WINDOW_SIZE : 0;
  const fields = useMemo(() => plan.toFieldNames(names), [plan, names]);
  const findInvalid = useCallback(
    (error: unknown, part: ListQuery) => findInvalidPart(error, part, schema, entity.name),
    [schema, entity.name],
  );
  const list = useList({ entityRef, query, fields, startRow, findInvalid });
  const { rows, refused, invalid } = list;
  const longestId = rows?.longestId ?? 0;
  const columns = useMemo(() => {
    const visible = names.map((name) => plan.gridColumn(name, layout, query.sort, longestId));
    return mayWrite ? [SELECTOR, ...visible] : visible;
  }, [names, plan, layout, query.sort, mayWrite, longestId]);
  const client = useQueryClient();
  // A name that the server does not know may have been renamed since the schema was fetched.
  useEffect(() => {
    if (invalid.length > 0 || (isApiError(refused) && refused.status === 400))
      void client.invalidateQueries({ queryKey: schemaQuery({ org, ws }).queryKey });
  }, [refused, invalid, client, org, ws]);
  const count = rows?.count ?? { rows: 0, isExact: true };
  const control = useGrid({ rowCount: count.rows, columnCount: columns.length });

  const shownNames = useRef(names);
  // A column that is added may be out of sight: the focus goes there, and the grid scrolls with it.
  useEffect(() => {
    const added = names.filter((name) => !shownNames.current.includes(name));
    shownNames.current = names;
    if (added.length !== 1) return;
    const column = columns.findIndex(({ name }) => name === added[0]);
    control.send({ kind: 'go', to: { row: control.state.focus.row, column } });
  }, [names, columns, control]);

  const setQuery = useCallback(
    (next: Partial<ListQuery>) => change({ ...toFilterSearch({ ...query, ...next }), page: undefined }, false),
    [change, query],
  );
  const setNamed = useCallback(
    (named: readonly string[]) =>
      change({ expand: named.length === plan.nameable.length ? undefined : named.join(',') }),
    [change, plan],
  );
  const presentation = useMemo(() => parsePresentation(search), [search]);
  const setPresentation = useCallback(
    (next: Partial<Presentation>) => change(toPresentationSearch({ ...presentation, ...next })),
    [change, presentation],
  );
  const isOpened = useRef(false);
  isOpened.current = getAll(search, 'record').length > 0;
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const onRows = useCallback(
    (from: number, to: number) => {
      rows?.setVisibleRange(from, Math.max(from + 1, to));
      clearTimeout(timer.current);
      // Updates the page in the address after scrolling.
      timer.current = setTimeout(() => {
        const now = Math.floor((from + 6) / WINDOW_SIZE);
        if (now !== page) change({ page: now === 0 ? undefined : String(now) });
      }, 400);
    },
    [rows, page, change],
  );
  const reload = useCallback(() => list.reload(Math.max(0, control.state.focus.row)), [list.reload, control]);
  return {
    entityRef,
    query,
    setQuery,
    setNamed,
    /** Id of the record in the drawer. */
    opened: getAll(search, 'record')[0],
    setOpened: useCallback(
      // Back closes the drawer, whichever record it has then.
      (record: string | undefined) => change({ record }, record === undefined || isOpened.current),
      [change],
    ),
    /** Relations that show names. */
    named: useMemo(
      () =>
        plan.nameable.filter((name) => plan.own.some((one) => one.relation?.name === name && one.label !== undefined)),
      [plan],
    ),
    presentation,
    setPresentation,
    layout,
    setLayout,
    plan,
    names,
    columns,
    fields,
    list,
    rows,
    count,
    control,
    onRows,
    reload,
    mayWrite,
    matching: useMemo(() => toMatching(schema, entity, list.applied), [schema, entity, list.applied]),
  };
}

export type RecordsState = ReturnType<typeof useRecords>;
