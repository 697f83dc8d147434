// Confirmation that typed values are lost.
import { Button, Group, Modal, Text } from '@mantine/core';

export interface DiscardDialogProps {
  readonly onKeep: () => void;
  readonly onDiscard: () => void;
}

export default function DiscardDialog({ onKeep, onDiscard }: DiscardDialogProps) {
  return (
    <Modal opened onClose={onKeep} title="Discard changes?" withCloseButton={false}>
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
