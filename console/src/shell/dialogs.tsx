// Dialogs that do something: a form, or a question before something is lost. What fails is shown in the dialog, which stays open.
import { Button, Group, List, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { ErrorAlert } from './error-alert.tsx';

export interface FormDialogProps {
  readonly title: ReactNode;
  /** Label of the button that does it. */
  readonly action: string;
  readonly isDestructive?: boolean;
  readonly isDisabled?: boolean;
  /** A dialog that stays mounted gives the focus back to the button that opened it. */
  readonly isOpen?: boolean;
  readonly size?: string;
  /** The safe button takes the focus first. */
  readonly focusesCancel?: boolean;
  readonly focusesAction?: boolean;
  readonly cancelLabel?: string;
  /** Stands beside the buttons. */
  readonly aside?: ReactNode;
  readonly onClose: () => void;
  /** Closes the dialog itself when it is done. */
  readonly onSubmit: (data: FormData) => Promise<void> | void;
  readonly children: ReactNode | ((error: unknown) => ReactNode);
}

export function FormDialog({ title, isOpen = true, size, onClose, ...rest }: FormDialogProps) {
  return (
    <Modal opened={isOpen} onClose={onClose} title={title} {...(size && { size })}>
      {isOpen && <DialogForm onClose={onClose} {...rest} />}
    </Modal>
  );
}

function DialogForm(props: Omit<FormDialogProps, 'title' | 'isOpen' | 'size'>) {
  const {
    action,
    isDestructive = false,
    isDisabled = false,
    focusesCancel,
    focusesAction,
    cancelLabel = 'Cancel',
  } = props;
  const { aside, onClose, onSubmit, children } = props;
  const submission = useMutation({ mutationFn: async (data: FormData) => onSubmit(data) });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        // React passes it on to a form around the dialog, too.
        event.stopPropagation();
        submission.mutate(new FormData(event.currentTarget));
      }}
    >
      <Stack gap="sm">
        {typeof children === 'function' ? children(submission.error) : children}
        <ErrorAlert error={submission.error} />
        <Group justify="flex-end">
          {aside}
          <Button variant="default" onClick={onClose} data-autofocus={focusesCancel || undefined}>
            {cancelLabel}
          </Button>
          <Button
            type="submit"
            data-autofocus={focusesAction || undefined}
            color={isDestructive ? 'red' : 'accent'}
            loading={submission.isPending}
            disabled={isDisabled}
          >
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

export type ConfirmDialogProps = Omit<FormDialogProps, 'isDestructive' | 'focusesCancel' | 'children'> & {
  readonly children?: FormDialogProps['children'];
  /** Consequences, one sentence each. */
  readonly consequences?: readonly string[];
};

/** Asks before something stops working or is lost. */
export const ConfirmDialog = ({ consequences = [], children, ...rest }: ConfirmDialogProps) => (
  <FormDialog isDestructive focusesCancel {...rest}>
    {(error) => (
      <>
        {typeof children === 'function' ? children(error) : children}
        {consequences.length > 0 && (
          <List size="sm" spacing={4}>
            {consequences.map((consequence) => (
              <List.Item key={consequence}>{consequence}</List.Item>
            ))}
          </List>
        )}
      </>
    )}
  </FormDialog>
);

/** Asks for a name to be typed before something is deleted for good. */
export function ConfirmByNameDialog({ name, children, ...rest }: FormDialogProps & { readonly name: string }) {
  const [typed, setTyped] = useState('');
  return (
    <FormDialog isDestructive isDisabled={typed !== name} {...rest}>
      {(error) => (
        <>
          <Text size="sm" component="div">
            {typeof children === 'function' ? children(error) : children}
          </Text>
          <TextInput
            label={`Type ${name}`}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            autoComplete="off"
            data-autofocus
          />
        </>
      )}
    </FormDialog>
  );
}
