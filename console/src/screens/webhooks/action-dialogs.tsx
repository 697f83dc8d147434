// Dialogs of a webhook: another secret, and from where it goes on.
import { NativeSelect, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { fieldError } from '../../api/api-error.ts';
import type { WorkspaceRef } from '../../api/workspace.ts';
import { parseDateTime } from '../../format/datetime.ts';
import { FormDialog } from '../../shell/dialogs.tsx';
import { announce } from '../../shell/live-region.tsx';
import { useTimeZone } from '../../shell/time-zone.tsx';
import { replayWebhook, rotateSecret, type WebhookReplay } from '../../webhooks/webhooks-api.ts';

interface DialogProps {
  readonly workspace: WorkspaceRef;
  readonly id: string;
  readonly onClose: () => void;
}

const HOURS = [
  { value: '0', label: 'at once: only the new secret signs' },
  { value: '1', label: '1 hour' },
  { value: '24', label: '24 hours' },
  { value: '168', label: '7 days' },
];

export function RotateDialog({
  workspace,
  id,
  onClose,
  onRotated,
}: DialogProps & { readonly onRotated: (secret: string) => void }) {
  const [hours, setHours] = useState('24');
  return (
    <FormDialog
      title="Rotate the secret"
      action="Rotate"
      fields={['keepHours']}
      onClose={onClose}
      onSubmit={async () => onRotated((await rotateSecret(workspace, id, Number(hours))).secret)}
    >
      {(error) => (
        <>
          <Text size="sm">
            Messages have a signature of both secrets until the former one ends. A secret from an earlier rotation ends
            now.
          </Text>
          <NativeSelect
            label="The former secret ends after"
            size="xs"
            data={HOURS}
            value={hours}
            onChange={(event) => setHours(event.currentTarget.value)}
            error={fieldError(error, 'keepHours')}
          />
        </>
      )}
    </FormDialog>
  );
}

const STARTS = [
  { value: 'since', label: 'A time' },
  { value: 'oldest', label: 'The oldest change that is kept' },
  { value: 'now', label: 'Now: skip what waits' },
  { value: 'failed', label: 'Only the failed messages again, the oldest first' },
] as const;

export function ReplayDialog({
  workspace,
  id,
  onClose,
  onDone,
}: DialogProps & { readonly onDone: () => Promise<void> }) {
  const zone = useTimeZone();
  const [start, setStart] = useState<(typeof STARTS)[number]['value']>('since');
  const [time, setTime] = useState('');
  const body = (): WebhookReplay =>
    start === 'failed'
      ? { failed: true }
      : start === 'since'
        ? { since: parseDateTime(time, zone) ?? time }
        : { from: start };
  return (
    <FormDialog
      title="Replay from"
      action="Replay"
      fields={['since']}
      onClose={onClose}
      onSubmit={async () => {
        await replayWebhook(workspace, id, body());
        announce('Replay started');
        await onDone();
        onClose();
      }}
    >
      {(error) => (
        <>
          <Text size="sm">
            The webhook goes on from there, and what it has sent since is sent again with the same ids. Receivers that
            remember ids ignore it.
          </Text>
          <NativeSelect
            label="From"
            size="xs"
            data={STARTS}
            value={start}
            onChange={(event) => setStart(event.currentTarget.value as typeof start)}
          />
          {start === 'since' && (
            <TextInput
              label={`Time (${zone === 'UTC' ? 'UTC' : 'local time'})`}
              placeholder="2026-01-31 12:00"
              value={time}
              onChange={(event) => setTime(event.currentTarget.value)}
              error={fieldError(error, 'since')}
              autoComplete="off"
            />
          )}
        </>
      )}
    </FormDialog>
  );
}
