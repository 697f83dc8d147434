// Tab with the draft as a document. Default export for lazy loading.
import { Button, Group, List, SegmentedControl, Text, UnstyledButton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useRef } from 'react';
import { documentFormatQuery } from '../../api/schema-document.ts';
import { DocumentEditor, type EditorHandle, type Mark } from '../../schema/editor.tsx';
import classes from '../../schema/schema.module.css';
import type { Format } from '../../schema/text.ts';
import type { DraftState } from '../../schema/use-draft.ts';
import type { DraftValidation } from '../../schema/use-validation.ts';
import { announce } from '../../shell/live-region.tsx';

export interface DocumentTabProps {
  readonly state: DraftState;
  readonly mistakes: DraftValidation;
}

export default function DocumentTab({ state, mistakes }: DocumentTabProps) {
  const { draft, parsed } = state;
  const { data: format } = useQuery(documentFormatQuery);
  const editor = useRef<EditorHandle>(null);
  const marks = useMemo<readonly Mark[]>(
    () => [
      ...parsed.problems,
      ...mistakes.details.map(({ field, message }) => ({
        ...parsed.findRange((field ?? '').split('.')),
        message: field === null ? message : `${field} ${message}`,
      })),
    ],
    [parsed, mistakes.details],
  );
  return (
    <>
      <Group justify="space-between" mb={6} gap="xs">
        <SegmentedControl
          aria-label="Document format"
          value={draft.format}
          onChange={(next) => state.setFormat(next as Format)}
          disabled={!state.isReadable}
          data={[
            { value: 'yaml', label: 'YAML' },
            { value: 'json', label: 'JSON' },
          ]}
        />
        <Group gap="xs">
          <Text size="xs" c="dimmed">
            Ctrl+Space completes, Esc then Tab leaves the editor
          </Text>
          <Button
            size="compact-xs"
            variant="default"
            onClick={() => void navigator.clipboard.writeText(draft.text).then(() => announce('Copied'))}
          >
            Copy
          </Button>
        </Group>
      </Group>
      <div className={classes.editor}>
        <DocumentEditor
          ref={editor}
          format={draft.format}
          text={draft.text}
          marks={marks}
          shape={format}
          onChange={state.setText}
        />
      </div>
      <Mistakes
        text={draft.text}
        marks={marks}
        isChecked={mistakes.isChecked}
        onGo={(from) => editor.current?.go(from)}
      />
    </>
  );
}

interface MistakesProps {
  readonly text: string;
  readonly marks: readonly Mark[];
  readonly isChecked: boolean;
  readonly onGo: (from: number) => void;
}

function Mistakes({ text, marks, isChecked, onGo }: MistakesProps) {
  if (marks.length === 0)
    return (
      <Text size="xs" c="dimmed" mt={6} role="status">
        {isChecked ? 'No errors found.' : ' '}
      </Text>
    );
  return (
    <section role="alert" aria-label="Errors">
      <List size="xs" mt={6} listStyleType="none">
        {marks.slice(0, MAX_LISTED).map(({ from, message }) => (
          <List.Item key={`${from} ${message}`}>
            <UnstyledButton onClick={() => onGo(from)} fz="xs" className={classes.mistake}>
              Line {getLineNumber(text, from)}: <bdi>{message}</bdi>
            </UnstyledButton>
          </List.Item>
        ))}
      </List>
    </section>
  );
}

const MAX_LISTED = 50;

const getLineNumber = (text: string, offset: number): number => text.slice(0, offset).split('\n').length;
