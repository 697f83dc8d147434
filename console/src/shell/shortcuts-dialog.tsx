// List of the keyboard shortcuts of the screen.
import { Kbd, Modal, Table } from '@mantine/core';
import { useShortcuts } from './shortcuts.ts';

export default function ShortcutsDialog({ onClose }: { readonly onClose: () => void }) {
  const lines = useShortcuts();
  return (
    <Modal opened onClose={onClose} title="Keys">
      <Table>
        <Table.Tbody>
          {lines.map(({ keys, description }) => (
            <Table.Tr key={keys + description}>
              <Table.Th scope="row">
                {keys.split('+').map((key, at) => (
                  <span key={key}>
                    {at > 0 && '+'}
                    <Kbd>{key}</Kbd>
                  </span>
                ))}
              </Table.Th>
              <Table.Td>{description}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Modal>
  );
}
