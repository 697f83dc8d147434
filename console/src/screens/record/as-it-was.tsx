// Dialog that compares a record as it was after an event with that of today.
import { Button, Group, Modal, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { Json } from '../../api/json.ts';
import { CellValue } from '../../records/cell-value.tsx';
import type { RecordColumn } from '../../records/fields.ts';
import { asItWasQuery, type RecordEvent } from '../../records/record-history.ts';
import type { EntityRef, Versioned } from '../../records/requests.ts';
import { getMember, isSameValue } from '../../records/value.ts';
import { DataTable } from '../../shell/data-table.tsx';
import { formatDateTime } from '../../shell/datetime.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { useTimeZone } from '../../shell/time-zone.tsx';

export interface AsItWasProps {
  readonly entityRef: EntityRef;
  readonly id: string;
  readonly columns: readonly RecordColumn[];
  readonly event: RecordEvent;
  /** Record of today, or undefined if it is deleted. */
  readonly current: Versioned | undefined;
  readonly onClose: () => void;
  /** Opens the dialog that restores it; undefined where that is not allowed. */
  readonly onRestore: (() => void) | undefined;
}

export function AsItWasDialog({ entityRef, id, columns, event, current, onClose, onRestore }: AsItWasProps) {
  const zone = useTimeZone();
  const read = useQuery(asItWasQuery(entityRef, id, event.id));
  const asItWas = read.data?.record;
  const format = (column: RecordColumn, value: Json | undefined) =>
    value === undefined ? null : <CellValue workspace={entityRef} column={column} value={value} zone={zone} />;
  const rows = columns.filter(({ name }) => asItWas !== undefined && getMember(asItWas, name) !== undefined);
  const isDifferent = (name: string): boolean =>
    current !== undefined &&
    asItWas !== undefined &&
    !isSameValue(getMember(asItWas, name), getMember(current.record, name));
  const when = event.type === 'removed' ? 'before' : 'after';
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={`${entityRef.entity} ${id} ${when} ${formatDateTime(event.at, zone)}`}
    >
      <ErrorAlert error={read.error} onRetry={() => void read.refetch()} />
      {asItWas !== undefined && (
        <DataTable
          label="Record as it was"
          rows={rows}
          rowKey={({ name }) => name}
          minWidth={360}
          columns={[
            { title: 'Field', isRowHeader: true, cell: ({ name }) => <bdi>{name}</bdi> },
            {
              title: 'As it was',
              cell: (column) => format(column, getMember(asItWas, column.name)),
              className: 'history-value',
            },
            current !== undefined && {
              title: 'Now, where different',
              cell: (column: RecordColumn) =>
                isDifferent(column.name) ? format(column, getMember(current.record, column.name)) : null,
              className: 'history-value',
            },
          ]}
        />
      )}
      {current === undefined && <Text size="sm">The record is deleted.</Text>}
      {onRestore !== undefined && (
        <Group justify="flex-end" mt="md">
          <Button onClick={onRestore}>Restore this version</Button>
        </Group>
      )}
    </Modal>
  );
}
