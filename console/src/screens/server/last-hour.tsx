// Requests, errors, latency, connections and size of the last hour, the workspaces with the most requests, and the slowest
// requests.
import { Group, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { request } from '../../api/request.ts';
import type { components } from '../../api/types.ts';
import { formatBytes, formatCount } from '../../format/amount.ts';
import { DataTable } from '../../shell/data-table.tsx';
import { DateTime } from '../../shell/datetime.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { LineChart } from './line-chart.tsx';

type ServerStatistics = components['schemas']['ServerStatistics'];

export const STATISTICS = '/admin/v1/server/statistics';

export function LastHour() {
  const { data, error, refetch } = useQuery({
    queryKey: ['server', 'statistics'],
    queryFn: async ({ signal }) => (await request<ServerStatistics>({ path: STATISTICS, signal })).data,
    refetchInterval: 15_000,
  });
  if (data === undefined) return <ErrorAlert error={error} onRetry={() => void refetch()} />;
  const { samples, workspaces, slowRequests } = data;
  const times = samples.map(({ at }) => Date.parse(at));
  const read = (name: 'requests' | 'errors' | 'p50Ms' | 'p99Ms' | 'connections' | 'waiting' | 'bytes') =>
    samples.map((sample) => sample[name]);
  return (
    <Stack>
      <Group gap="lg" align="stretch">
        <LineChart
          title="Requests in 15 s"
          lines={[{ name: '', values: read('requests') }]}
          {...{ times, format: formatCount }}
        />
        <LineChart
          title="Errors in 15 s (500 and above)"
          lines={[{ name: '', values: read('errors') }]}
          {...{ times, format: formatCount }}
        />
        <LineChart
          title="Latency (p50, p99 dashed)"
          lines={[
            { name: 'p50', values: read('p50Ms') },
            { name: 'p99', values: read('p99Ms') },
          ]}
          {...{ times, format: formatMilliseconds }}
        />
        <LineChart
          title="Database connections (waiting dashed)"
          lines={[
            { name: 'open', values: read('connections') },
            { name: 'waiting', values: read('waiting') },
          ]}
          {...{ times, format: formatCount }}
        />
        <LineChart title="Disk" lines={[{ name: '', values: read('bytes') }]} {...{ times, format: formatBytes }} />
      </Group>
      <Title order={2} size="h5">
        Workspaces with the most requests
      </Title>
      {workspaces.length === 0 ? (
        <Text size="sm">No workspace had requests.</Text>
      ) : (
        <Group gap="lg" align="stretch">
          {workspaces.map(({ workspace, requests, samples: values }) => (
            <LineChart
              key={workspace}
              title={`${workspace}: ${formatCount(requests)} in the last hour`}
              lines={[{ name: '', values }]}
              {...{ times, format: formatCount }}
            />
          ))}
        </Group>
      )}
      <Title order={2} size="h5">
        Slow requests
      </Title>
      {slowRequests.length === 0 ? (
        <Text size="sm">No request took longer than 200 ms.</Text>
      ) : (
        <DataTable
          label="Slow requests"
          rows={slowRequests}
          rowKey={({ id }) => id}
          minWidth={560}
          columns={[
            {
              title: 'Request',
              cell: ({ method, path }) => <bdi>{`${method} ${path}`}</bdi>,
              isRowHeader: true,
            },
            { title: 'Duration', cell: ({ milliseconds }) => formatMilliseconds(milliseconds), isNumeric: true },
            { title: 'Status', cell: ({ status }) => status, isNumeric: true },
            { title: 'Finished', cell: ({ at }) => <DateTime instant={at} /> },
            { title: 'Request id', cell: ({ id }) => <bdi>{id}</bdi> },
          ]}
        />
      )}
    </Stack>
  );
}

const formatMilliseconds = (value: number): string =>
  `${value < 10 ? value.toFixed(1) : formatCount(Math.round(value))} ms`;
