// Keys that sign access tokens, with rotation, and revocation of a leaked one.
import { Button, Code, Group, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { request } from '../../api/request.ts';
import type { SigningKey } from '../../api/types.ts';
import { DataTable } from '../../shell/data-table.tsx';
import { DateTime } from '../../shell/datetime.tsx';
import { ConfirmByNameDialog } from '../../shell/dialogs.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { announce } from '../../shell/live-region.tsx';

const PATH = '/admin/v1/signing-keys';

export function SigningKeys() {
  const client = useQueryClient();
  const [isRevoking, setRevoking] = useState(false);
  const keys = useQuery({
    queryKey: ['signing-keys'],
    queryFn: async ({ signal }) => (await request<readonly SigningKey[]>({ path: PATH, signal })).data,
  });
  async function rotate(search: string): Promise<void> {
    await request({ method: 'POST', path: `${PATH}/rotate${search}` });
    announce('Signing key rotated');
    await client.invalidateQueries({ queryKey: ['signing-keys'] });
  }
  const rotation = useMutation({ mutationFn: () => rotate('') });
  return (
    <>
      <ErrorAlert error={rotation.error ?? keys.error} onRetry={() => void keys.refetch()} />
      <DataTable
        label="Signing keys"
        rows={keys.data ?? []}
        rowKey={({ kid }) => kid}
        columns={[
          { title: 'Key', cell: ({ kid }) => <Code>{kid}</Code> },
          { title: 'State', cell: ({ state }) => state },
          { title: 'Created', cell: ({ createdAt }) => <DateTime instant={createdAt} /> },
          { title: 'Expires', cell: ({ expiresAt }) => <DateTime instant={expiresAt} /> },
        ]}
      />
      <Text size="sm" my="xs">
        Rotating creates a new key; tokens signed with the old one stay valid until they expire. Revoking invalidates
        all tokens at once.
      </Text>
      <Group>
        <Button variant="default" onClick={() => rotation.mutate()}>
          Rotate
        </Button>
        <Button variant="default" onClick={() => setRevoking(true)}>
          Revoke
        </Button>
      </Group>
      <ConfirmByNameDialog
        title="Revoke the signing keys?"
        name="revoke"
        action="Revoke"
        isOpen={isRevoking}
        onClose={() => setRevoking(false)}
        onSubmit={async () => {
          await rotate('?revoke=true');
          setRevoking(false);
        }}
      >
        All tokens that this server issued become invalid at once. Clients have to request new ones.
      </ConfirmByNameDialog>
    </>
  );
}
