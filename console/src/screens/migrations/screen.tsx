// List of schema migrations, newest first.
import { Anchor, Badge, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { STATE_COLORS } from '../../api/migration-progress.ts';
import { migrationsQuery } from '../../api/migrations.ts';
import { adminPath, screenPath } from '../../api/workspace.ts';
import { CopyReadAs } from '../../shell/copy-as.tsx';
import { DataTable } from '../../shell/data-table.tsx';
import { DateTime, formatElapsed } from '../../shell/datetime.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { PageLinks, usePage } from '../../shell/pagination.tsx';
import { ScreenFrame } from '../../shell/screen-frame.tsx';
import { useWorkspace } from '../../shell/use-address.ts';
import { workspaceOption } from '../../snippets/admin.ts';

const SIZE = 50;

export function Screen() {
  const workspace = useWorkspace();
  const [page, go] = usePage();
  const { data, error, refetch } = useQuery(migrationsQuery(workspace, page, SIZE));
  return (
    <ScreenFrame
      title="Migrations"
      actions={
        <CopyReadAs
          path={adminPath(workspace, `/migrations?page=${page}&size=${SIZE}`)}
          wda={`migration list ${workspaceOption(workspace)}`}
        />
      }
    >
      <ErrorAlert error={error} onRetry={() => void refetch()} />
      {data?.total === 0 && (
        <Text size="sm">
          No migrations yet. A change of the{' '}
          <Anchor component={Link} to={screenPath(workspace, '/schema')} size="sm" underline="always">
            schema
          </Anchor>{' '}
          is one.
        </Text>
      )}
      {data !== undefined && data.migrations.length > 0 && (
        <DataTable
          label="Migrations"
          rows={data.migrations}
          rowKey={({ id }) => id}
          minWidth={560}
          maxWidth={1000}
          columns={[
            {
              title: 'Migration',
              cell: ({ id, strategy }) => (
                <>
                  <Anchor component={Link} to={screenPath(workspace, `/migrations/${id}`)} size="sm">
                    {id}
                  </Anchor>
                  {strategy === 'blocking' && ' blocking'}
                </>
              ),
            },
            {
              title: 'State',
              cell: ({ state }) => (
                <Badge color={STATE_COLORS[state]} variant="light" tt="none">
                  {state}
                </Badge>
              ),
            },
            { title: 'Started', cell: ({ createdAt }) => <DateTime instant={createdAt} /> },
            {
              title: 'Duration',
              cell: ({ startedAt, finishedAt }) => formatElapsed(startedAt, finishedAt),
              isNumeric: true,
            },
            {
              title: 'Steps',
              cell: (one) => (
                <Text size="sm" lineClamp={2} dir="auto">
                  {one.error?.message ?? (one.steps.map(({ description }) => description).join('; ') || 'none')}
                </Text>
              ),
            },
          ]}
        />
      )}
      <PageLinks total={data?.total ?? 0} size={SIZE} page={page} onPage={go} />
    </ScreenFrame>
  );
}
