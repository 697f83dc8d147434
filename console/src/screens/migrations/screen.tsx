// The changes of the schema so far, newest first.
import { Anchor, Badge, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { STATE_COLORS } from '../../api/migration-progress.ts';
import { migrationsQuery } from '../../api/migrations.ts';
import { adminPath, screenPath } from '../../api/workspace.ts';
import { secondsBetween, Time } from '../../schema/time.tsx';
import { CopyReadAs } from '../../shell/copy-as.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { PageLinks, usePage } from '../../shell/pagination.tsx';
import { ScreenFrame } from '../../shell/screen-frame.tsx';
import { usePlace } from '../../shell/use-address.ts';
import { workspaceOption } from '../../snippets/admin.ts';

const SIZE = 50;

export function Screen() {
  const place = usePlace();
  const [page, go] = usePage();
  const { data, error, refetch } = useQuery(migrationsQuery(place, page, SIZE));
  return (
    <ScreenFrame
      title="Migrations"
      actions={
        <CopyReadAs
          path={adminPath(place, `/migrations?page=${page}&size=${SIZE}`)}
          wda={`migration list ${workspaceOption(place)}`}
        />
      }
    >
      <ErrorAlert error={error} onRetry={() => void refetch()} />
      {data?.total === 0 && (
        <Text size="sm">
          No migrations yet. A change of the{' '}
          <Anchor component={Link} to={screenPath(place, '/schema')} size="sm" underline="always">
            schema
          </Anchor>{' '}
          is one.
        </Text>
      )}
      {data !== undefined && data.migrations.length > 0 && (
        <Table.ScrollContainer minWidth={560}>
          <Table aria-label="Migrations" maw={1000}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Migration</Table.Th>
                <Table.Th>State</Table.Th>
                <Table.Th>Begun</Table.Th>
                <Table.Th ta="right">Took</Table.Th>
                <Table.Th>Steps</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {data.migrations.map(
                ({ id, state, strategy, steps, createdAt, startedAt, finishedAt, error: reason }) => (
                  <Table.Tr key={id}>
                    <Table.Td>
                      <Anchor component={Link} to={screenPath(place, `/migrations/${id}`)} size="sm">
                        {id}
                      </Anchor>
                      {strategy === 'blocking' && ' blocking'}
                    </Table.Td>
                    <Table.Td>
                      <Badge color={STATE_COLORS[state]} variant="light" tt="none">
                        {state}
                      </Badge>
                    </Table.Td>
                    <Table.Td>
                      <Time at={createdAt} />
                    </Table.Td>
                    <Table.Td ta="right">{secondsBetween(startedAt, finishedAt)}</Table.Td>
                    <Table.Td>
                      <Text size="sm" lineClamp={2} dir="auto">
                        {reason === null
                          ? steps.map(({ description }) => description).join('; ') || 'none'
                          : reason.message}
                      </Text>
                    </Table.Td>
                  </Table.Tr>
                ),
              )}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
      <PageLinks total={data?.total ?? 0} size={SIZE} page={page} onPage={go} />
    </ScreenFrame>
  );
}
