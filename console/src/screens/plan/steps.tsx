// The steps of a plan, with what each destroys, closes and takes, and the records in its way.
import { Badge, Group, Table, Text } from '@mantine/core';
import { formatDuration } from '../../api/migration-progress.ts';
import type { Plan, PlannedStep } from '../../api/migrations.ts';
import type { WorkspaceRef } from '../../api/workspace.ts';
import { pluralize } from '../../format/amount.ts';
import { ConflictingRecords } from '../../schema/conflicting-records.tsx';
import { WideTable } from '../../shell/wide-table.tsx';

export function Steps({ place, plan: { steps } }: { readonly place: WorkspaceRef; readonly plan: Plan }) {
  if (steps.length === 0) return <Text size="sm">No steps: only the text of the document changes.</Text>;
  return (
    <WideTable label="Steps of the plan" minWidth={560}>
      <Table aria-label="Steps of the plan">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Step</Table.Th>
            <Table.Th>Effect</Table.Th>
            <Table.Th ta="right">Takes</Table.Th>
            <Table.Th>Conflicting records</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {steps.map((step, index) => (
            <Table.Tr key={index}>
              <Table.Td>
                <bdi>{step.description}</bdi>
              </Table.Td>
              <Table.Td>
                <Effects {...step} />
              </Table.Td>
              <Table.Td ta="right">
                {step.estimatedSeconds === 0 ? 'instant' : `≈ ${formatDuration(step.estimatedSeconds)}`}
              </Table.Td>
              <Table.Td>
                {step.conflicts === null || step.conflicts.count === 0 ? (
                  pluralize(0, 'record')
                ) : (
                  <ConflictingRecords
                    place={place}
                    entity={step.entity}
                    number={step.conflicts.count}
                    ids={step.conflicts.sampleIds}
                  />
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </WideTable>
  );
}

function Effects({ destructive, blocksReads, blocksWrites }: PlannedStep) {
  const closed = [...(blocksReads ? ['reads'] : []), ...(blocksWrites ? ['writes'] : [])].join(' and ');
  return (
    <Group gap={4}>
      {destructive && (
        <Badge color="red" tt="none">
          destroys
        </Badge>
      )}
      {closed !== '' && (
        <Badge color="yellow" tt="none">
          blocks {closed}
        </Badge>
      )}
      {!destructive && closed === '' && <Text size="sm">does not block</Text>}
    </Group>
  );
}
