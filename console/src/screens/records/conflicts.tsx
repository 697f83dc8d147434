// Dialogs for edit conflicts, one record after the other.
import type { TimeZone } from '../../format/datetime.ts';
import { Comparison } from '../../records/comparison.tsx';
import type { Row } from '../../records/rows.ts';
import type { useDelete } from './use-delete.ts';
import type { Editing } from './use-editing.ts';
import type { RecordsState } from './use-records.ts';

export interface ConflictsProps {
  readonly state: RecordsState;
  readonly zone: TimeZone;
  readonly editing: Editing;
  readonly deleting: ReturnType<typeof useDelete>;
}

export function Conflicts({ state, zone, editing, deleting }: ConflictsProps) {
  const isDelete = editing.conflict === undefined;
  const conflict = editing.conflict ?? deleting.conflict;
  if (conflict === undefined) return null;
  const resolve = (how: 'mine' | 'theirs' | 'later'): void => {
    if (isDelete) void deleting.resolve(how === 'mine');
    else editing.resolve(how);
  };
  return (
    <Comparison
      workspace={state.entityRef}
      columns={state.plan.own}
      zone={zone}
      base={omitTruncated(conflict.row)}
      mine={conflict.mine}
      theirs={conflict.theirs?.record}
      isDelete={isDelete}
      onKeepMine={() => resolve('mine')}
      onTakeTheirs={() => {
        resolve('theirs');
        if (isDelete) state.reload();
      }}
      onClose={() => resolve('later')}
    />
  );
}

/** Drops truncated values, which cannot be compared. */
const omitTruncated = ({ record, truncatedLengths }: Row): Row['record'] =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !truncatedLengths.has(name)));
