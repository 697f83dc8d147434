// Tab with the diagram of the schema and its accessible list. Default export for lazy loading.
import { Anchor, Button, Group, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { ErrorDetail } from '../../api/api-error.ts';
import { screenPath } from '../../api/workspace.ts';
import { type DiagramEntity, findNeighbours, listEntities, listLines } from '../../schema/diagram.ts';
import { DiagramView } from '../../schema/diagram-view.tsx';
import { EntityList } from '../../schema/entity-list.tsx';
import classes from '../../schema/schema.module.css';
import type { DraftState } from '../../schema/use-draft.ts';
import { useAddress, useWorkspace } from '../../shell/use-address.ts';

export default function DiagramTab({
  state,
  details,
}: {
  readonly state: DraftState;
  readonly details: readonly ErrorDetail[];
}) {
  const { read, write } = useAddress();
  const entities = useMemo(() => listEntities(state.value), [state.value]);
  const lines = useMemo(() => listLines(entities), [entities]);
  const at = read('entity');
  const focus = entities.some(({ name }) => name === read('focus')) ? read('focus') : undefined;
  const neighbours = useMemo(() => (focus === undefined ? undefined : findNeighbours(lines, focus)), [lines, focus]);
  const visible = neighbours === undefined ? entities : entities.filter(({ name }) => neighbours.has(name));
  const selected = entities.find(({ name }) => name === at);
  const choose = (entity: string | undefined): void => write({ entity });
  const invalid = new Set(details.map(({ field }) => field?.split('.')[1] ?? ''));
  return (
    <div className={classes.columns}>
      <EntityList label="Entities" entities={visible} at={at} onChoose={choose} showsRelations invalid={invalid} />
      <div>
        <Group gap="xs" mb={6} mih={26}>
          {selected !== undefined && <Chosen entity={selected} />}
          {focus !== undefined && (
            <Button size="compact-xs" variant="default" onClick={() => write({ focus: undefined })}>
              Show all
            </Button>
          )}
        </Group>
        <DiagramView entities={visible} lines={lines} at={at} onChoose={choose} />
      </div>
    </div>
  );
}

function Chosen({ entity }: { readonly entity: DiagramEntity }) {
  const { write } = useAddress();
  const workspace = useWorkspace();
  const { name, fields, description } = entity;
  return (
    <>
      <Text size="sm" fw={600}>
        <bdi>{name}</bdi>
      </Text>
      <Button size="compact-xs" variant="default" onClick={() => write({ focus: name })}>
        Show neighbours only
      </Button>
      <Button size="compact-xs" variant="default" onClick={() => write({ tab: 'entities' }, false)}>
        Edit
      </Button>
      <Anchor component={Link} to={screenPath(workspace, `/data/${name}`)} size="xs">
        Records
      </Anchor>
      <Text size="xs" c="dimmed" truncate dir="auto" maw={420}>
        {fields.length} fields{description === '' ? '' : `, ${description}`}
      </Text>
    </>
  );
}
