// Screen of one webhook: its state, its messages, its settings, and what can be done with it.
import { Alert, Button, Group, Tabs, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { screenPath, type WorkspaceRef } from '../../api/workspace.ts';
import { CopyAs } from '../../shell/copy-as.tsx';
import { PropertyTable } from '../../shell/data-table.tsx';
import { DateTime } from '../../shell/datetime.tsx';
import { ConfirmDialog } from '../../shell/dialogs.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { announce } from '../../shell/live-region.tsx';
import { ScreenFrame } from '../../shell/screen-frame.tsx';
import { useAddress, useWorkspace } from '../../shell/use-address.ts';
import { createAdminCall } from '../../snippets/admin.ts';
import {
  deleteWebhook,
  testWebhook,
  updateWebhook,
  type Webhook,
  type WebhookTested,
  webhookQuery,
  webhooksQuery,
} from '../../webhooks/webhooks-api.ts';
import { describeDisabled, describeOutcome, describePending } from '../../webhooks/words.ts';
import { ReplayDialog, RotateDialog } from './action-dialogs.tsx';
import { Deliveries } from './deliveries.tsx';
import { WebhookSecret } from './new-screen.tsx';
import { SettingsForm } from './settings-form.tsx';
import { StateBadge } from './state-badge.tsx';

export function Screen() {
  const workspace = useWorkspace();
  const { id = '' } = useParams({ strict: false }) as { readonly id?: string };
  const { data, error, refetch } = useQuery(webhookQuery(workspace, id));
  if (data === undefined)
    return (
      <ScreenFrame title="Webhook">
        <ErrorAlert error={error} onRetry={() => void refetch()} />
      </ScreenFrame>
    );
  return <WebhookView key={id} workspace={workspace} webhook={data} />;
}

interface WebhookViewProps {
  readonly workspace: WorkspaceRef;
  readonly webhook: Webhook;
}

type Dialog = 'rotate' | 'replay' | 'delete' | { readonly secret: string };

function WebhookView({ workspace, webhook }: WebhookViewProps) {
  const id = String(webhook.id);
  const client = useQueryClient();
  const navigate = useNavigate();
  const { read, write } = useAddress();
  const [dialog, setDialog] = useState<Dialog>();
  const close = (): void => setDialog(undefined);
  const reload = (): Promise<void> => client.invalidateQueries({ queryKey: webhooksQuery(workspace).queryKey });
  const test = useMutation({ mutationFn: () => testWebhook(workspace, id), onSettled: reload });
  const enable = useMutation({
    mutationFn: async (enabled: boolean) => {
      await updateWebhook(workspace, id, { enabled });
      await reload();
      announce(enabled ? 'Webhook enabled' : 'Webhook disabled');
    },
  });
  const reason = describeDisabled(webhook);
  return (
    <ScreenFrame
      title={`Webhook ${webhook.name}`}
      actions={
        <>
          <CopyAs
            call={() =>
              createAdminCall(
                { origin: location.origin, ...workspace },
                { rest: `/webhooks/${id}`, wda: `webhook show ${id}` },
              )
            }
          />
          <Button variant="default" loading={test.isPending} onClick={() => test.mutate()}>
            Send test
          </Button>
          <Button variant="default" onClick={() => setDialog('replay')}>
            Replay from…
          </Button>
          <Button variant="default" onClick={() => setDialog('rotate')}>
            Rotate secret
          </Button>
          <Button variant="default" loading={enable.isPending} onClick={() => enable.mutate(!webhook.enabled)}>
            {webhook.enabled ? 'Disable' : 'Enable'}
          </Button>
          <Button variant="default" color="red" onClick={() => setDialog('delete')}>
            Delete
          </Button>
        </>
      }
    >
      {reason !== undefined && (
        <Alert color="yellow" variant="light" p="xs" mb="sm">
          {`Disabled. ${reason}`}
        </Alert>
      )}
      <ErrorAlert error={test.error ?? enable.error} />
      {test.data !== undefined && !test.isPending && <TestResult result={test.data} />}
      <Tabs
        value={read('tab') ?? 'messages'}
        onChange={(tab) => write({ tab: tab === 'messages' ? undefined : (tab ?? undefined) }, false)}
      >
        <Tabs.List mb="sm">
          <Tabs.Tab value="messages">Messages</Tabs.Tab>
          <Tabs.Tab value="settings">Settings</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="messages">
          <Status webhook={webhook} />
          <Deliveries workspace={workspace} id={id} />
        </Tabs.Panel>
        <Tabs.Panel value="settings">
          <SettingsForm
            workspace={workspace}
            webhook={webhook}
            onSave={async (body) => {
              await updateWebhook(workspace, id, body);
              await reload();
              announce('Webhook saved');
            }}
          />
        </Tabs.Panel>
      </Tabs>
      {dialog === 'rotate' && (
        <RotateDialog
          workspace={workspace}
          id={id}
          onClose={close}
          onRotated={(secret) => {
            setDialog({ secret });
            void reload();
          }}
        />
      )}
      {typeof dialog === 'object' && <WebhookSecret secret={dialog.secret} onStored={close} />}
      {dialog === 'replay' && <ReplayDialog workspace={workspace} id={id} onClose={close} onDone={reload} />}
      {dialog === 'delete' && (
        <ConfirmDialog
          title={`Delete webhook ${webhook.name}?`}
          action="Delete"
          consequences={[
            'Nothing more is sent; a message that is being sent may still arrive.',
            'Its messages are deleted, too.',
          ]}
          onClose={close}
          onSubmit={async () => {
            await deleteWebhook(workspace, id);
            announce('Webhook deleted');
            await navigate({ to: screenPath(workspace, '/webhooks'), ignoreBlocker: true });
            await reload();
          }}
        />
      )}
    </ScreenFrame>
  );
}

function TestResult({ result }: { readonly result: WebhookTested }) {
  const { delivered, status, error, durationMs, responseBody } = result;
  return (
    <Alert role="status" color={delivered ? 'green' : 'red'} variant="light" p="xs" mb="sm">
      <Text size="sm" fw={600}>
        {delivered ? 'The test was delivered' : 'The test was not delivered'}
      </Text>
      <Text size="sm">
        {describeOutcome(status, error)} after {durationMs} ms
      </Text>
      {responseBody !== null && responseBody !== '' && (
        <Text size="xs" ff="monospace" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {responseBody}
        </Text>
      )}
    </Alert>
  );
}

function Status({ webhook }: { readonly webhook: Webhook }) {
  const { state, pending, oldestPendingAt, lastAttemptAt, lastStatus, nextAttemptAt, previousSecretUntil, url } =
    webhook;
  return (
    <Group maw={720} mb="md">
      <PropertyTable
        label="State"
        rows={[
          ['URL', <bdi key="url">{url}</bdi>],
          ['State', <StateBadge key="state" state={state} />],
          [
            'Waiting',
            <>
              {describePending(pending)}
              {oldestPendingAt !== null && (
                <>
                  {' '}
                  since <DateTime instant={oldestPendingAt} />
                </>
              )}
            </>,
          ],
          [
            'Last attempt',
            <>
              <DateTime instant={lastAttemptAt} none="never" />
              {lastAttemptAt !== null && ` ${lastStatus ?? 'no answer'}`}
            </>,
          ],
          ...(nextAttemptAt === null
            ? []
            : [['Next attempt', <DateTime key="next" instant={nextAttemptAt} />] as const]),
          ...(previousSecretUntil === null
            ? []
            : [['Former secret signs until', <DateTime key="until" instant={previousSecretUntil} />] as const]),
        ]}
      />
    </Group>
  );
}
