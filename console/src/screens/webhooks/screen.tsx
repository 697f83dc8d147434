// List of webhooks: where they go, their state, and what waits.
import { Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import classes from '../../access/access.module.css';
import { screenPath } from '../../api/workspace.ts';
import { CopyAs } from '../../shell/copy-as.tsx';
import { DataTable } from '../../shell/data-table.tsx';
import { DateTime } from '../../shell/datetime.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { useSearchableList } from '../../shell/pagination.tsx';
import { ScreenFrame } from '../../shell/screen-frame.tsx';
import { useWorkspace } from '../../shell/use-address.ts';
import { createAdminCall } from '../../snippets/admin.ts';
import { type Webhook, webhooksQuery } from '../../webhooks/webhooks-api.ts';
import { describeDisabled, describePending } from '../../webhooks/words.ts';
import { StateBadge } from './state-badge.tsx';

export function Screen() {
  const workspace = useWorkspace();
  const { data, error, isPending, refetch } = useQuery(webhooksQuery(workspace));
  const { page, searchField, pageLinks } = useSearchableList(data ?? [], ({ name }) => name);
  return (
    <ScreenFrame
      title="Webhooks"
      actions={
        <>
          <CopyAs
            call={() =>
              createAdminCall({ origin: location.origin, ...workspace }, { rest: '/webhooks', wda: 'webhook list' })
            }
          />
          <Button component={Link} to={screenPath(workspace, '/webhooks/new')}>
            New webhook
          </Button>
        </>
      }
    >
      <ErrorAlert error={error} onRetry={() => void refetch()} />
      {data?.length === 0 && (
        <Text size="sm">No webhooks yet. A webhook sends the changes of records to a URL as they happen.</Text>
      )}
      {data?.length !== 0 && (
        <>
          {searchField}
          <DataTable<Webhook>
            label="Webhooks"
            rows={page}
            rowKey={({ id }) => id}
            minWidth={860}
            isBusy={isPending}
            columns={[
              {
                title: 'Name',
                isRowHeader: true,
                className: classes.name,
                cell: ({ id, name }) => (
                  <Anchor component={Link} size="sm" to={screenPath(workspace, `/webhooks/${id}`)}>
                    <bdi dir="auto">{name}</bdi>
                  </Anchor>
                ),
              },
              { title: 'URL', cell: ({ url }) => <bdi>{url}</bdi>, minWidth: 160 },
              {
                title: 'Entities',
                cell: ({ entities }) => <bdi>{entities === null ? 'all' : entities.join(', ')}</bdi>,
              },
              { title: 'State', cell: State, minWidth: 120 },
              { title: 'Waiting', cell: Waiting, minWidth: 120 },
              { title: 'Last attempt', cell: LastAttempt },
            ]}
          />
          {pageLinks}
        </>
      )}
    </ScreenFrame>
  );
}

function State(webhook: Webhook) {
  const reason = describeDisabled(webhook);
  return (
    <Stack gap={2} align="start">
      <StateBadge state={webhook.state} />
      {reason !== undefined && <Text size="xs">{reason}</Text>}
    </Stack>
  );
}

const Waiting = ({ pending, oldestPendingAt }: Webhook) => (
  <>
    {describePending(pending)}
    {oldestPendingAt !== null && (
      <Text size="xs" c="dimmed">
        since <DateTime instant={oldestPendingAt} />
      </Text>
    )}
  </>
);

const LastAttempt = ({ lastAttemptAt, lastStatus }: Webhook) => (
  <Group gap={6}>
    <DateTime instant={lastAttemptAt} none="never" />
    {lastAttemptAt !== null && <Text size="xs">{lastStatus ?? 'no answer'}</Text>}
  </Group>
);
