// The keys that sign our own tokens: rotated, or revoked when somebody has seen one.
import { Button, Code, Group, Table, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { request } from '../../api/request.ts';
import { ConfirmByName } from '../../shell/confirm-by-name.tsx';
import { DateTime } from '../../shell/datetime.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { announce } from '../../shell/live-region.tsx';

interface SigningKey {
  readonly kid: string;
  readonly state: 'signing' | 'verifying';
  readonly createdAt: string;
  readonly expiresAt: string | null;
}

export function SigningKeys() {
  const client = useQueryClient();
  const [isRevoking, setRevoking] = useState(false);
  const [error, setError] = useState<unknown>();
  const keys = useQuery({
    queryKey: ['signing-keys'],
    queryFn: async ({ signal }) =>
      (await request<readonly SigningKey[]>({ path: '/admin/v1/signing-keys', signal })).data,
  });
  async function rotate(search: string): Promise<void> {
    await request({ method: 'POST', path: `/admin/v1/signing-keys/rotate${search}` });
    announce('Signing key rotated');
    await client.invalidateQueries({ queryKey: ['signing-keys'] });
  }
  return (
    <>
      <ErrorAlert error={error ?? keys.error} onRetry={() => void keys.refetch()} />
      <Table aria-label="Signing keys" verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Key</Table.Th>
            <Table.Th>State</Table.Th>
            <Table.Th>Made</Table.Th>
            <Table.Th>Ends</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {keys.data?.map(({ kid, state, createdAt, expiresAt }) => (
            <Table.Tr key={kid}>
              <Table.Td>
                <Code>{kid}</Code>
              </Table.Td>
              <Table.Td>{state}</Table.Td>
              <Table.Td>
                <DateTime instant={createdAt} />
              </Table.Td>
              <Table.Td>
                <DateTime instant={expiresAt} none="" />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Text size="sm" my="xs">
        Rotating creates a new key; tokens signed with the old one stay valid until they expire. Revoking invalidates
        all tokens at once.
      </Text>
      <Group>
        <Button variant="default" onClick={() => rotate('').catch(setError)}>
          Rotate
        </Button>
        <Button variant="default" onClick={() => setRevoking(true)}>
          Revoke
        </Button>
      </Group>
      <ConfirmByName
        title="Revoke the signing keys?"
        name="revoke"
        action="Revoke"
        isOpen={isRevoking}
        onClose={() => setRevoking(false)}
        onConfirmed={async () => {
          await rotate('?revoke=true');
          setRevoking(false);
        }}
      >
        All tokens that this server gave out end at once. Clients have to ask for new ones.
      </ConfirmByName>
    </>
  );
}
