// Unfinished migrations of all workspaces.
import { Anchor, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { runningQuery } from '../api/migrations.ts';
import { DataTable } from './data-table.tsx';
import { DateTime } from './datetime.tsx';
import { ErrorAlert } from './error-alert.tsx';
import { ProgressBar } from './progress-bar.tsx';

/** Lists the migrations, or the text `none`. */
export function RunningMigrations({ none }: { readonly none?: string }) {
  const { data, error, refetch } = useQuery(runningQuery);
  return (
    <>
      <ErrorAlert error={error} onRetry={() => void refetch()} />
      {data?.length === 0 && none !== undefined && <Text size="sm">{none}</Text>}
      {data !== undefined && data.length > 0 && (
        <DataTable
          label="Running migrations"
          rows={data}
          rowKey={({ organization, workspace, id }) => `${organization}/${workspace}/${id}`}
          columns={[
            { title: 'Workspace', cell: ({ organization, workspace }) => `${organization}/${workspace}` },
            {
              title: 'Migration',
              cell: ({ organization, workspace, id }) => (
                <Anchor component={Link} size="sm" to={`/${organization}/${workspace}/migrations/${id}`}>
                  {id}
                </Anchor>
              ),
            },
            { title: 'Started', cell: ({ startedAt }) => <DateTime instant={startedAt} none="waiting" /> },
            {
              title: 'Current step',
              cell: ({ steps }) => {
                const step = steps.find(({ state }) => state === 'running');
                return (
                  step !== undefined && (
                    <>
                      <Text size="xs">{step.description}</Text>
                      <ProgressBar label={step.description} value={step.progress} />
                    </>
                  )
                );
              },
            },
          ]}
        />
      )}
    </>
  );
}
