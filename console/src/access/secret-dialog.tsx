// Dialog with a secret that is displayed once: it closes only when the user confirms that it is stored.
import { Button, CopyButton, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';

export interface SecretDialogProps {
  readonly title: string;
  /** Label of the secret, such as "Key". */
  readonly label: string;
  readonly secret: string;
  readonly explanation?: string;
  readonly onStored: () => void;
  readonly children?: ReactNode;
}

const HASHED = 'It is shown only once, as the server stores only its hash. Copy it to where it is needed.';

export function SecretDialog(props: SecretDialogProps) {
  const { title, label, secret, explanation = HASHED, onStored, children } = props;
  return (
    <Modal
      opened
      onClose={() => undefined}
      title={title}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      size="lg"
    >
      <Stack gap="sm">
        <Text size="sm">{explanation}</Text>
        <Group gap="xs" align="end" wrap="nowrap">
          <TextInput
            label={label}
            value={secret}
            readOnly
            flex={1}
            onFocus={(event) => event.currentTarget.select()}
            styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          />
          <CopyButton value={secret}>
            {({ copied, copy }) => (
              <Button variant="default" onClick={copy} data-autofocus>
                {copied ? 'Copied' : 'Copy'}
              </Button>
            )}
          </CopyButton>
        </Group>
        {children}
        <Group justify="flex-end">
          <Button onClick={onStored}>I have stored it</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
