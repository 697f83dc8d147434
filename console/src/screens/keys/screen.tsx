// API keys: who has one, what it may do, when it was used; made, changed and revoked.
import { Badge, Button, Group, Table, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import classes from '../../access/access.module.css';
import { AccessFrame } from '../../access/access-layout.tsx';
import { Confirm } from '../../access/confirm.tsx';
import { type ApiKey, apiKeysQuery, entitiesText, isExpired, revokeWords } from '../../access/credentials.ts';
import { SecretDialog } from '../../access/secret-dialog.tsx';
import { ask } from '../../api/request.ts';
import { adminPath, type Place } from '../../api/workspace.ts';
import { Instant, momentWords } from '../../shell/datetime.tsx';
import { Refused } from '../../shell/error-alert.tsx';
import { say } from '../../shell/live-region.tsx';
import { useFound } from '../../shell/pagination.tsx';
import { useZone } from '../../shell/time-zone.tsx';
import { KeyDialog } from './key-dialog.tsx';

type Dialog =
  | { readonly kind: 'none' }
  | { readonly kind: 'new' }
  | { readonly kind: 'made'; readonly secret: string }
  | { readonly kind: 'change' | 'revoke'; readonly key: ApiKey };

export function Screen() {
  const [dialog, setDialog] = useState<Dialog>({ kind: 'none' });
  return (
    <AccessFrame
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
    </AccessFrame>
  );
}

interface OpenedProps {
  readonly place: Place;
  readonly dialog: Dialog;
  readonly onOpen: (dialog: Dialog) => void;
}

function Opened({ place, dialog, onOpen }: OpenedProps) {
  const queries = useQueryClient();
  const zone = useZone();
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
            say(dialog.kind === 'new' ? 'Key created' : 'Key changed');
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
          words={revokeWords(key, Date.now(), key.lastUsedAt === null ? '' : momentWords(key.lastUsedAt, zone))}
          action="Revoke"
          onClose={close}
          onConfirmed={async () => {
            await ask({ method: 'DELETE', path: adminPath(place, `/api-keys/${key.id}`) });
            say('Key revoked');
            await reload();
          }}
        />
      );
    }
    default:
      return dialog satisfies never;
  }
}

function Keys({ place, onOpen }: { readonly place: Place; readonly onOpen: (dialog: Dialog) => void }) {
  const keys = useQuery(apiKeysQuery(place));
  const { shown, find, pages } = useFound(keys.data ?? [], ({ name }) => name);
  if (keys.data?.length === 0) return <Text size="sm">No keys yet. Programs need one to read and write records.</Text>;
  return (
    <>
      <Refused error={keys.error} onRetry={() => void keys.refetch()} />
      {find}
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
            {shown.map((key) => (
              <KeyRow key={key.id} apiKey={key} onOpen={onOpen} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {pages}
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
        <Instant instant={createdAt} />
        {createdBy != null && (
          <Text size="xs" c="dimmed">
            by <bdi>{createdBy.name}</bdi>
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Instant instant={lastUsedAt} none="never" />
      </Table.Td>
      <Table.Td>
        {isExpired(apiKey, Date.now()) ? (
          <Badge color="gray">Expired</Badge>
        ) : (
          <Instant instant={expiresAt} none="never" />
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
