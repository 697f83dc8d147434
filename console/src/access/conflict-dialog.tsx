// Somebody else has saved meanwhile: both versions, and the choice between them. Nothing is overwritten before it is made.
import { Button, Code, Group, Modal, Text } from '@mantine/core';
import classes from './access.module.css';

export interface ChangedMeanwhileProps {
  /** Texts of both versions. */
  readonly mine: string;
  readonly theirs: string;
  readonly onClose: () => void;
  readonly onKeepMine: () => void;
  readonly onTakeTheirs: () => void;
}

export function ChangedMeanwhile({ mine, theirs, onClose, onKeepMine, onTakeTheirs }: ChangedMeanwhileProps) {
  return (
    <Modal opened onClose={onClose} title="Conflicting changes" size="xl" closeButtonProps={{ 'aria-label': 'Close' }}>
      <Text size="sm" mb="sm">
        Someone else has saved this since you opened it. Your draft is not saved yet.
      </Text>
      <div className={classes.sides}>
        <Side title="Your draft" text={mine} />
        <Side title="Current version" text={theirs} />
      </div>
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={onTakeTheirs}>
          Take theirs
        </Button>
        <Button onClick={onKeepMine}>Keep mine</Button>
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
