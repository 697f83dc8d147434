// A new key: who uses it, what it may do, and until when.
import { Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { Grant } from '../../access/credentials.ts';
import { GrantFields, mistakeAt, NameField } from '../../access/grant.tsx';
import { ask } from '../../api/ask.ts';
import { adminPath, type Place } from '../../api/workspace.ts';
import { momentOf } from '../../records/instant.ts';
import { Refused } from '../../shell/refused.tsx';
import { useZone } from '../../shell/zone.tsx';

export interface KeyDialogProps {
  readonly place: Place;
  readonly onClose: () => void;
  /** With its secret. */
  readonly onSaved: (secret: string) => void;
}

export function KeyDialog({ place, onClose, onSaved }: KeyDialogProps) {
  const zone = useZone();
  const [name, setName] = useState('');
  const [grant, setGrant] = useState<Grant>({ permissions: 'READ_ONLY', entities: null });
  const [expires, setExpires] = useState('');
  const saving = useMutation({
    mutationFn: async () => {
      const expiresAt = expires === '' ? null : (momentOf(expires, zone) ?? expires);
      const body = { name, ...grant, expiresAt };
      return (await ask<{ key: string }>({ method: 'POST', path: adminPath(place, '/api-keys'), body })).data.key;
    },
    onSuccess: onSaved,
  });
  return (
    <Modal opened onClose={onClose} title="New key" closeButtonProps={{ 'aria-label': 'Close' }}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          saving.mutate();
        }}
      >
        <Stack gap="sm">
          <NameField value={name} onChange={setName} error={saving.error} />
          <GrantFields place={place} value={grant} onChange={setGrant} error={saving.error} />
          <TextInput
            type="datetime-local"
            label={`Expires (${zone === 'UTC' ? 'UTC' : 'local time'})`}
            description="Empty: it works until it is revoked"
            value={expires}
            onChange={(event) => setExpires(event.currentTarget.value)}
            error={mistakeAt(saving.error, 'expiresAt')}
          />
          <Refused error={saving.error} />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={saving.isPending}>
              Create
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
