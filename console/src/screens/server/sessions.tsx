// Who is signed in to the console, and the end of a session.
import { Badge, Button, Table } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { request } from '../../api/request.ts';
import { DateTime } from '../../shell/datetime.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { announce } from '../../shell/live-region.tsx';

interface SignedIn {
  readonly id: number;
  /** Null: the operator. */
  readonly key: {
    readonly name: string;
    readonly prefix: string;
    readonly organization: string;
    readonly workspace: string;
  } | null;
  readonly createdAt: string;
  readonly lastUsedAt: string;
  readonly expiresAt: string;
  readonly userAgent: string | null;
  readonly current: boolean;
}

const MOST = 200;

export function Sessions() {
  const client = useQueryClient();
  const [error, setError] = useState<unknown>();
  const sessions = useQuery({
    queryKey: ['sessions'],
    queryFn: async ({ signal }) =>
      (await request<readonly SignedIn[]>({ path: `/admin/v1/sessions?size=${MOST}`, signal })).data,
  });
  async function end(id: number): Promise<void> {
    setError(undefined);
    try {
      await request({ method: 'DELETE', path: `/admin/v1/sessions/${id}` });
      announce('Session ended');
      await client.invalidateQueries({ queryKey: ['sessions'] });
    } catch (thrown) {
      setError(thrown);
    }
  }
  return (
    <>
      <ErrorAlert error={error ?? sessions.error} onRetry={() => void sessions.refetch()} />
      <Table.ScrollContainer minWidth={720}>
        <Table aria-label="Sessions" verticalSpacing={4}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Key</Table.Th>
              <Table.Th>Workspace</Table.Th>
              <Table.Th>Begun</Table.Th>
              <Table.Th>Last used</Table.Th>
              <Table.Th>Ends</Table.Th>
              <Table.Th>Action</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {sessions.data?.map(({ id, key, createdAt, lastUsedAt, expiresAt, userAgent, current }) => (
              <Table.Tr key={id} title={userAgent ?? undefined}>
                <Table.Td>
                  <bdi>{key === null ? 'Operator' : `${key.name} (${key.prefix}…)`}</bdi>
                </Table.Td>
                <Table.Td>{key === null ? 'all' : `${key.organization}/${key.workspace}`}</Table.Td>
                <Table.Td>
                  <DateTime instant={createdAt} />
                </Table.Td>
                <Table.Td>
                  <DateTime instant={lastUsedAt} />
                </Table.Td>
                <Table.Td>
                  <DateTime instant={expiresAt} />
                </Table.Td>
                <Table.Td>
                  {current ? (
                    <Badge color="gray">This one</Badge>
                  ) : (
                    <Button variant="default" size="compact-xs" onClick={() => void end(id)}>
                      End
                    </Button>
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </>
  );
}
