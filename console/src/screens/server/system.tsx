// System: versions, the database, the processes, and the settings in force.
import { Code, Stack, Table, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { request } from '../../api/request.ts';
import { formatBytes } from '../../format/amount.ts';
import { DateTime } from '../../shell/datetime.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';

interface Server {
  readonly version: string;
  readonly node: string;
  readonly startedAt: string;
  readonly database: {
    readonly version: string;
    readonly embedded: boolean;
    readonly address: string;
    readonly name: string;
    readonly bytes: number;
  };
  readonly processes: readonly { readonly place: string; readonly startedAt: string }[];
  readonly settings: readonly { readonly name: string; readonly value: string }[];
}

export function SystemInfo() {
  const { data, error, refetch } = useQuery({
    queryKey: ['server'],
    queryFn: async ({ signal }) => (await request<Server>({ path: '/admin/v1/server', signal })).data,
  });
  return (
    <Stack>
      <ErrorAlert error={error} onRetry={() => void refetch()} />
      {data !== undefined && (
        <>
          <Pairs label="System" pairs={listFacts(data)} />
          <Title order={2} size="h5">
            Processes
          </Title>
          <Pairs
            label="Processes"
            head={['Host and process', 'Begun']}
            pairs={data.processes.map(({ place, startedAt }) => [
              <bdi key={place}>{place}</bdi>,
              <DateTime key={startedAt} instant={startedAt} />,
            ])}
          />
          <Title order={2} size="h5">
            Current settings
          </Title>
          <Pairs
            label="Current settings"
            head={['Setting', 'Value']}
            pairs={data.settings.map(({ name, value }) => [
              <Code key={name}>{name}</Code>,
              <bdi key={value}>{value === '' ? 'none' : value}</bdi>,
            ])}
          />
        </>
      )}
    </Stack>
  );
}

const listFacts = ({ version, node, startedAt, database }: Server): Rows => [
  ['Version', version],
  ['Node.js', node],
  ['Begun', <DateTime key="begun" instant={startedAt} />],
  ['PostgreSQL', `${database.version}${database.embedded ? ', embedded' : ''}`],
  ['Database', <bdi key="database">{`${database.name} at ${database.address}`}</bdi>],
  ['Size', formatBytes(database.bytes)],
];

type Rows = readonly (readonly [ReactNode, ReactNode])[];

/** Two columns; without heads the first one names the rows. */
function Pairs({
  label,
  head,
  pairs,
}: {
  readonly label: string;
  readonly head?: readonly [string, string];
  readonly pairs: Rows;
}) {
  return (
    <Table.ScrollContainer minWidth={280}>
      <Table aria-label={label} verticalSpacing={4} layout="auto">
        {head !== undefined && (
          <Table.Thead>
            <Table.Tr>
              {head.map((title) => (
                <Table.Th key={title}>{title}</Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
        )}
        <Table.Tbody>
          {pairs.map(([name, value], index) => (
            <Table.Tr key={index}>
              <Table.Th scope="row" fw={head === undefined ? 600 : 400}>
                {name}
              </Table.Th>
              <Table.Td>{value}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
