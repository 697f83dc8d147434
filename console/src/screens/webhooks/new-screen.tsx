// Screen that creates a webhook, and shows its secret once.
import { Code, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { SecretDialog } from '../../access/secret-dialog.tsx';
import { screenPath } from '../../api/workspace.ts';
import { announce } from '../../shell/live-region.tsx';
import { ScreenFrame } from '../../shell/screen-frame.tsx';
import { useWorkspace } from '../../shell/use-address.ts';
import { createWebhook, webhooksQuery } from '../../webhooks/webhooks-api.ts';
import { SettingsForm } from './settings-form.tsx';

export function Screen() {
  const workspace = useWorkspace();
  const client = useQueryClient();
  const navigate = useNavigate();
  const [created, setCreated] = useState<{ readonly id: number; readonly secret: string }>();
  return (
    <ScreenFrame title="New webhook">
      <SettingsForm
        workspace={workspace}
        onSave={async (body) => {
          setCreated(await createWebhook(workspace, body));
          announce('Webhook created');
          await client.invalidateQueries({ queryKey: webhooksQuery(workspace).queryKey });
        }}
      />
      {created !== undefined && (
        <WebhookSecret
          secret={created.secret}
          onStored={() =>
            void navigate({
              to: screenPath(workspace, `/webhooks/${created.id}`),
              replace: true,
              ignoreBlocker: true,
            })
          }
        />
      )}
    </ScreenFrame>
  );
}

/** Dialog with the secret of a webhook, which its receiver verifies messages with. */
export const WebhookSecret = ({ secret, onStored }: { readonly secret: string; readonly onStored: () => void }) => (
  <SecretDialog
    title="Secret of the webhook"
    label="Secret"
    explanation="It is shown only once. Copy it to the receiver, which verifies the messages with it."
    secret={secret}
    onStored={onStored}
  >
    <Text size="sm">
      Receivers verify by <Code>verifyWebhook</Code> of the client package, or by any library for Standard Webhooks.
    </Text>
  </SecretDialog>
);
