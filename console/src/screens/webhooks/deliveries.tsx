// Messages of a webhook with their states; one opens with its body and its attempts.
import { Button, Code, Group, Modal, NativeSelect, ScrollArea, Stack, Text, Title } from '@mantine/core';
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { WorkspaceRef } from '../../api/workspace.ts';
import { pluralize } from '../../format/amount.ts';
import { DataTable } from '../../shell/data-table.tsx';
import { DateTime } from '../../shell/datetime.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { announce } from '../../shell/live-region.tsx';
import { useAddress } from '../../shell/use-address.ts';
import {
  actOnDelivery,
  type Delivery,
  type DeliveryWithBody,
  deliveriesQuery,
  deliveryQuery,
  webhooksQuery,
} from '../../webhooks/webhooks-api.ts';
import { DELIVERY_STATES, describeOutcome } from '../../webhooks/words.ts';

export interface DeliveriesProps {
  readonly workspace: WorkspaceRef;
  /** Id of the webhook. */
  readonly id: string;
}

export function Deliveries({ workspace, id }: DeliveriesProps) {
  const { read, write } = useAddress();
  const state = read('state');
  const pages = useInfiniteQuery(deliveriesQuery(workspace, id, state));
  const [opened, setOpened] = useState<string>();
  const deliveries = pages.data?.pages.flatMap((page) => page.deliveries) ?? [];
  return (
    <>
      <NativeSelect
        label="State"
        size="xs"
        maw={200}
        mb="sm"
        value={state ?? ''}
        data={[
          { value: '', label: 'All' },
          ...Object.entries(DELIVERY_STATES).map(([value, label]) => ({ value, label })),
        ]}
        onChange={(event) => write({ state: event.currentTarget.value || undefined })}
      />
      <ErrorAlert error={pages.error} onRetry={() => void pages.refetch()} />
      {pages.data !== undefined && deliveries.length === 0 && (
        <Text size="sm">{state === undefined ? 'No messages yet.' : 'No message is in this state.'}</Text>
      )}
      {deliveries.length > 0 && (
        <DataTable<Delivery>
          label="Messages"
          rows={deliveries}
          rowKey={(delivery) => delivery.id}
          minWidth={760}
          columns={[
            { title: 'Created', cell: ({ createdAt }) => <DateTime instant={createdAt} /> },
            { title: 'Type', isRowHeader: true, cell: ({ type }) => <bdi>{type}</bdi> },
            { title: 'Events', isNumeric: true, cell: ({ events }) => events },
            { title: 'State', cell: (delivery) => DELIVERY_STATES[delivery.state] },
            { title: 'Attempts', isNumeric: true, cell: ({ attempts }) => attempts },
            { title: 'Last answer', cell: ({ lastStatus, lastError }) => describeOutcome(lastStatus, lastError) },
            { title: 'Next attempt', cell: ({ nextAttemptAt }) => <DateTime instant={nextAttemptAt} /> },
            {
              title: '',
              cell: (delivery) => (
                <Button
                  variant="subtle"
                  size="compact-xs"
                  aria-label={`Open message ${delivery.id}`}
                  onClick={() => setOpened(delivery.id)}
                >
                  Open
                </Button>
              ),
            },
          ]}
        />
      )}
      {pages.hasNextPage && (
        <Button variant="default" mt="sm" loading={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
          Load more
        </Button>
      )}
      {opened !== undefined && (
        <DeliveryDialog workspace={workspace} id={id} delivery={opened} onClose={() => setOpened(undefined)} />
      )}
    </>
  );
}

interface DeliveryDialogProps extends DeliveriesProps {
  readonly delivery: string;
  readonly onClose: () => void;
}

function DeliveryDialog({ workspace, id, delivery, onClose }: DeliveryDialogProps) {
  const { data, error, refetch } = useQuery(deliveryQuery(workspace, id, delivery));
  const client = useQueryClient();
  const action = useMutation({
    mutationFn: async (how: 'redeliver' | 'discard') => {
      await actOnDelivery(workspace, id, delivery, how);
      announce(how === 'redeliver' ? 'The message is sent again' : 'The message is discarded');
      await client.invalidateQueries({ queryKey: webhooksQuery(workspace).queryKey });
    },
  });
  return (
    <Modal opened onClose={onClose} title={`Message ${delivery}`} size="xl">
      <ErrorAlert error={error} onRetry={() => void refetch()} />
      {data !== undefined && (
        <Stack gap="sm">
          <Text size="sm">
            <bdi>{data.type}</bdi>, {pluralize(data.events, 'event')}: {DELIVERY_STATES[data.state]}.{' '}
            <Code>{data.webhookId}</Code>
          </Text>
          <Attempts delivery={data} />
          <Body text={data.body} />
          <ErrorAlert error={action.error} />
          <Group justify="flex-end">
            {data.state === 'pending' && (
              <Button variant="default" color="red" loading={action.isPending} onClick={() => action.mutate('discard')}>
                Discard
              </Button>
            )}
            <Button loading={action.isPending} onClick={() => action.mutate('redeliver')}>
              Redeliver
            </Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}

function Attempts({ delivery: { attemptLog } }: { readonly delivery: DeliveryWithBody }) {
  if (attemptLog.length === 0) return <Text size="sm">It has not been sent yet.</Text>;
  return (
    <>
      <Title order={3}>Attempts</Title>
      <DataTable
        label="Attempts"
        rows={attemptLog}
        rowKey={(_, index) => index}
        minWidth={480}
        columns={[
          { title: 'Time', isRowHeader: true, cell: ({ at }) => <DateTime instant={at} /> },
          { title: 'Answer', cell: ({ status, error }) => describeOutcome(status, error) },
          { title: 'Duration', isNumeric: true, cell: ({ durationMs }) => `${durationMs} ms` },
          {
            title: 'Body of the answer',
            cell: ({ responseBody }) => (
              <Text size="xs" ff="monospace" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
                {responseBody}
              </Text>
            ),
          },
        ]}
      />
    </>
  );
}

function Body({ text }: { readonly text: string | null }) {
  if (text === null) return <Text size="sm">Its body is gone with its changes.</Text>;
  return (
    <>
      <Title order={3}>Body</Title>
      <ScrollArea.Autosize mah="40vh" viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': 'Body' }}>
        <Code block dir="ltr" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {text}
        </Code>
      </ScrollArea.Autosize>
    </>
  );
}
