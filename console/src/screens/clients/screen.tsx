// OAuth clients: programs that exchange an id and a secret for short-lived tokens.
import { Button, Group, Modal, Stack, Table, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import classes from '../../access/access.module.css';
import { AccessLayout } from '../../access/access-layout.tsx';
import { Confirm } from '../../access/confirm.tsx';
import { CopyableCode } from '../../access/copyable-code.tsx';
import {
  deleteClientWords,
  entitiesText,
  type Grant,
  type OAuthClient,
  oauthClientsQuery,
  tokenCurl,
} from '../../access/credentials.ts';
import { GrantFields, NameField } from '../../access/grant-fields.tsx';
import { SecretDialog } from '../../access/secret-dialog.tsx';
import { request } from '../../api/request.ts';
import { schemaQuery } from '../../api/schema.ts';
import { adminPath, type WorkspaceRef } from '../../api/workspace.ts';
import { DateTime } from '../../shell/datetime.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { announce } from '../../shell/live-region.tsx';
import { useSearchableList } from '../../shell/pagination.tsx';

interface Made extends OAuthClient {
  readonly clientSecret: string;
}

type Dialog =
  | { readonly kind: 'none' }
  | { readonly kind: 'new' }
  | { readonly kind: 'made'; readonly client: Made }
  | { readonly kind: 'token' | 'delete'; readonly client: OAuthClient };

export function Screen() {
  const [dialog, setDialog] = useState<Dialog>({ kind: 'none' });
  return (
    <AccessLayout
      title="OAuth clients"
      noun="oauth-clients"
      actions={<Button onClick={() => setDialog({ kind: 'new' })}>New client</Button>}
    >
      {(place) => (
        <>
          <Clients place={place} onOpen={setDialog} />
          <Opened place={place} dialog={dialog} onOpen={setDialog} />
        </>
      )}
    </AccessLayout>
  );
}

interface OpenedProps {
  readonly place: WorkspaceRef;
  readonly dialog: Dialog;
  readonly onOpen: (dialog: Dialog) => void;
}

function Opened({ place, dialog, onOpen }: OpenedProps) {
  const queries = useQueryClient();
  const close = (): void => onOpen({ kind: 'none' });
  const reload = () => queries.invalidateQueries({ queryKey: oauthClientsQuery(place).queryKey });
  switch (dialog.kind) {
    case 'none':
      return null;
    case 'new':
      return (
        <NewClient
          place={place}
          onClose={close}
          onMade={(client) => {
            void reload();
            announce('Client created');
            onOpen({ kind: 'made', client });
          }}
        />
      );
    case 'made':
      return (
        <SecretDialog title="New client" label="Client secret" secret={dialog.client.clientSecret} onStored={close}>
          <TokenCurl place={place} client={dialog.client} />
        </SecretDialog>
      );
    case 'token':
      return (
        <Modal
          opened
          onClose={close}
          title={
            <>
              A token for <bdi className={classes.name}>{dialog.client.name}</bdi>
            </>
          }
          size="lg"
          closeButtonProps={{ 'aria-label': 'Close' }}
        >
          <TokenCurl place={place} client={dialog.client} />
        </Modal>
      );
    case 'delete':
      return (
        <Confirm
          title={
            <>
              Delete <bdi className={classes.name}>{dialog.client.name}</bdi>?
            </>
          }
          words={deleteClientWords(dialog.client)}
          action="Delete"
          onClose={close}
          onConfirmed={async () => {
            await request({
              method: 'DELETE',
              path: adminPath(place, `/oauth-clients/${encodeURIComponent(dialog.client.id)}`),
            });
            announce('Client deleted');
            await reload();
          }}
        />
      );
    default:
      return dialog satisfies never;
  }
}

function TokenCurl({ place, client }: { readonly place: WorkspaceRef; readonly client: OAuthClient }) {
  const schema = useQuery(schemaQuery(place));
  const entity = client.entities === null ? [...(schema.data?.entities.keys() ?? [])][0] : client.entities[0];
  return <CopyableCode label="Commands" text={tokenCurl(location.origin, place, client.clientId, entity)} />;
}

interface NewClientProps {
  readonly place: WorkspaceRef;
  readonly onClose: () => void;
  readonly onMade: (client: Made) => void;
}

function NewClient({ place, onClose, onMade }: NewClientProps) {
  const [name, setName] = useState('');
  const [grant, setGrant] = useState<Grant>({ permissions: 'READ_ONLY', entities: null });
  const making = useMutation({
    mutationFn: async () =>
      (await request<Made>({ method: 'POST', path: adminPath(place, '/oauth-clients'), body: { name, ...grant } }))
        .data,
    onSuccess: onMade,
  });
  return (
    <Modal opened onClose={onClose} title="New client" closeButtonProps={{ 'aria-label': 'Close' }}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          making.mutate();
        }}
      >
        <Stack gap="sm">
          <NameField value={name} onChange={setName} error={making.error} />
          <GrantFields place={place} value={grant} onChange={setGrant} error={making.error} />
          <ErrorAlert error={making.error} />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={making.isPending}>
              Create
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

function Clients({ place, onOpen }: { readonly place: WorkspaceRef; readonly onOpen: (dialog: Dialog) => void }) {
  const clients = useQuery(oauthClientsQuery(place));
  const { page, searchField, pageLinks } = useSearchableList(clients.data ?? [], ({ name }) => name);
  if (clients.data?.length === 0)
    return <Text size="sm">No clients yet. Create one for programs that use short-lived tokens instead of a key.</Text>;
  return (
    <>
      <ErrorAlert error={clients.error} onRetry={() => void clients.refetch()} />
      {searchField}
      <Table.ScrollContainer minWidth={720} type="native">
        <Table aria-label="OAuth clients" verticalSpacing={4} aria-busy={clients.isPending}>
          <Table.Thead>
            <Table.Tr>
              {['Name', 'Client id', 'Permissions', 'Entities', 'Made'].map((title) => (
                <Table.Th key={title}>{title}</Table.Th>
              ))}
              <Table.Th aria-label="Actions" />
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {page.map((client) => (
              <Table.Tr key={client.id}>
                <Table.Th scope="row" fw={400} className={classes.name ?? ''}>
                  <bdi>{client.name}</bdi>
                </Table.Th>
                <Table.Td ff="monospace">{client.clientId}</Table.Td>
                <Table.Td>{client.permissions}</Table.Td>
                <Table.Td title={client.entities?.join(', ')}>{entitiesText(client.entities)}</Table.Td>
                <Table.Td>
                  <DateTime instant={client.createdAt} />
                </Table.Td>
                <Table.Td>
                  <Group gap={4} wrap="nowrap" justify="flex-end">
                    <Button
                      variant="subtle"
                      size="compact-xs"
                      onClick={() => onOpen({ kind: 'token', client })}
                      aria-label={`Get a token for ${client.name}`}
                    >
                      Get a token
                    </Button>
                    <Button
                      variant="subtle"
                      color="red"
                      size="compact-xs"
                      onClick={() => onOpen({ kind: 'delete', client })}
                      aria-label={`Delete ${client.name}`}
                    >
                      Delete
                    </Button>
                  </Group>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {pageLinks}
    </>
  );
}
