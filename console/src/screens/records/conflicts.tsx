// Records that somebody else has changed, one comparison after the other.

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
  const common = { place: state.at, columns: state.plan.own, zone };
  if (editing.conflict !== undefined) {
    const { row, mine, theirs } = editing.conflict;
    return (
      <Comparison
        {...common}
        base={withoutCuts(row)}
        mine={mine}
        theirs={theirs?.record}
        onKeepMine={() => editing.resolve('mine')}
        onTakeTheirs={() => editing.resolve('theirs')}
        onClose={() => editing.resolve('later')}
      />
    );
  }
  if (deleting.conflict === undefined) return null;
  const { row, mine, theirs } = deleting.conflict;
  return (
    <Comparison
      {...common}
      base={withoutCuts(row)}
      mine={mine}
      theirs={theirs?.record}
      isDelete
      onKeepMine={() => void deleting.resolve(true)}
      onTakeTheirs={() => {
        void deleting.resolve(false);
        state.reload();
      }}
      onClose={() => void deleting.resolve(false)}
    />
  );
}

/** Of values that came cut, the record as it was read knows nothing. */
const withoutCuts = ({ record, truncatedLengths }: Row): Row['record'] =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !truncatedLengths.has(name)));
