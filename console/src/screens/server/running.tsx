// The migrations of all workspaces that have not ended.
import { Anchor, Progress, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ask } from '../../api/ask.ts';
import { Instant } from '../../shell/instant.tsx';
import { Refused } from '../../shell/refused.tsx';

interface Migration {
  readonly organization: string;
  readonly workspace: string;
  readonly id: number;
  readonly state: string;
  readonly steps: readonly { readonly description: string; readonly state: string; readonly progress: number }[];
  readonly startedAt: string | null;
}

const EVERY_MS = 2000;

export function Running() {
  const migrations = useQuery({
    queryKey: ['migrations', 'running'],
    refetchInterval: EVERY_MS,
    queryFn: async ({ signal }) =>
      (await ask<readonly Migration[]>({ path: '/admin/v1/migrations?state=running', signal })).data,
  });
  return (
    <>
      <Refused error={migrations.error} onRetry={() => void migrations.refetch()} />
      {migrations.data?.length === 0 && <Text size="sm">No migration is running.</Text>}
      {(migrations.data?.length ?? 0) > 0 && (
        <Table aria-label="Running migrations">
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
                    <Instant instant={startedAt} none="waiting" />
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
