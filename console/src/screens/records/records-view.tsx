// The grid of an entity with its toolbar: what is in the address, what is loaded, and what the person does with it.
import './records.css';
import { Button, Text } from '@mantine/core';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo, useRef, useState } from 'react';
import { type Search, valuesOf } from '../../address.ts';
import type { EntityDocument, WorkspaceSchema } from '../../api/schema.ts';
import { screenPath } from '../../api/workspace.ts';
import { counted } from '../../format/amount.ts';
import { arranged, pinnedCount, withWidth } from '../../grid/columns.ts';
import { Grid } from '../../grid/grid.tsx';
import type { GridColumn } from '../../grid/grid-types.ts';
import type { GridCommand, Spot } from '../../grid/state.ts';
import { useGrid } from '../../grid/use-grid.ts';
import { recordPath } from '../../records/cell.tsx';
import type { Chip } from '../../records/filter.ts';
import { isNarrowed, type ListQuery, nextSort, queryOf, searchOf, WINDOW } from '../../records/list-query.ts';
import { columnAt } from '../../records/paths.ts';
import type { Row } from '../../records/rows.ts';
import { useMayWrite } from '../../shell/rights.ts';
import { ScreenFrame } from '../../shell/screen-frame.tsx';
import { useZone } from '../../shell/zone.tsx';
import { columnPlan } from './column-plan.ts';
import { drawingOf } from './drawing.tsx';
import { FilterBar } from './filter-bar.tsx';
import { Toolbar } from './toolbar.tsx';
import { useLayout } from './use-layout.ts';
import { useList } from './use-list.ts';

export interface RecordsViewProps {
  readonly org: string;
  readonly ws: string;
  readonly schema: WorkspaceSchema;
  readonly entity: EntityDocument;
}

/** The address of the screen, and how it is changed. */
function useAddress() {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const latest = useRef(search);
  latest.current = search;
  const change = useCallback(
    (next: Search, replace = false) =>
      void navigate({ to: '.', search: { ...latest.current, ...next } as never, replace, resetScroll: false }),
    [navigate],
  );
  return [search, change] as const;
}

export function RecordsView({ org, ws, schema, entity }: RecordsViewProps) {
  const at = useMemo(() => ({ org, ws, entity: entity.name }), [org, ws, entity.name]);
  const [search, change] = useAddress();
  const query = useMemo(() => queryOf(search), [search]);
  const zone = useZone();
  const mayWrite = useMayWrite();
  const navigate = useNavigate();

  const setFields = useCallback((fields: string | undefined) => change({ fields }, true), [change]);
  const [layout, setLayout] = useLayout(at, valuesOf(search, 'fields')[0], setFields);
  const plan = useMemo(() => columnPlan(schema, entity, query.expand), [schema, entity, query.expand]);
  const names = useMemo(() => arranged(layout, plan.names), [layout, plan]);
  const columns = useMemo(() => {
    const of = names.map((name) => plan.gridColumn(name, layout, query.sort));
    return mayWrite ? [SELECTOR, ...of] : of;
  }, [names, plan, layout, query.sort, mayWrite]);

  const page = Number(valuesOf(search, 'page')[0] ?? 0);
  const startRow = Number.isSafeInteger(page) && page > 0 ? page * WINDOW : 0;
  const fields = useMemo(() => plan.requested(names), [plan, names]);
  const list = useList({ at, query, fields, startRow });
  const { rows } = list;
  const count = rows?.count ?? { rows: 0, isExact: true };
  const control = useGrid({ rowCount: count.rows, columnCount: columns.length });
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [editedChip, setEditedChip] = useState<number>();
  const [isFiltering, setFiltering] = useState(false);

  const setQuery = useCallback(
    (next: Partial<ListQuery>) => change({ ...searchOf({ ...query, ...next }), page: undefined }),
    [change, query],
  );
  const onChip = (chip: Chip): void => {
    const { chips } = query;
    setQuery({ chips: editedChip === undefined ? [...chips, chip] : chips.with(editedChip, chip) });
    setFiltering(false);
    setEditedChip(undefined);
  };
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const onRows = useCallback(
    (from: number, to: number) => {
      rows?.see(from, Math.max(from + 1, to));
      clearTimeout(timer.current);
      timer.current = setTimeout(() => {
        const now = Math.floor((from + 6) / WINDOW);
        if (now !== page) change({ page: now === 0 ? undefined : String(now) }, true);
      }, 400);
    },
    [rows, page, change],
  );
  const drawing = useMemo(
    () => drawingOf({ place: { org, ws }, plan, zone, selected, setSelected }),
    [org, ws, plan, zone, selected],
  );
  const viewAt = (index: number) => {
    const row = rows?.at(index);
    return {
      row,
      revision: drawing,
      isSelected: row !== undefined && selected.has(row.id),
      isMarked: row?.hasLeft === true,
    };
  };
  function onCommand(command: GridCommand, { row: index, column }: Spot): void {
    const row = rows?.at(index);
    if (command === 'filter') setFiltering(true);
    else if (command === 'selectNone') setSelected(new Set());
    else if (command === 'create' && mayWrite) void navigate({ to: recordPath(at, at.entity, 'new') });
    else if (row === undefined) return;
    else if (command === 'toggleRow' || (command === 'open' && columns[column]?.isSelector === true))
      setSelected(toggled(selected, row.id));
    else if (command === 'open') void navigate({ to: recordPath(at, at.entity, row.id) });
  }
  const isEmpty = rows?.hasLoaded === true && count.rows === 0;
  return (
    <div className="records">
      <ScreenFrame
        title={entity.name}
        actions={
          <Toolbar
            at={at}
            query={query}
            fields={names}
            schema={schema}
            entity={entity}
            zone={zone}
            mayWrite={mayWrite}
            onReload={() => list.reload(Math.max(0, control.state.focus.row))}
            filter={{
              chip: editedChip === undefined ? undefined : query.chips[editedChip],
              isOpen: isFiltering,
              onOpen: (isOpen) => {
                setFiltering(isOpen);
                if (!isOpen) setEditedChip(undefined);
              },
              onChip,
            }}
            columns={{
              layout,
              all: plan.names,
              widthOf: (name) => plan.gridColumn(name, layout, []).width,
              onLayout: setLayout,
              relations: plan.expandable,
              expanded: query.expand,
              onExpand: (expand) => change({ expand: expand.length === 0 ? undefined : expand.join(',') }, true),
            }}
            onSearch={(text) => setQuery({ search: text })}
          />
        }
      >
        <FilterBar
          chips={query.chips}
          refused={list.refused}
          zone={zone}
          isMoment={(path) => columnAt(schema, entity, path)?.type === 'datetime'}
          onChips={(chips) => setQuery({ chips })}
          onEdit={(index) => {
            setEditedChip(index);
            setFiltering(true);
          }}
          onRetry={list.retry}
        />
        {isEmpty ? (
          <Empty
            isNarrowed={isNarrowed(query)}
            mayWrite={mayWrite}
            at={at}
            onClear={() => setQuery({ chips: [], search: '' })}
          />
        ) : (
          rows !== undefined && (
            <Grid<Row>
              label={`Records of ${entity.name}`}
              columns={columns}
              pinned={pinnedCount(layout, names) + (mayWrite ? 1 : 0)}
              rowCount={count.rows}
              isCountExact={count.isExact}
              viewAt={viewAt}
              control={control}
              drawing={drawing}
              isReadOnly={!mayWrite}
              onCommand={onCommand}
              onHead={(column, isAdded) => setQuery({ sort: nextSort(query.sort, column.name, isAdded) })}
              onResize={(column, width) => setLayout(withWidth(layout, column.name, width))}
              onRows={onRows}
              list={rows}
              startRow={list.startRow}
            />
          )
        )}
        <div className="records-line records-foot">
          <span>
            {rows === undefined
              ? ''
              : count.isExact
                ? counted(count.rows, 'record')
                : `${counted(count.rows, 'record')} or more`}
          </span>
          {selected.size > 0 && <span>{counted(selected.size, 'record')} selected</span>}
        </div>
      </ScreenFrame>
    </div>
  );
}

const SELECTOR: GridColumn = { name: '#select', title: 'Select', width: 36, isEditable: false, isSelector: true };

function toggled(selected: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(selected);
  if (!next.delete(id)) next.add(id);
  return next;
}

interface EmptyProps {
  readonly isNarrowed: boolean;
  readonly mayWrite: boolean;
  readonly at: { readonly org: string; readonly ws: string; readonly entity: string };
  readonly onClear: () => void;
}

function Empty({ isNarrowed, mayWrite, at, onClear }: EmptyProps) {
  if (isNarrowed)
    return (
      <div className="records-empty">
        <Text>No record matches</Text>
        <Button variant="default" onClick={onClear}>
          Clear filter
        </Button>
      </div>
    );
  return (
    <div className="records-empty">
      <Text>No records yet</Text>
      {mayWrite && (
        <div className="records-line">
          <Button component={Link} to={recordPath(at, at.entity, 'new')}>
            New record
          </Button>
          <Button variant="default" component={Link} to={screenPath(at, `/data/${at.entity}/import`)}>
            Import
          </Button>
        </div>
      )}
    </div>
  );
}
