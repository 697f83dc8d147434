// Grid of an entity with its toolbar, dialogs and footer.
import './records.css';
import { useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useMemo, useState } from 'react';
import { screenPath } from '../../api/workspace.ts';
import { countPinned, setWidth } from '../../grid/columns.ts';
import { Grid } from '../../grid/grid.tsx';
import type { RowNote } from '../../grid/grid-types.ts';
import type { CellPosition, GridCommand } from '../../grid/state.ts';
import { useFocusBack } from '../../grid/use-grid.ts';
import { recordScreenPath } from '../../records/cell-value.tsx';
import type { Chip } from '../../records/filter.ts';
import { findColumn } from '../../records/filter-paths.ts';
import { useRememberList } from '../../records/last-list.ts';
import { isFiltered, nextSort } from '../../records/list-query.ts';
import type { LiveRows, RowMark } from '../../records/live-rows.ts';
import type { Row } from '../../records/rows.ts';
import { Icon } from '../../shell/icon.tsx';
import { useMayAdminister } from '../../shell/permissions.ts';
import { ScreenFrame } from '../../shell/screen-frame.tsx';
import { useScreenShortcuts } from '../../shell/shortcuts.ts';
import { useTimeZone } from '../../shell/time-zone.tsx';
import { UnsavedChangesGuard } from '../../shell/unsaved-changes.tsx';
import { hasLayoutView, LayoutView } from '../../views/layout-view.tsx';
import { SummaryLine } from '../../views/summary-line.tsx';
import { ViewsBar } from '../../views/views-bar.tsx';
import { useCells } from './cells.tsx';
import { Conflicts } from './conflicts.tsx';
import { type Question, QuestionDialog } from './dialogs.tsx';
import { EmptyList } from './empty-list.tsx';
import { FilterBar } from './filter-bar.tsx';
import { FilteredOut } from './filtered-out.tsx';
import { Footer } from './footer.tsx';
import { GridMenu, type OpenMenu } from './grid-menu.tsx';
import { LiveNotice } from './live-notice.tsx';
import { RecordDrawer } from './record-drawer.tsx';
import { toggleLoaded } from './select-loaded.tsx';
import { KEYS, READING_KEYS } from './shortcuts.ts';
import { Toolbar } from './toolbar.tsx';
import { useDelete } from './use-delete.ts';
import { useEditing } from './use-editing.ts';
import { useLive } from './use-live.ts';
import { useRange } from './use-range.ts';
import { type RecordsViewProps, useRecords } from './use-records.ts';

const AddField = lazy(async () => ({ default: (await import('./add-field.tsx')).AddField }));

export function RecordsView(props: RecordsViewProps) {
  const { schema, entity } = props;
  const zone = useTimeZone();
  const navigate = useNavigate();
  const state = useRecords(props);
  const { entityRef, query, setQuery, plan, columns, list, rows, count, control, mayWrite } = state;
  const { presentation, setPresentation, names } = state;
  const isLayout = hasLayoutView(presentation.layout);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [filter, setFilter] = useState<{ readonly chip: number | undefined } | undefined>();
  const [question, setQuestion] = useState<Question>();
  const [menu, setMenu] = useState<OpenMenu>();
  const editing = useEditing({
    entityRef,
    entity,
    query: list.applied,
    fields: state.fields,
    rows,
    reload: state.reload,
  });
  const { drafts, writer } = editing;
  const live = useLive({ state, entity, editing });
  const sheet = useMemo(() => ({ columns: columns.map(({ name }) => plan.column(name)), zone }), [columns, plan, zone]);
  const range = useRange({ entityRef, sheet, rows, range: control.range, editing, ask: setQuestion });
  const deleting = useDelete({
    entityRef,
    schema,
    entity,
    rows,
    editing,
    mayGiveIds: useMayAdminister(),
    onDeleted() {
      setSelected(new Set());
      state.reload();
    },
  });
  useScreenShortcuts(mayWrite ? KEYS : READING_KEYS);
  useRememberList(screenPath(entityRef, `/data/${entityRef.entity}`));
  useFocusBack(
    state.opened !== undefined ||
      menu !== undefined ||
      question !== undefined ||
      editing.conflict !== undefined ||
      deleting.conflict !== undefined,
    control,
  );

  const drawing = useCells({ state, zone, editing, selected, setSelected });
  const onChip = (chip: Chip): void => {
    const { chips } = query;
    setQuery({ chips: filter?.chip === undefined ? [...chips, chip] : chips.with(filter.chip, chip) });
    setFilter(undefined);
  };
  function onCommand(command: GridCommand, { row: index, column }: CellPosition): void {
    const row = rows?.get(index);
    const isSelector = columns[column]?.isSelector === true;
    if (command === 'filter') setFilter({ chip: undefined });
    else if (command === 'create' && mayWrite)
      void navigate({ to: recordScreenPath(entityRef, entityRef.entity, 'new') });
    else if (command === 'undo' && mayWrite) void writer.undo();
    else if (command === 'redo' && mayWrite) void writer.redo();
    else if (command === 'clear' && mayWrite) range.clear();
    else if (command === 'fillDown' && mayWrite) range.fillDown();
    else if (command === 'saveAll' && editing.isQueueing) void editing.saveQueue();
    else if (command === 'activateHeader') {
      if (rows !== undefined) setSelected(toggleLoaded(rows, selected));
    } else if (command === 'selectNone') {
      const name = columns[column]?.name ?? '';
      const draft = row === undefined ? undefined : drafts.get(row.id)?.get(name);
      if (row !== undefined && (draft?.kind === 'refused' || draft?.kind === 'queued')) {
        drafts.clear(row.id, [name]);
        editing.setRefused(undefined);
      } else setSelected(new Set());
    } else if (row === undefined) return;
    else if (command === 'toggleRow' || (command === 'open' && isSelector)) {
      // Only those who may write do anything with selected records.
      if (mayWrite) setSelected(toggle(selected, row.id));
    } else if (command === 'open') state.setOpened(row.id);
  }
  const isEmpty = rows?.hasLoaded === true && count.rows === 0;
  return (
    <div className="records">
      <UnsavedChangesGuard isDirty={drafts.isUnsaved} />
      <ScreenFrame
        title={entity.name}
        actions={
          <Toolbar
            state={state}
            schema={schema}
            entity={entity}
            zone={zone}
            filter={{
              chip: filter?.chip === undefined ? undefined : query.chips[filter.chip],
              isOpen: filter !== undefined,
              onOpen: (isOpen) => setFilter(isOpen ? { chip: undefined } : undefined),
              onChip,
            }}
          />
        }
      >
        <ViewsBar entityRef={entityRef} layout={state.layout} columnNames={plan.names} />
        <FilterBar
          chips={query.chips}
          refused={list.refused}
          invalid={list.invalid}
          zone={zone}
          workspace={entityRef}
          getColumn={(path) => findColumn(schema, entity, path)}
          sort={query.sort}
          search={query.search}
          onChange={setQuery}
          onEdit={(chip) => setFilter({ chip })}
          onRetry={list.retry}
        />
        <FilteredOut
          count={rows?.filteredOutCount ?? 0}
          onHide={() => {
            state.reload();
            control.focusGrid();
          }}
          onKeep={() => {
            rows?.keepFilteredOut();
            control.focusGrid();
          }}
        />
        <LiveNotice
          live={live}
          onShow={() => {
            // Without a sort the newest records are at the end.
            if (query.sort.length === 0) list.reload(Math.max(0, (live.rows.total ?? count.rows) - 1));
            else state.reload();
            control.focusGrid();
          }}
        />
        {isLayout ? (
          rows !== undefined && (
            <LayoutView
              entityRef={entityRef}
              schema={schema}
              entity={entity}
              query={list.applied}
              zone={zone}
              columns={names.flatMap((name) => plan.column(name) ?? [])}
              presentation={presentation}
              onPresentation={setPresentation}
              mayWrite={mayWrite}
              revision={list.revision}
            />
          )
        ) : isEmpty ? (
          <EmptyList
            isFiltered={isFiltered(query)}
            mayWrite={mayWrite}
            entityRef={entityRef}
            onClear={() => setQuery({ chips: [], search: '' })}
          />
        ) : rows === undefined ? (
          // Keeps the footer in place while the first rows load.
          <div className="grid" aria-busy="true" />
        ) : (
          <div className="records-grid">
            <Suspense>
              <AddField entityRef={entityRef} />
            </Suspense>
            <Grid<Row>
              label={`Records of ${entity.name}`}
              columns={columns}
              pinned={countPinned(state.layout, state.names) + (mayWrite ? 1 : 0)}
              rowCount={count.rows}
              isCountExact={count.isExact}
              viewAt={(index) => {
                const row = rows.get(index);
                const isSelected = row !== undefined && selected.has(row.id);
                return {
                  row,
                  revision: drawing,
                  isSelected,
                  note: row === undefined ? undefined : getNote(row, live.rows),
                };
              }}
              control={control}
              drawing={drawing}
              isReadOnly={!mayWrite}
              onCommand={onCommand}
              onHead={(column, isAdded) =>
                setQuery({ sort: nextSort(query.sort, plan.sortPath(column.name), isAdded) })
              }
              onResize={(column, width) => state.setLayout(setWidth(state.layout, column.name, width))}
              onRows={state.onRows}
              onCopy={range.copy}
              {...(mayWrite ? { onPaste: range.paste } : {})}
              onMenu={(spot, place) => setMenu({ spot, place })}
              list={rows}
              startRow={list.startRow}
            />
          </div>
        )}
        <SummaryLine
          entityRef={entityRef}
          schema={schema}
          entity={entity}
          query={list.applied}
          zone={zone}
          summary={presentation.summary}
          onChange={(summary) => setPresentation({ summary })}
          revision={`${list.revision}/${editing.history.done.length}`}
        />
        {isLayout || (
          <Footer
            state={state}
            zone={zone}
            editing={editing}
            live={live}
            selected={selected}
            onDelete={() => setQuestion(deleting.question([...selected]))}
            onDeselect={() => setSelected(new Set())}
            onWritten={() => {
              setSelected(new Set());
              state.reload();
            }}
          />
        )}
      </ScreenFrame>
      {question !== undefined && (
        <QuestionDialog
          question={question}
          entityRef={entityRef}
          schema={schema}
          onClose={() => setQuestion(undefined)}
        />
      )}
      {state.opened !== undefined && (
        <RecordDrawer state={state} entity={entity} id={state.opened} onOpen={state.setOpened} />
      )}
      {menu !== undefined && (
        <GridMenu
          key={`${menu.spot.row}:${menu.spot.column}`}
          {...menu}
          state={state}
          entity={entity}
          onCommand={onCommand}
          onDelete={(id) => setQuestion(deleting.question([id]))}
          onClose={() => setMenu(undefined)}
        />
      )}
      <Conflicts state={state} zone={zone} editing={editing} deleting={deleting} />
    </div>
  );
}

const NOTES: Readonly<Record<RowMark | 'filteredOut', RowNote>> = {
  filteredOut: { kind: 'filteredOut', text: 'No longer matches', icon: <Icon name="warning" size={12} /> },
  changed: { kind: 'changed', text: 'Changed' },
  meanwhile: { kind: 'meanwhile', text: 'Changed meanwhile' },
  removed: { kind: 'removed', text: 'Removed' },
  new: { kind: 'new', text: 'New' },
};

function getNote({ id, isFilteredOut }: Row, live: LiveRows): RowNote | undefined {
  const mark = live.getMark(id);
  if (isFilteredOut === true && mark !== 'removed') return NOTES.filteredOut;
  return mark === undefined ? undefined : NOTES[mark];
}

function toggle(selected: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(selected);
  if (!next.delete(id)) next.add(id);
  return next;
}
