// The migrations of all workspaces that have not ended.
import { Anchor, Progress, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { runningQuery } from '../api/migrations.ts';
import { DateTime } from './datetime.tsx';
import { ErrorAlert } from './error-alert.tsx';

/** `none` stands there when there is none. */
export function RunningMigrations({ none }: { readonly none?: string }) {
  const migrations = useQuery(runningQuery);
  return (
    <>
      <ErrorAlert error={migrations.error} onRetry={() => void migrations.refetch()} />
      {migrations.data?.length === 0 && none !== undefined && <Text size="sm">{none}</Text>}
      {(migrations.data?.length ?? 0) > 0 && (
        <Table aria-label="Running migrations" mb="sm">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Workspace</Table.Th>
              <Table.Th>Migration</Table.Th>
              <Table.Th>Begun</Table.Th>
              <Table.Th>Now</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {migrations.data?.map(({ organization, workspace, id, startedAt, steps }) => {
              const now = steps.find(({ state }) => state === 'running');
              return (
                <Table.Tr key={`${organization}/${workspace}/${id}`}>
                  <Table.Td>{`${organization}/${workspace}`}</Table.Td>
                  <Table.Td>
                    <Anchor component={Link} size="sm" to={`/${organization}/${workspace}/migrations/${id}`}>
                      {id}
                    </Anchor>
                  </Table.Td>
                  <Table.Td>
                    <DateTime instant={startedAt} none="waiting" />
                  </Table.Td>
                  <Table.Td>
                    {now !== undefined && (
                      <>
                        <Text size="xs">{now.description}</Text>
                        <Progress value={now.progress * 100} aria-label={now.description} />
                      </>
                    )}
                  </Table.Td>
                </Table.Tr>
              );
            })}
          </Table.Tbody>
        </Table>
      )}
    </>
  );
}
