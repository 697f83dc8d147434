// Dialog after an edit conflict on a record: compares both changes side by side.
import { Button, Group, Modal, Text } from '@mantine/core';
import type { Json } from '../api/json.ts';
import type { WorkspaceRef } from '../api/workspace.ts';
import type { TimeZone } from '../format/datetime.ts';
import { DataTable } from '../shell/data-table.tsx';
import { CellValue } from './cell-value.tsx';
import type { RecordColumn } from './fields.ts';
import type { Values } from './history.ts';
import { compareThreeWay, type Difference } from './three-way.ts';
import type { RecordValue } from './value.ts';

export interface ComparisonProps {
  readonly workspace: WorkspaceRef;
  readonly columns: readonly RecordColumn[];
  readonly zone: TimeZone;
  /** Record before both changes. */
  readonly base: RecordValue;
  /** Values to save; empty to delete the record. */
  readonly mine: Values;
  /** Current record, or undefined if it was deleted. */
  readonly theirs: RecordValue | undefined;
  readonly isDelete?: boolean;
  /** Saves the user's own fields alone, or deletes, with the current version. */
  readonly onKeepMine: () => void;
  readonly onTakeTheirs: () => void;
  /** Closes without a choice; typed text stays where it is. */
  readonly onClose: () => void;
}

export function Comparison(props: ComparisonProps) {
  const { base, mine, theirs, columns, isDelete = false, onKeepMine, onTakeTheirs, onClose } = props;
  const byName = new Map(columns.map((column) => [column.name, column]));
  const rows = theirs === undefined ? [] : compareThreeWay({ base, mine, theirs }, [...byName.keys()]);
  const format = (name: string, value: Json | undefined) => {
    const column = byName.get(name);
    return value === undefined || column === undefined ? null : (
      <CellValue workspace={props.workspace} column={column} value={value} zone={props.zone} />
    );
  };
  return (
    <Modal opened onClose={onClose} title="Record changed meanwhile" size="lg">
      {theirs === undefined ? (
        <Text size="sm">Someone else has deleted the record. Your changes cannot be saved.</Text>
      ) : (
        <DataTable
          label="Changes by others"
          rows={rows}
          rowKey={({ name }) => name}
          minWidth={420}
          columns={[
            {
              title: 'Field',
              isRowHeader: true,
              cell: ({ name, isBoth }) => (
                <>
                  <bdi>{name}</bdi>
                  {isBoth && (
                    <Text size="xs" c="red">
                      changed by both
                    </Text>
                  )}
                </>
              ),
            },
            { title: 'Before', cell: ({ name, before }) => format(name, before), className: 'comparison-value' },
            !isDelete && {
              title: 'Your draft',
              cell: (row: Difference) => format(row.name, row.mine),
              className: 'comparison-value',
            },
            { title: 'Current version', cell: (row) => format(row.name, row.theirs), className: 'comparison-value' },
          ]}
        />
      )}
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={onTakeTheirs} data-autofocus>
          {theirs === undefined ? 'Discard mine' : 'Take theirs'}
        </Button>
        {theirs !== undefined && (
          <Button color={isDelete ? 'red' : 'accent'} onClick={onKeepMine}>
            {isDelete ? 'Delete anyway' : 'Keep mine'}
          </Button>
        )}
      </Group>
    </Modal>
  );
}
