// Sessions of the console, with a button that ends one.
import { Badge, Button } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { request } from '../../api/request.ts';
import type { ConsoleSession } from '../../api/types.ts';
import { DataTable } from '../../shell/data-table.tsx';
import { DateTime } from '../../shell/datetime.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { announce } from '../../shell/live-region.tsx';

const MOST = 200;

export function Sessions() {
  const client = useQueryClient();
  const { data, error, refetch } = useQuery({
    queryKey: ['sessions'],
    queryFn: async ({ signal }) =>
      (await request<readonly ConsoleSession[]>({ path: `/admin/v1/sessions?size=${MOST}`, signal })).data,
  });
  const ending = useMutation({
    mutationFn: (id: number) => request({ method: 'DELETE', path: `/admin/v1/sessions/${id}` }),
    onSuccess: () => {
      announce('Session ended');
      return client.invalidateQueries({ queryKey: ['sessions'] });
    },
  });
  return (
    <>
      <ErrorAlert error={ending.error ?? error} onRetry={() => void refetch()} />
      <DataTable
        label="Sessions"
        rows={data ?? []}
        rowKey={({ id }) => id}
        rowProps={({ userAgent }) => ({ title: userAgent ?? undefined })}
        minWidth={720}
        columns={[
          { title: 'Who', cell: (session) => <bdi>{describeHolder(session)}</bdi> },
          {
            title: 'Workspace',
            cell: ({ key, person }) =>
              key !== null ? `${key.organization}/${key.workspace}` : person === null ? 'all' : 'by membership',
          },
          { title: 'Started', cell: ({ createdAt }) => <DateTime instant={createdAt} /> },
          { title: 'Last used', cell: ({ lastUsedAt }) => <DateTime instant={lastUsedAt} /> },
          { title: 'Expires', cell: ({ expiresAt }) => <DateTime instant={expiresAt} /> },
          {
            title: 'Action',
            cell: ({ id, current }) =>
              current ? (
                <Badge color="gray">This one</Badge>
              ) : (
                <Button variant="default" size="compact-xs" onClick={() => ending.mutate(id)}>
                  End
                </Button>
              ),
          },
        ]}
      />
    </>
  );
}

/** Describes who has signed in: a person, a key, or the operator. */
function describeHolder({ key, person }: ConsoleSession): string {
  if (person !== null) return person.email === null ? person.name : `${person.name} (${person.email})`;
  return key === null ? 'Operator' : `${key.name} (${key.prefix}…)`;
}
