// Line below the grid: number of records, selection, pending edits, and the last error.
import { Button, Switch } from '@mantine/core';
import { useState } from 'react';
import { isShownAtFields } from '../../api/api-error.ts';
import { pluralize } from '../../format/amount.ts';
import type { TimeZone } from '../../format/datetime.ts';
import { useFocusBack } from '../../grid/use-grid.ts';
import { fetchRecords } from '../../records/requests.ts';
import { NOT_TRUNCATED } from '../../records/rows.ts';
import { getId } from '../../records/value.ts';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { Icon } from '../../shell/icon.tsx';
import { openShortcuts } from '../../shell/shortcuts.tsx';
import { BulkEditDialog, ReviewDialog } from './dialogs.tsx';
import { LiveSwitch } from './live-notice.tsx';
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
}

export function Footer({ state, zone, editing, live, selected, onDelete, onDeselect }: FooterProps) {
  const { rows, count, mayWrite, entityRef } = state;
  const [isBulk, setBulk] = useState(false);
  const [isReview, setReview] = useState(false);
  useFocusBack(isBulk || isReview, state.control);
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
            <span>{pluralize(selected.size, 'record')} selected</span>
            <Button variant="default" size="compact-xs" onClick={() => setBulk(true)}>
              Edit selected
            </Button>
            <Button
              color="red"
              variant="light"
              size="compact-xs"
              onClick={onDelete}
              leftSection={<Icon name="trash" size={13} />}
            >
              Delete selected
            </Button>
            <Button variant="subtle" size="compact-xs" onClick={onDeselect}>
              Deselect
            </Button>
          </>
        )}
        <Button variant="subtle" size="compact-xs" onClick={openShortcuts}>
          Keys: ?
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
          onClose={() => setBulk(false)}
          onSave={(name, value) => void saveSelected(name, value)}
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

/** Returns whether the editor of a cell shows the whole error, as it does while its invalid value is edited. */
function isShownInCell({ control, rows, columns }: RecordsState, { drafts, refused }: Editing): boolean {
  const at = control.state.editing?.at;
  const row = at === undefined ? undefined : rows?.get(at.row);
  if (at === undefined || row === undefined) return false;
  const name = columns[at.column]?.name ?? '';
  return drafts.get(row.id)?.get(name)?.kind === 'refused' && isShownAtFields(refused, [name]);
}
