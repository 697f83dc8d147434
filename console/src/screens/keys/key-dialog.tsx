// A new key, or another name and end for one that exists: what it may do stays as it was made.
import { Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { ApiKey, Grant } from '../../access/credentials.ts';
import { fieldError, GrantFields, NameField } from '../../access/grant-fields.tsx';
import { request } from '../../api/request.ts';
import { adminPath, type WorkspaceRef } from '../../api/workspace.ts';
import { formatLocal, parseDateTime, type TimeZone } from '../../format/datetime.ts';
import { CopyAs } from '../../shell/copy-as.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { useTimeZone } from '../../shell/time-zone.tsx';
import { createAdminCall } from '../../snippets/admin.ts';

/** A moment for a field of type datetime-local: to the minute. */
const fieldText = (instant: string, zone: TimeZone): string =>
  formatLocal(instant, zone).slice(0, 16).replace(' ', 'T');

export interface KeyDialogProps {
  readonly place: WorkspaceRef;
  readonly before: ApiKey | undefined;
  readonly onClose: () => void;
  /** With the secret of a new key. */
  readonly onSaved: (secret: string | undefined) => void;
}

export function KeyDialog({ place, before, onClose, onSaved }: KeyDialogProps) {
  const zone = useTimeZone();
  const [name, setName] = useState(before?.name ?? '');
  const [grant, setGrant] = useState<Grant>({ permissions: 'READ_ONLY', entities: null });
  const [expires, setExpires] = useState(before?.expiresAt == null ? '' : fieldText(before.expiresAt, zone));
  function createBody() {
    const expiresAt = expires === '' ? null : (parseDateTime(expires, zone) ?? expires);
    if (before === undefined)
      return { method: 'POST', rest: '/api-keys', body: { name, ...grant, expiresAt } } as const;
    // What was not touched is not sent: a key that has expired keeps its end when it is renamed.
    const isTouched = expires !== (before.expiresAt === null ? '' : fieldText(before.expiresAt, zone));
    return {
      method: 'PUT',
      rest: `/api-keys/${before.id}`,
      body: { name, ...(isTouched ? { expiresAt } : {}) },
    } as const;
  }
  const saving = useMutation({
    mutationFn: async () => {
      const { method, rest, body } = createBody();
      const { data } = await request<{ key?: string }>({ method, path: adminPath(place, rest), body });
      return before === undefined ? data.key : undefined;
    },
    onSuccess: onSaved,
  });
  return (
    <Modal
      opened
      onClose={onClose}
      title={before === undefined ? 'New key' : 'Change key'}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          saving.mutate();
        }}
      >
        <Stack gap="sm">
          <NameField value={name} onChange={setName} error={saving.error} />
          {before === undefined && <GrantFields place={place} value={grant} onChange={setGrant} error={saving.error} />}
          <TextInput
            type="datetime-local"
            label={`Expires (${zone === 'UTC' ? 'UTC' : 'local time'})`}
            description="Leave empty to keep it valid until it is revoked"
            value={expires}
            onChange={(event) => setExpires(event.currentTarget.value)}
            error={fieldError(saving.error, 'expiresAt')}
          />
          <ErrorAlert error={saving.error} />
          <Group justify="flex-end">
            <CopyAs
              call={() => {
                const { method, rest, body } = createBody();
                return createAdminCall(
                  { origin: location.origin, ...place },
                  { method, rest, body: JSON.stringify(body) },
                );
              }}
            />
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={saving.isPending}>
              {before === undefined ? 'Create' : 'Save'}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
