// API keys: who has one, what it may do, when it was used; made, changed and revoked.
import { Badge, Button, Group, Table, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import classes from '../../access/access.module.css';
import { AccessLayout } from '../../access/access-layout.tsx';
import { Confirm } from '../../access/confirm.tsx';
import { type ApiKey, apiKeysQuery, entitiesText, isExpired, revokeWords } from '../../access/credentials.ts';
import { SecretDialog } from '../../access/secret-dialog.tsx';
import { request } from '../../api/request.ts';
import { adminPath, type WorkspaceRef } from '../../api/workspace.ts';
import { DateTime, formatDateTime } from '../../shell/datetime.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { announce } from '../../shell/live-region.tsx';
import { useSearchableList } from '../../shell/pagination.tsx';
import { useTimeZone } from '../../shell/time-zone.tsx';
import { KeyDialog } from './key-dialog.tsx';

type Dialog =
  | { readonly kind: 'none' }
  | { readonly kind: 'new' }
  | { readonly kind: 'made'; readonly secret: string }
  | { readonly kind: 'change' | 'revoke'; readonly key: ApiKey };

export function Screen() {
  const [dialog, setDialog] = useState<Dialog>({ kind: 'none' });
  return (
    <AccessLayout
      title="API keys"
      noun="api-keys"
      actions={<Button onClick={() => setDialog({ kind: 'new' })}>New key</Button>}
    >
      {(place) => (
        <>
          <Keys place={place} onOpen={setDialog} />
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
  const zone = useTimeZone();
  const close = (): void => onOpen({ kind: 'none' });
  const reload = () => queries.invalidateQueries({ queryKey: apiKeysQuery(place).queryKey });
  switch (dialog.kind) {
    case 'none':
      return null;
    case 'made':
      return <SecretDialog title="New key" label="Key" secret={dialog.secret} onStored={close} />;
    case 'new':
    case 'change':
      return (
        <KeyDialog
          place={place}
          before={dialog.kind === 'change' ? dialog.key : undefined}
          onClose={close}
          onSaved={(secret) => {
            void reload();
            announce(dialog.kind === 'new' ? 'Key created' : 'Key changed');
            onOpen(secret === undefined ? { kind: 'none' } : { kind: 'made', secret });
          }}
        />
      );
    case 'revoke': {
      const { key } = dialog;
      return (
        <Confirm
          title={
            <>
              Revoke <bdi className={classes.name}>{key.name}</bdi>?
            </>
          }
          words={revokeWords(key, Date.now(), key.lastUsedAt === null ? '' : formatDateTime(key.lastUsedAt, zone))}
          action="Revoke"
          onClose={close}
          onConfirmed={async () => {
            await request({ method: 'DELETE', path: adminPath(place, `/api-keys/${key.id}`) });
            announce('Key revoked');
            await reload();
          }}
        />
      );
    }
    default:
      return dialog satisfies never;
  }
}

function Keys({ place, onOpen }: { readonly place: WorkspaceRef; readonly onOpen: (dialog: Dialog) => void }) {
  const keys = useQuery(apiKeysQuery(place));
  const { page, searchField, pageLinks } = useSearchableList(keys.data ?? [], ({ name }) => name);
  if (keys.data?.length === 0) return <Text size="sm">No keys yet. Programs need one to read and write records.</Text>;
  return (
    <>
      <ErrorAlert error={keys.error} onRetry={() => void keys.refetch()} />
      {searchField}
      <Table.ScrollContainer minWidth={800} type="native">
        <Table aria-label="API keys" verticalSpacing={4} aria-busy={keys.isPending}>
          <Table.Thead>
            <Table.Tr>
              {['Name', 'Begins with', 'Permissions', 'Entities', 'Made', 'Last used', 'Expires'].map((title) => (
                <Table.Th key={title}>{title}</Table.Th>
              ))}
              <Table.Th aria-label="Actions" />
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {page.map((key) => (
              <KeyRow key={key.id} apiKey={key} onOpen={onOpen} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {pageLinks}
    </>
  );
}

function KeyRow({ apiKey, onOpen }: { readonly apiKey: ApiKey; readonly onOpen: (dialog: Dialog) => void }) {
  const { name, prefix, permissions, entities, createdAt, createdBy, lastUsedAt, expiresAt } = apiKey;
  return (
    <Table.Tr>
      <Table.Th scope="row" fw={400} className={classes.name ?? ''}>
        <bdi>{name}</bdi>
      </Table.Th>
      <Table.Td ff="monospace">{prefix}…</Table.Td>
      <Table.Td>{permissions}</Table.Td>
      <Table.Td title={entities?.join(', ')}>{entitiesText(entities)}</Table.Td>
      <Table.Td>
        <DateTime instant={createdAt} />
        {createdBy != null && (
          <Text size="xs" c="dimmed">
            by <bdi>{createdBy.name}</bdi>
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <DateTime instant={lastUsedAt} none="never" />
      </Table.Td>
      <Table.Td>
        {isExpired(apiKey, Date.now()) ? (
          <Badge color="gray">Expired</Badge>
        ) : (
          <DateTime instant={expiresAt} none="never" />
        )}
      </Table.Td>
      <Table.Td>
        <Group gap={4} wrap="nowrap" justify="flex-end">
          <Button
            variant="subtle"
            size="compact-xs"
            onClick={() => onOpen({ kind: 'change', key: apiKey })}
            aria-label={`Change ${name}`}
          >
            Change
          </Button>
          <Button
            variant="subtle"
            color="red"
            size="compact-xs"
            onClick={() => onOpen({ kind: 'revoke', key: apiKey })}
            aria-label={`Revoke ${name}`}
          >
            Revoke
          </Button>
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}
