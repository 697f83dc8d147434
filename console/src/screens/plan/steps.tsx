// Steps of a plan: effects, duration, and conflicting records.

import { Badge, Group, List, Text } from '@mantine/core';
import { formatDuration } from '../../api/migration-progress.ts';
import type { Plan, PlannedStep } from '../../api/types.ts';

import type { WorkspaceRef } from '../../api/workspace.ts';
import { pluralize } from '../../format/amount.ts';
import { ConflictingRecords } from '../../schema/conflicting-records.tsx';
import { DataTable } from '../../shell/data-table.tsx';

export function Steps({ workspace, plan: { steps } }: { readonly workspace: WorkspaceRef; readonly plan: Plan }) {
  if (steps.length === 0) return <Text size="sm">No steps: only the text of the document changes.</Text>;
  return (
    <DataTable
      label="Steps of the plan"
      rows={steps}
      rowKey={(_, index) => index}
      minWidth={560}
      columns={[
        { title: 'Step', cell: Description },
        { title: 'Effect', cell: Effects },
        {
          title: 'Duration',
          cell: (step) => (step.estimatedSeconds === 0 ? 'instant' : `≈ ${formatDuration(step.estimatedSeconds)}`),
          isNumeric: true,
        },
        {
          title: 'Conflicting records',
          cell: ({ entity, conflicts }) =>
            conflicts === null || conflicts.count === 0 ? (
              pluralize(0, 'record')
            ) : (
              <ConflictingRecords
                workspace={workspace}
                entity={entity}
                number={conflicts.count}
                ids={conflicts.sampleIds}
              />
            ),
        },
      ]}
    />
  );
}

/** Description of a step, with the new grants of an entity in words. */
const Description = ({ description, grants = [] }: PlannedStep) => (
  <>
    <bdi>{description}</bdi>
    {grants.length > 0 && (
      <List size="xs" type="ordered">
        {grants.map((grant) => (
          <List.Item key={grant}>
            <bdi>{grant}</bdi>
          </List.Item>
        ))}
      </List>
    )}
  </>
);

function Effects({ destructive, opens, blocksReads, blocksWrites }: PlannedStep) {
  const closed = [...(blocksReads ? ['reads'] : []), ...(blocksWrites ? ['writes'] : [])].join(' and ');
  return (
    <Group gap={4}>
      {destructive && (
        <Badge color="red" tt="none">
          destroys
        </Badge>
      )}
      {opens && (
        <Badge color="yellow" tt="none">
          opens to every user
        </Badge>
      )}
      {closed !== '' && (
        <Badge color="yellow" tt="none">
          blocks {closed}
        </Badge>
      )}
      {!destructive && opens !== true && closed === '' && <Text size="sm">no downtime</Text>}
    </Group>
  );
}
