// List of API keys: their owners, permissions and last use.
import { Badge, Text } from '@mantine/core';
import classes from '../../access/access.module.css';
import {
  apiKeysQuery,
  describeRevocation,
  formatEntities,
  formatPermissions,
  isExpired,
} from '../../access/credentials.ts';
import type { ApiKey, ApiKeyCreated } from '../../api/types.ts';
import type { TableColumn } from '../../shell/data-table.tsx';
import { DateTime, formatDateTime } from '../../shell/datetime.tsx';
import { announce } from '../../shell/live-region.tsx';
import { useTimeZone } from '../../shell/time-zone.tsx';
import { CredentialForm } from './credential-form.tsx';
import { Credentials } from './credentials.tsx';

const COLUMNS: readonly TableColumn<ApiKey>[] = [
  { title: 'Prefix', cell: ({ prefix }) => <Text span size="sm" ff="monospace">{`${prefix}…`}</Text> },
  { title: 'Permissions', cell: (credential) => <bdi>{formatPermissions(credential)}</bdi>, className: classes.value },
  {
    title: 'Entities',
    cell: (credential) => <span title={credential.entities?.join(', ')}>{formatEntities(credential)}</span>,
  },
  {
    title: 'Created',
    cell: ({ createdAt, createdBy }) => (
      <>
        <DateTime instant={createdAt} />
        {createdBy !== null && (
          <Text size="xs" c="dimmed">
            by <bdi>{createdBy.name}</bdi>
          </Text>
        )}
      </>
    ),
  },
  { title: 'Last used', cell: ({ lastUsedAt }) => <DateTime instant={lastUsedAt} none="never" /> },
  {
    title: 'Expires',
    cell: (key) =>
      isExpired(key, Date.now()) ? (
        <Badge color="gray">Expired</Badge>
      ) : (
        <DateTime instant={key.expiresAt} none="never" />
      ),
  },
];

export function Screen() {
  const zone = useTimeZone();
  return (
    <Credentials<ApiKey>
      title="API keys"
      noun="api-keys"
      singular="API key"
      query={apiKeysQuery}
      emptyText="No API keys yet. Programs need one to read and write records."
      columns={COLUMNS}
      minWidth={800}
      hasExpiry
      secretLabel="Key"
      getSecret={(created) => (created as ApiKeyCreated).key}
      detailsLabel="Change"
      details={(workspace, key, close, reload) => (
        <CredentialForm
          workspace={workspace}
          noun="api-keys"
          title="Change key"
          hasExpiry
          before={key}
          onClose={close}
          onSaved={() => {
            reload();
            announce('Key changed');
            close();
          }}
        />
      )}
      deleteLabel="Revoke"
      deletedText="Key revoked"
      deleteConsequences={(key) =>
        describeRevocation(key, Date.now(), key.lastUsedAt === null ? '' : formatDateTime(key.lastUsedAt, zone))
      }
    />
  );
}
