// Somebody else has changed the record that is being saved or deleted: what both did, side by side.
import { Button, Group, Modal, Table, Text } from '@mantine/core';
import type { Json } from '../api/json.ts';
import type { WorkspaceRef } from '../api/workspace.ts';
import type { TimeZone } from '../format/datetime.ts';
import { WideTable } from '../shell/wide-table.tsx';
import { CellValue } from './cell-value.tsx';
import type { RecordColumn } from './fields.ts';
import type { Values } from './history.ts';
import { compareThreeWay } from './three-way.ts';
import type { RecordValue } from './value.ts';

export interface ComparisonProps {
  readonly place: WorkspaceRef;
  readonly columns: readonly RecordColumn[];
  readonly zone: TimeZone;
  /** As it was read. */
  readonly base: RecordValue;
  /** What is to be saved; nothing when the record is to be deleted. */
  readonly mine: Values;
  /** Undefined: it was deleted. */
  readonly theirs: RecordValue | undefined;
  readonly isDelete?: boolean;
  /** Saves the own fields alone, or deletes, upon the version of now. */
  readonly onKeepMine: () => void;
  readonly onTakeTheirs: () => void;
  /** Neither: what was typed stays where it is. */
  readonly onClose: () => void;
}

export function Comparison(props: ComparisonProps) {
  const { base, mine, theirs, columns, isDelete = false, onKeepMine, onTakeTheirs, onClose } = props;
  const byName = new Map(columns.map((column) => [column.name, column]));
  const rows = theirs === undefined ? [] : compareThreeWay({ base, mine, theirs }, [...byName.keys()]);
  const shown = (name: string, value: Json | undefined) => {
    const column = byName.get(name);
    return value === undefined || column === undefined ? null : (
      <CellValue place={props.place} column={column} value={value} zone={props.zone} />
    );
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title="Record changed meanwhile"
      size="lg"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {theirs === undefined ? (
        <Text size="sm">Someone else has deleted the record. Your changes cannot be saved.</Text>
      ) : (
        <WideTable label="What was changed" minWidth={420}>
          <Table aria-label="What was changed" layout="fixed">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Field</Table.Th>
                <Table.Th>Before</Table.Th>
                {!isDelete && <Table.Th>Yours</Table.Th>}
                <Table.Th>Theirs</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {rows.map(({ name, before, mine: own, theirs: other, isBoth }) => (
                <Table.Tr key={name}>
                  <Table.Th scope="row">
                    <bdi>{name}</bdi>
                    {isBoth && (
                      <Text size="xs" c="red">
                        changed by both
                      </Text>
                    )}
                  </Table.Th>
                  <Table.Td className="comparison-value">{shown(name, before)}</Table.Td>
                  {!isDelete && <Table.Td className="comparison-value">{shown(name, own)}</Table.Td>}
                  <Table.Td className="comparison-value">{shown(name, other)}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </WideTable>
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
