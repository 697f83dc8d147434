// Shared parts of the screens for API keys and OAuth clients: the list, and the dialogs to create and delete one.
import { Button, Group, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import classes from '../../access/access.module.css';
import { AccessLayout, type AccessLayoutProps } from '../../access/access-layout.tsx';
import type { credentialQuery } from '../../access/credentials.ts';
import { SecretDialog } from '../../access/secret-dialog.tsx';
import { request } from '../../api/request.ts';
import type { ApiKey } from '../../api/types.ts';
import { adminPath, type WorkspaceRef } from '../../api/workspace.ts';
import { DataTable, type TableColumn } from '../../shell/data-table.tsx';
import { ConfirmDialog } from '../../shell/dialogs.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { announce } from '../../shell/live-region.tsx';
import { useSearchableList } from '../../shell/pagination.tsx';
import { CredentialForm } from './credential-form.tsx';

/** Fields that keys and clients share. */
type Credential = Pick<ApiKey, 'name' | 'permissions' | 'entities'> & { readonly id: string | number };

type Dialog<C> =
  | { readonly kind: 'new' }
  | { readonly kind: 'secret'; readonly credential: C; readonly secret: string }
  | { readonly kind: 'details' | 'delete'; readonly credential: C };

export interface CredentialsProps<C extends Credential> {
  readonly title: AccessLayoutProps['title'];
  readonly noun: 'api-keys' | 'oauth-clients';
  /** Type of credential: `API key` or `OAuth client`. */
  readonly singular: string;
  readonly query: (workspace: WorkspaceRef) => ReturnType<typeof credentialQuery<C>>;
  readonly emptyText: string;
  readonly columns: readonly TableColumn<C>[];
  readonly minWidth: number;
  readonly hasExpiry: boolean;
  readonly secretLabel: string;
  readonly getSecret: (created: C) => string;
  /** Example of use below the secret of a new credential. */
  readonly usage?: (workspace: WorkspaceRef, credential: C) => ReactNode;
  /** Label of a row's button, which opens the details. */
  readonly detailsLabel: string;
  readonly details: (workspace: WorkspaceRef, credential: C, close: () => void, reload: () => void) => ReactNode;
  readonly deleteLabel: string;
  readonly deletedText: string;
  readonly deleteConsequences: (credential: C) => readonly string[];
}

export function Credentials<C extends Credential>(props: CredentialsProps<C>) {
  const { title, noun, singular, query, getSecret, secretLabel, deleteLabel } = props;
  const [dialog, setDialog] = useState<Dialog<C>>();
  const queries = useQueryClient();
  const close = (): void => setDialog(undefined);
  const openDialog = (workspace: WorkspaceRef): ReactNode => {
    const reload = () => queries.invalidateQueries({ queryKey: query(workspace).queryKey });
    switch (dialog?.kind) {
      case undefined:
        return null;
      case 'new':
        return (
          <CredentialForm<C>
            workspace={workspace}
            noun={noun}
            title={`Create ${singular}`}
            hasExpiry={props.hasExpiry}
            onClose={close}
            onSaved={(credential) => {
              void reload();
              announce(`${singular} created`);
              setDialog({ kind: 'secret', credential, secret: getSecret(credential) });
            }}
          />
        );
      case 'secret':
        return (
          <SecretDialog title={`${singular} created`} label={secretLabel} secret={dialog.secret} onStored={close}>
            {props.usage?.(workspace, dialog.credential)}
          </SecretDialog>
        );
      case 'details':
        return props.details(workspace, dialog.credential, close, () => void reload());
      case 'delete':
        return (
          <ConfirmDialog
            title={
              <>
                {deleteLabel} <bdi className={classes.name}>{dialog.credential.name}</bdi>?
              </>
            }
            consequences={props.deleteConsequences(dialog.credential)}
            action={deleteLabel}
            onClose={close}
            onSubmit={async () => {
              const { id } = dialog.credential;
              await request({
                method: 'DELETE',
                path: adminPath(workspace, `/${noun}/${encodeURIComponent(id)}`),
              });
              announce(props.deletedText);
              await reload();
              close();
            }}
          />
        );
      default:
        return dialog satisfies never;
    }
  };
  return (
    <AccessLayout
      title={title}
      noun={noun}
      actions={<Button onClick={() => setDialog({ kind: 'new' })}>Create {singular}</Button>}
    >
      {(workspace) => (
        <>
          <CredentialList workspace={workspace} {...props} onOpen={setDialog} />
          {openDialog(workspace)}
        </>
      )}
    </AccessLayout>
  );
}

interface CredentialListProps<C extends Credential> extends CredentialsProps<C> {
  readonly workspace: WorkspaceRef;
  readonly onOpen: (dialog: Dialog<C>) => void;
}

function CredentialList<C extends Credential>(props: CredentialListProps<C>) {
  const { workspace, query, columns, emptyText, detailsLabel, deleteLabel, onOpen } = props;
  const { data, error, isPending, refetch } = useQuery(query(workspace));
  const { page, searchField, pageLinks } = useSearchableList(data ?? [], ({ name }) => name);
  if (data?.length === 0) return <Text size="sm">{emptyText}</Text>;
  const button = (label: string, kind: 'details' | 'delete', credential: C) => (
    <Button
      variant="subtle"
      size="compact-xs"
      {...(kind === 'delete' && { color: 'red' })}
      onClick={() => onOpen({ kind, credential })}
      aria-label={`${label}${label.includes(' ') ? ' for' : ''} ${credential.name}`}
    >
      {label}
    </Button>
  );
  return (
    <>
      <ErrorAlert error={error} onRetry={() => void refetch()} />
      {searchField}
      <DataTable
        label={props.title}
        rows={page}
        rowKey={({ id }) => id}
        minWidth={props.minWidth}
        isBusy={isPending}
        columns={[
          { title: 'Name', cell: ({ name }) => <bdi>{name}</bdi>, isRowHeader: true, className: classes.name },
          ...columns,
          {
            title: '',
            cell: (credential) => (
              <Group gap={4} wrap="nowrap" justify="flex-end">
                {button(detailsLabel, 'details', credential)}
                {button(deleteLabel, 'delete', credential)}
              </Group>
            ),
          },
        ]}
      />
      {pageLinks}
    </>
  );
}
