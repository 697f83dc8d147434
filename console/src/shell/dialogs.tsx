// Dialogs with an action: a form, or a confirmation. An error appears in the dialog, which stays open.
import { Button, Group, List, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { isShownAtFields } from '../api/api-error.ts';
import { ErrorAlert } from './error-alert.tsx';

export interface FormDialogProps {
  readonly title: ReactNode;
  /** Label of the submit button. */
  readonly action: string;
  readonly isDestructive?: boolean;
  readonly isDisabled?: boolean;
  /** Whether a dialog that stays mounted is open; it returns the focus to the button that opened it. */
  readonly isOpen?: boolean;
  readonly size?: string;
  /** Whether the cancel button takes the focus first. */
  readonly focusesCancel?: boolean;
  readonly focusesAction?: boolean;
  readonly cancelLabel?: string;
  /** Content next to the buttons. */
  readonly aside?: ReactNode;
  readonly onClose: () => void;
  /** Runs the action, and closes the dialog after success. */
  readonly onSubmit: (data: FormData) => Promise<void> | void;
  /** Members of the body whose errors the children show: an error about these alone has no alert. */
  readonly fields?: readonly string[];
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
  const { aside, onClose, onSubmit, fields = [], children } = props;
  const submission = useMutation({ mutationFn: async (data: FormData) => onSubmit(data) });
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (submission.error !== null) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [submission.error]);
  return (
    <form
      ref={form}
      onSubmit={(event) => {
        event.preventDefault();
        // React propagates it to a form around the dialog, too.
        event.stopPropagation();
        submission.mutate(new FormData(event.currentTarget));
      }}
    >
      <Stack gap="sm">
        {typeof children === 'function' ? children(submission.error) : children}
        {!isShownAtFields(submission.error, fields) && <ErrorAlert error={submission.error} />}
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

/** Confirms an action that stops or deletes something. */
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

/** Confirms a permanent deletion by its typed name. */
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
