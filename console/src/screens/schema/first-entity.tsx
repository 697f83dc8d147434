// Choice of how the schema of a workspace starts. Before it the draft is empty, as the document in force is.
import { Button, FileButton, NativeSelect, Paper, SimpleGrid, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { screenPath, type WorkspaceRef } from '../../api/workspace.ts';
import { printExample } from '../../schema/draft.ts';
import { entityPath } from '../../schema/edits.ts';
import { EXAMPLES } from '../../schema/examples.ts';
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
  const [name, setName] = useState(EXAMPLES[0]?.name ?? '');
  const showDocument = (): void => write({ tab: 'document' }, false);
  async function open(file: File | null): Promise<void> {
    if (file === null) return;
    state.setDocument(await file.text(), /\.json$/i.test(file.name) ? 'json' : 'yaml');
    showDocument();
  }
  return (
    <section aria-label="Start">
      <Text size="sm" mb="xs">
        This workspace has no entities yet. An entity is a table of records with an API of its own. Nothing is created
        before you apply a plan.
      </Text>
      <SimpleGrid cols={{ base: 1, xs: 2, lg: 4 }} spacing="sm" mb="md">
        <Way title="Empty" text="One entity without fields, which you add in forms.">
          <Button
            onClick={() => {
              state.setValue(setAt(state.value, entityPath(FIRST_NAME), { fields: {} }));
              onAdded(FIRST_NAME);
              write({ tab: 'entities', entity: FIRST_NAME }, false);
            }}
          >
            New entity
          </Button>
        </Way>
        <Way title="Example" text="A document that works, to be changed.">
          <NativeSelect
            aria-label="Example"
            data={EXAMPLES.map(({ name: value, description }) => ({ value, label: `${value}: ${description}` }))}
            value={name}
            onChange={({ currentTarget: { value } }) => setName(value)}
            mb={6}
          />
          <Button
            variant="default"
            onClick={() => {
              state.setText(printExample(name, state.draft.format));
              showDocument();
            }}
          >
            Start from an example
          </Button>
        </Way>
        <Way
          title="CSV"
          text="A file becomes an entity: its fields are guessed from the first rows, its records imported."
        >
          <Button variant="default" component={Link} to={screenPath(workspace, '/import')}>
            Import a file
          </Button>
        </Way>
        <Way title="Document" text="A schema document in YAML or JSON, such as that of another workspace.">
          <FileButton accept=".yaml,.yml,.json" onChange={(file) => void open(file)}>
            {(props) => (
              <Button variant="default" {...props}>
                Open a document
              </Button>
            )}
          </FileButton>
          {read('tab') !== 'document' && (
            <Button variant="subtle" onClick={showDocument}>
              Write a document
            </Button>
          )}
        </Way>
      </SimpleGrid>
    </section>
  );
}

interface WayProps {
  readonly title: string;
  readonly text: string;
  readonly children: ReactNode;
}

const Way = ({ title, text, children }: WayProps) => (
  <Paper withBorder p="sm">
    <Text component="h2" size="sm" fw={600}>
      {title}
    </Text>
    <Text size="sm" c="dimmed" mb="xs">
      {text}
    </Text>
    {children}
  </Paper>
);
