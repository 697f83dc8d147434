// "Record changed meanwhile": yours beside theirs, and the choice.
import { Badge, Button, Group, Modal, ScrollArea, Table, Text } from '@mantine/core';
import type { Json } from '../api/json.ts';
import type { Difference } from './comparison.ts';
import type { ColumnType } from './fields.ts';
import type { ZoneName } from './instant.ts';
import { shownText } from './value.ts';

export interface ChangedDialogProps {
  /** Undefined: closed. */
  readonly differences: readonly Difference[] | undefined;
  readonly typeOf: (name: string) => ColumnType;
  readonly zone: ZoneName;
  /** Saves the fields that I touched, and no other. */
  readonly onKeepMine: () => void;
  readonly onTakeTheirs: () => void;
  /** Back to the edit, with nothing done. */
  readonly onClose: () => void;
  /** In place of "Keep mine", as for a deletion. */
  readonly mine?: string;
}

export function ChangedDialog({
  differences,
  typeOf,
  zone,
  onKeepMine,
  onTakeTheirs,
  onClose,
  mine = 'Keep mine',
}: ChangedDialogProps) {
  return (
    <Modal
      opened={differences !== undefined}
      onClose={onClose}
      title="Record changed meanwhile"
      size="xl"
      closeButtonProps={{ 'aria-label': 'Back to the edit' }}
    >
      <Text size="sm" mb="xs">
        Somebody saved this record after you opened it. Nothing of yours is stored yet.
      </Text>
      <ScrollArea.Autosize mah="50vh" viewportProps={{ tabIndex: 0 }}>
        <Table aria-label="Differences" verticalSpacing={4}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Field</Table.Th>
              <Table.Th>Before</Table.Th>
              <Table.Th>Yours</Table.Th>
              <Table.Th>Theirs</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {differences?.map(({ name, before, mine: own, theirs, isConflict }) => (
              <Table.Tr key={name}>
                <Table.Th scope="row">
                  {name} {isConflict && <Badge color="red">Both</Badge>}
                </Table.Th>
                <Cell value={before} type={typeOf(name)} zone={zone} />
                <Cell value={own} type={typeOf(name)} zone={zone} none="not touched" />
                <Cell value={theirs} type={typeOf(name)} zone={zone} />
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </ScrollArea.Autosize>
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={onTakeTheirs}>
          Take theirs
        </Button>
        <Button onClick={onKeepMine} data-autofocus>
          {mine}
        </Button>
      </Group>
    </Modal>
  );
}

interface CellProps {
  readonly value: Json | undefined;
  readonly type: ColumnType;
  readonly zone: ZoneName;
  readonly none?: string;
}

const LONGEST = 300;

function Cell({ value, type, zone, none = '' }: CellProps) {
  const text =
    value === undefined ? none : value === null ? 'NULL' : value === '' ? '""' : shownText(value, type, zone);
  return (
    <Table.Td>
      <bdi dir="auto">{text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text}</bdi>
    </Table.Td>
  );
}
