// List of OAuth clients: programs that exchange an ID and a secret for short-lived tokens.
import { Modal, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import classes from '../../access/access.module.css';
import { CopyableCode } from '../../access/copyable-code.tsx';
import {
  describeClientDeletion,
  formatEntities,
  formatPermissions,
  oauthClientsQuery,
  printTokenCommands,
} from '../../access/credentials.ts';
import { schemaQuery } from '../../api/schema.ts';
import type { OAuthClient, OAuthClientCreated } from '../../api/types.ts';
import type { WorkspaceRef } from '../../api/workspace.ts';
import type { TableColumn } from '../../shell/data-table.tsx';
import { DateTime } from '../../shell/datetime.tsx';
import { Credentials } from './credentials.tsx';

const COLUMNS: readonly TableColumn<OAuthClient>[] = [
  {
    title: 'Client ID',
    cell: ({ clientId }) => (
      <Text span size="sm" ff="monospace">
        {clientId}
      </Text>
    ),
  },
  { title: 'Permissions', cell: (credential) => <bdi>{formatPermissions(credential)}</bdi>, className: classes.value },
  {
    title: 'Entities',
    cell: (credential) => <span title={credential.entities?.join(', ')}>{formatEntities(credential)}</span>,
  },
  { title: 'Created', cell: ({ createdAt }) => <DateTime instant={createdAt} /> },
];

export function Screen() {
  return (
    <Credentials<OAuthClient>
      title="OAuth clients"
      noun="oauth-clients"
      singular="OAuth client"
      query={oauthClientsQuery}
      emptyText="No clients yet. Create one for programs that use short-lived tokens instead of a key."
      columns={COLUMNS}
      minWidth={720}
      hasExpiry={false}
      secretLabel="Client secret"
      getSecret={(created) => (created as OAuthClientCreated).clientSecret}
      usage={(workspace, client) => <TokenCommands workspace={workspace} client={client} />}
      detailsLabel="Get a token"
      details={(workspace, client, close) => (
        <Modal
          opened
          onClose={close}
          title={
            <>
              A token for <bdi className={classes.name}>{client.name}</bdi>
            </>
          }
          size="lg"
        >
          <TokenCommands workspace={workspace} client={client} />
        </Modal>
      )}
      deleteLabel="Delete"
      deletedText="Client deleted"
      deleteConsequences={describeClientDeletion}
    />
  );
}

function TokenCommands({ workspace, client }: { readonly workspace: WorkspaceRef; readonly client: OAuthClient }) {
  const schema = useQuery(schemaQuery(workspace));
  const entity = client.entities === null ? schema.data?.entities.keys().next().value : client.entities[0];
  return (
    <CopyableCode label="Commands" text={printTokenCommands(location.origin, workspace, client.clientId, entity)} />
  );
}
