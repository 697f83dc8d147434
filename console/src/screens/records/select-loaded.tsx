// Checkbox in the header that selects or clears the loaded records.
import { useSyncExternalStore } from 'react';
import type { Rows } from '../../records/rows.ts';
import { MAX_BULK } from '../../records/write-requests.ts';

export interface SelectLoadedProps {
  readonly rows: Rows;
  readonly selected: ReadonlySet<string>;
  readonly setSelected: (selected: ReadonlySet<string>) => void;
}

/** Selects the loaded records up to the limit of a bulk request, or none when all are selected. */
export function toggleLoaded(rows: Rows, selected: ReadonlySet<string>): ReadonlySet<string> {
  const loaded = rows.listLoadedIds(MAX_BULK);
  return loaded.every((id) => selected.has(id)) ? new Set() : new Set(loaded);
}

export function SelectLoaded({ rows, selected, setSelected }: SelectLoadedProps) {
  useSyncExternalStore(rows.subscribe, rows.revision);
  const loaded = rows.listLoadedIds(MAX_BULK);
  const isAll = loaded.length > 0 && loaded.every((id) => selected.has(id));
  const words = loaded.length === rows.count.rows ? 'Select all records' : `Select the ${loaded.length} loaded records`;
  return (
    <input
      type="checkbox"
      className="select-box"
      tabIndex={-1}
      aria-label={words}
      title={words}
      checked={isAll}
      ref={(box) => {
        if (box !== null) box.indeterminate = !isAll && selected.size > 0;
      }}
      onChange={() => setSelected(toggleLoaded(rows, selected))}
    />
  );
}
