// A question before something stops working: what stops, in words.
import { Button, Group, List, Modal } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ErrorAlert } from '../shell/error-alert.tsx';

export interface ConfirmProps {
  readonly title: ReactNode;
  readonly words: readonly string[];
  /** Of the button that does it: "Revoke". */
  readonly action: string;
  readonly onClose: () => void;
  /** Closes by itself; what it throws is shown. */
  readonly onConfirmed: () => Promise<void>;
}

export function Confirm({ title, words, action, onClose, onConfirmed }: ConfirmProps) {
  const doing = useMutation({ mutationFn: onConfirmed, onSuccess: onClose });
  return (
    <Modal opened onClose={onClose} title={title} closeButtonProps={{ 'aria-label': 'Close' }}>
      <List size="sm" spacing={4} mb="md">
        {words.map((word) => (
          <List.Item key={word}>{word}</List.Item>
        ))}
      </List>
      <ErrorAlert error={doing.error} />
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose} data-autofocus>
          Cancel
        </Button>
        <Button color="red" loading={doing.isPending} onClick={() => doing.mutate()}>
          {action}
        </Button>
      </Group>
    </Modal>
  );
}
