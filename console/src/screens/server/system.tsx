// Versions, the database, the processes, and the current settings.
import { Code, Stack, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { request } from '../../api/request.ts';
import type { Server } from '../../api/types.ts';
import { formatBytes } from '../../format/amount.ts';
import { DataTable, PropertyTable } from '../../shell/data-table.tsx';
import { DateTime } from '../../shell/datetime.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';

export function SystemInfo() {
  const { data, error, refetch } = useQuery({
    queryKey: ['server'],
    queryFn: async ({ signal }) => (await request<Server>({ path: '/admin/v1/server', signal })).data,
  });
  if (data === undefined) return <ErrorAlert error={error} onRetry={() => void refetch()} />;
  const { version, node, startedAt, database, processes, settings } = data;
  return (
    <Stack>
      <PropertyTable
        label="System"
        rows={[
          ['Version', version],
          ['Node.js', node],
          ['Started', <DateTime key="started" instant={startedAt} />],
          ['PostgreSQL', `${database.version}${database.embedded ? ', embedded' : ''}`],
          ['Database', <bdi key="database">{`${database.name} at ${database.address}`}</bdi>],
          ['Size', formatBytes(database.bytes)],
        ]}
      />
      <Title order={2} size="h5">
        Processes
      </Title>
      <DataTable
        label="Processes"
        rows={processes}
        rowKey={(one) => one.place}
        minWidth={280}
        columns={[
          { title: 'Host and process', cell: (one) => <bdi>{one.place}</bdi>, isRowHeader: true },
          { title: 'Started', cell: (one) => <DateTime instant={one.startedAt} /> },
        ]}
      />
      <Title order={2} size="h5">
        Current settings
      </Title>
      <DataTable
        label="Current settings"
        rows={settings}
        rowKey={({ name }) => name}
        minWidth={280}
        columns={[
          { title: 'Setting', cell: ({ name }) => <Code>{name}</Code>, isRowHeader: true },
          { title: 'Value', cell: ({ value }) => <bdi>{value === '' ? 'none' : value}</bdi> },
        ]}
      />
    </Stack>
  );
}
