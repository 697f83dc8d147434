// Line below the grid: number of records, selection, pending edits, and the last error.
import { Button, Switch } from '@mantine/core';
import { useState } from 'react';
import { isShownAtFields } from '../../api/api-error.ts';
import { pluralize } from '../../format/amount.ts';
import type { TimeZone } from '../../format/datetime.ts';
import { useFocusBack } from '../../grid/use-grid.ts';
import type { ListQuery } from '../../records/list-query.ts';
import type { MatchingWrite } from '../../records/matching-requests.ts';
import { fetchRecords } from '../../records/requests.ts';
import { NOT_TRUNCATED } from '../../records/rows.ts';
import { getId } from '../../records/value.ts';
import { MAX_BULK } from '../../records/write-requests.ts';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { Icon } from '../../shell/icon.tsx';
import { openShortcuts } from '../../shell/shortcuts.ts';
import { BulkEditDialog, ReviewDialog } from './dialogs.tsx';
import { LiveSwitch } from './live-notice.tsx';
import { MatchingDialog } from './matching-dialog.tsx';
import type { Editing } from './use-editing.ts';
import type { Live } from './use-live.ts';
import type { RecordsState } from './use-records.ts';

export interface FooterProps {
  readonly state: RecordsState;
  readonly zone: TimeZone;
  readonly editing: Editing;
  readonly live: Live;
  readonly selected: ReadonlySet<string>;
  readonly onDelete: () => void;
  readonly onDeselect: () => void;
  /** Called when all records that match were changed or deleted. */
  readonly onWritten: () => void;
}

export function Footer({ state, zone, editing, live, selected, onDelete, onDeselect, onWritten }: FooterProps) {
  const { rows, count, mayWrite, entityRef } = state;
  const [isBulk, setBulk] = useState(false);
  const [isReview, setReview] = useState(false);
  const all = useSelectAll(state, selected);
  const [matching, setMatching] = useState<MatchingWrite>();
  useFocusBack(isBulk || isReview || matching !== undefined, state.control);
  const { drafts, history } = editing;
  const queued = drafts.all('queued');
  const waiting = [...queued, ...(editing.isQueueing ? drafts.all('refused') : [])];
  const last = history.done.at(-1);
  async function saveSelected(name: string, value: Parameters<Parameters<typeof BulkEditDialog>[0]['onSave']>[1]) {
    setBulk(false);
    try {
      const ids = [...selected];
      const missing = ids.filter((id) => rows?.byId(id) === undefined);
      const fetched = (await fetchRecords(entityRef, missing, [name])).map(({ record, version }) => ({
        id: getId(record),
        record,
        version,
        truncatedLengths: NOT_TRUNCATED,
      }));
      const loadedRows = ids.flatMap((id) => rows?.byId(id) ?? []);
      await editing.save([...loadedRows, ...fetched].map((row) => ({ row, values: new Map([[name, value]]) })));
    } catch (error) {
      editing.setRefused(error);
    }
  }
  return (
    <>
      {!isShownInCell(state, editing) && <ErrorAlert error={editing.refused} />}
      <div className="records-line records-foot">
        <span>
          {rows === undefined
            ? ''
            : live.rows.total !== undefined
              ? pluralize(live.rows.total, 'record')
              : count.isExact
                ? pluralize(count.rows, 'record')
                : `${pluralize(count.rows, 'record')} or more`}
        </span>
        <LiveSwitch live={live} />
        {selected.size > 0 && (
          <>
            <span>{all.isSelected ? all.words : pluralize(selected.size, 'record')} selected</span>
            {all.isOffered && (
              <Button variant="subtle" size="compact-xs" onClick={all.select}>
                Select {all.words}
              </Button>
            )}
            <Button variant="default" size="compact-xs" onClick={() => setBulk(true)}>
              {all.isSelected ? 'Edit all that match' : 'Edit selected'}
            </Button>
            <Button
              color="red"
              variant="light"
              size="compact-xs"
              onClick={all.isSelected ? () => setMatching({ kind: 'delete' }) : onDelete}
              leftSection={<Icon name="trash" size={13} />}
            >
              {all.isSelected ? 'Delete all that match' : 'Delete selected'}
            </Button>
            <Button variant="subtle" size="compact-xs" onClick={onDeselect}>
              Deselect
            </Button>
          </>
        )}
        <Button variant="subtle" size="compact-xs" onClick={openShortcuts}>
          Keys: Ctrl+/
        </Button>
        {mayWrite && (
          <span className="records-line records-end">
            {waiting.length > 0 && (
              <Button size="compact-xs" onClick={() => setReview(true)}>
                Review {pluralize(waiting.length, 'change')}
              </Button>
            )}
            <Switch
              label="Queue edits"
              checked={editing.isQueueing}
              disabled={queued.length > 0}
              onChange={(event) => editing.setQueueing(event.currentTarget.checked)}
            />
            <Button
              variant="subtle"
              size="compact-xs"
              disabled={last === undefined}
              title={last === undefined ? 'Nothing to undo' : `Undo ${last.description}`}
              aria-description={last?.description}
              leftSection={<Icon name="undo" size={13} />}
              onClick={() => void editing.writer.undo()}
            >
              Undo
            </Button>
          </span>
        )}
      </div>
      {isBulk && (
        <BulkEditDialog
          entityRef={entityRef}
          columns={state.plan.own}
          zone={zone}
          count={selected.size}
          isAll={all.isSelected}
          onClose={() => setBulk(false)}
          onSave={(name, value) => {
            if (!all.isSelected) return void saveSelected(name, value);
            setBulk(false);
            setMatching({ kind: 'update', set: { [name]: value } });
          }}
        />
      )}
      {matching !== undefined && (
        <MatchingDialog
          entityRef={entityRef}
          matching={state.matching}
          write={matching}
          onClose={() => setMatching(undefined)}
          onWritten={onWritten}
        />
      )}
      {isReview && (
        <ReviewDialog
          changes={waiting.map(({ id, name, draft }) => ({
            id,
            name,
            value: draft.value,
            ...(draft.kind === 'refused' ? { message: draft.message } : {}),
          }))}
          onClose={() => setReview(false)}
          onDiscard={() => {
            editing.discardQueue();
            setReview(false);
          }}
          onSave={() => {
            setReview(false);
            void editing.saveQueue();
          }}
        />
      )}
    </>
  );
}

/**
 * Selection of all records that match, beyond the loaded ones: offered when those are selected, and ended by another selection
 * or another list.
 */
function useSelectAll({ rows, count, list }: RecordsState, selected: ReadonlySet<string>) {
  const [chosen, setChosen] = useState<{ readonly selected: ReadonlySet<string>; readonly query: ListQuery }>();
  const isSelected = chosen?.selected === selected && chosen.query === list.applied;
  const loaded = selected.size === 0 ? [] : (rows?.listLoadedIds(MAX_BULK) ?? []);
  const isMore = !count.isExact || count.rows > loaded.length;
  return {
    isSelected,
    isOffered: !isSelected && isMore && loaded.length > 0 && loaded.every((id) => selected.has(id)),
    words: count.isExact ? `all ${pluralize(count.rows, 'record')} that match` : 'all that match',
    select: () => setChosen({ selected, query: list.applied }),
  };
}

/** Returns whether the editor of a cell shows the whole error, as it does while its invalid value is edited. */
function isShownInCell({ control, rows, columns }: RecordsState, { drafts, refused }: Editing): boolean {
  const at = control.state.editing?.at;
  const row = at === undefined ? undefined : rows?.get(at.row);
  if (at === undefined || row === undefined) return false;
  const name = columns[at.column]?.name ?? '';
  return drafts.get(row.id)?.get(name)?.kind === 'refused' && isShownAtFields(refused, [name]);
}
