// Dialog after an edit conflict: shows both versions and overwrites nothing before the user chooses one.
import { Button, Code, Group, Modal, Text } from '@mantine/core';
import classes from './access.module.css';

export interface ConflictDialogProps {
  /** Both versions as text. */
  readonly draft: string;
  readonly current: string;
  readonly onClose: () => void;
  readonly onKeepDraft: () => void;
  readonly onTakeCurrent: () => void;
}

export function ConflictDialog({ draft, current, onClose, onKeepDraft, onTakeCurrent }: ConflictDialogProps) {
  return (
    <Modal opened onClose={onClose} title="Conflicting changes" size="xl">
      <Text size="sm" mb="sm">
        Someone else has saved this since you opened it. Your draft is not saved yet.
      </Text>
      <div className={classes.sides}>
        <Side title="Your draft" text={draft} />
        <Side title="Current version" text={current} />
      </div>
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={onTakeCurrent}>
          Take theirs
        </Button>
        <Button onClick={onKeepDraft}>Keep mine</Button>
      </Group>
    </Modal>
  );
}

function Side({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <section aria-label={title}>
      <Text size="sm" fw={600} mb={4}>
        {title}
      </Text>
      <Code block className={classes.code ?? ''}>
        {text}
      </Code>
    </section>
  );
}
