// Choice of how the first entity of a workspace starts. Before it the draft is empty, as the document in force is.
import { Button, Group, Paper, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { screenPath, type WorkspaceRef } from '../../api/workspace.ts';
import { printExample } from '../../schema/draft.ts';
import { entityPath } from '../../schema/edits.ts';
import { setAt } from '../../schema/json-value.ts';
import type { DraftState } from '../../schema/use-draft.ts';
import { useAddress } from '../../shell/use-address.ts';

const FIRST_NAME = 'entity';

export interface FirstEntityProps {
  readonly workspace: WorkspaceRef;
  readonly state: DraftState;
  /** Called with the name of an entity that was added to the draft. */
  readonly onAdded: (name: string) => void;
}

export function FirstEntity({ workspace, state, onAdded }: FirstEntityProps) {
  const { read, write } = useAddress();
  return (
    <Paper withBorder p="md" mb="sm" maw={720}>
      <Text size="sm" mb="xs">
        This workspace has no entities yet. An entity is a table of records with an API of its own. Nothing is created
        before you apply a plan.
      </Text>
      <Group gap="xs">
        <Button
          onClick={() => {
            state.setValue(setAt(state.value, entityPath(FIRST_NAME), { fields: {} }));
            onAdded(FIRST_NAME);
            write({ tab: 'entities', entity: FIRST_NAME }, false);
          }}
        >
          New entity
        </Button>
        <Button
          variant="default"
          onClick={() => {
            state.setText(printExample(state.draft.format));
            write({ tab: 'document' }, false);
          }}
        >
          Start from an example
        </Button>
        <Button variant="default" component={Link} to={screenPath(workspace, '/import')}>
          Import a file
        </Button>
        {read('tab') !== 'document' && (
          <Button variant="subtle" onClick={() => write({ tab: 'document' }, false)}>
            Write a document
          </Button>
        )}
      </Group>
    </Paper>
  );
}
