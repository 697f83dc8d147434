// Confirmation that typed values are lost.
import { Button, Group, Modal, Text } from '@mantine/core';

export interface DiscardDialogProps {
  readonly isOpen: boolean;
  readonly onKeep: () => void;
  readonly onDiscard: () => void;
}

/** Confirmation for a form that closes without a change of the address. */
export function DiscardDialog({ isOpen, onKeep, onDiscard }: DiscardDialogProps) {
  return (
    <Modal opened={isOpen} onClose={onKeep} title="Discard changes?" withCloseButton={false}>
      <Text size="sm" mb="md">
        Your changes are not saved.
      </Text>
      <Group justify="flex-end">
        <Button variant="default" onClick={onKeep} data-autofocus>
          Keep editing
        </Button>
        <Button color="red" onClick={onDiscard}>
          Discard
        </Button>
      </Group>
    </Modal>
  );
}
