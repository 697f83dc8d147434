// Members of an organization or a workspace: the list with a role that is changed in place, and the dialogs to add and remove one.
import { Button, Group, NativeSelect, SegmentedControl, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { fieldError } from '../api/api-error.ts';
import { request } from '../api/request.ts';
import { sessionQuery } from '../api/session.ts';
import type { Member } from '../api/types.ts';
import { DateTime } from '../shell/datetime.tsx';
import { ConfirmDialog, FormDialog } from '../shell/dialogs.tsx';
import { ErrorAlert } from '../shell/error-alert.tsx';
import { announce } from '../shell/live-region.tsx';
import { PagedTable } from '../shell/paged-table.tsx';
import { PAGE_SIZE, usePage } from '../shell/pagination.tsx';
import { findSignInProvider } from '../shell/sign-in-provider.ts';
import { membersQuery, nameMember, ROLES, type Role } from './members-api.ts';

export interface MembersProps {
  /** Path of the members in the admin API. */
  readonly path: string;
  readonly isAdding: boolean;
  readonly onClose: () => void;
}

export function Members({ path, isAdding, onClose }: MembersProps) {
  const [page] = usePage();
  const client = useQueryClient();
  const [removed, setRemoved] = useState<Member>();
  // The own role may have changed, too.
  const reload = () =>
    Promise.all([
      client.invalidateQueries({ queryKey: ['members', path] }),
      client.invalidateQueries({ queryKey: sessionQuery.queryKey }),
    ]);
  const change = useMutation({
    mutationFn: ({ id, role }: { readonly id: number; readonly role: string }) =>
      request({ method: 'PUT', path: `${path}/${id}`, body: { role } }),
    onSuccess: () => announce('Role changed'),
    onSettled: reload,
  });
  return (
    <>
      {findSignInProvider() === undefined && (
        <Text size="sm" c="dimmed" mb="sm">
          People cannot sign in yet: the server has no OpenID provider (WDA_CONSOLE_OIDC_ISSUER).
        </Text>
      )}
      <ErrorAlert error={change.error} />
      <PagedTable
        label="Members"
        query={useQuery(membersQuery(path, page, PAGE_SIZE))}
        empty="No members yet. Add people by their mail address; they are members after they have signed in with it."
        rowKey={({ id }) => id}
        minWidth={640}
        maxWidth={1000}
        columns={[
          { title: 'Member', isRowHeader: true, cell: (member) => <bdi>{nameMember(member)}</bdi> },
          {
            title: 'Role',
            cell: (member) => (
              <NativeSelect
                aria-label={`Role of ${nameMember(member)}`}
                size="xs"
                data={ROLES.map(({ value }) => value)}
                value={member.role}
                disabled={change.isPending}
                onChange={(event) => change.mutate({ id: member.id, role: event.currentTarget.value })}
              />
            ),
          },
          {
            title: 'Name',
            cell: ({ person, claim }) =>
              person !== null ? <bdi>{person.name}</bdi> : claim === null ? 'Invited' : 'All with this claim',
          },
          {
            title: 'Last sign-in',
            cell: ({ person }) => (person === null ? 'never' : <DateTime instant={person.lastSignInAt} />),
          },
          {
            title: '',
            cell: (member) => (
              <Button variant="default" size="compact-xs" onClick={() => setRemoved(member)}>
                Remove
              </Button>
            ),
          },
        ]}
      />
      {isAdding && <AddDialog path={path} onClose={onClose} onAdded={() => void reload()} />}
      {removed !== undefined && (
        <ConfirmDialog
          title={
            <>
              Remove <bdi>{nameMember(removed)}</bdi>?
            </>
          }
          consequences={['The next request is refused, and sessions without another membership end.']}
          action="Remove"
          onClose={() => setRemoved(undefined)}
          onSubmit={async () => {
            await request({ method: 'DELETE', path: `${path}/${removed.id}` });
            announce('Member removed');
            setRemoved(undefined);
            await reload();
          }}
        />
      )}
    </>
  );
}

interface AddDialogProps {
  readonly path: string;
  readonly onClose: () => void;
  readonly onAdded: () => void;
}

function AddDialog({ path, onClose, onAdded }: AddDialogProps) {
  const [by, setBy] = useState<'email' | 'claim'>('email');
  const [value, setValue] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  return (
    <FormDialog
      title="Add member"
      action="Add"
      fields={[by]}
      onClose={onClose}
      onSubmit={async () => {
        await request({ method: 'POST', path, body: { [by]: value.trim(), role } });
        announce('Member added');
        onAdded();
        onClose();
      }}
    >
      {(error) => (
        <>
          <Group>
            <SegmentedControl
              aria-label="Chosen by"
              value={by}
              onChange={(next) => setBy(next as typeof by)}
              data={[
                { value: 'email', label: 'Mail address' },
                { value: 'claim', label: 'Claim' },
              ]}
            />
          </Group>
          <TextInput
            label={by === 'email' ? 'Mail address' : 'Value of the claim for roles'}
            description={
              by === 'email'
                ? 'The first person who signs in with it, verified by the provider, is the member. No mail is sent.'
                : 'All people whose claim has this value are members.'
            }
            value={value}
            onChange={(event) => setValue(event.currentTarget.value)}
            error={fieldError(error, by)}
            autoComplete="off"
            spellCheck={false}
            required
            data-autofocus
          />
          <NativeSelect
            label="Role"
            data={[...ROLES]}
            value={role}
            onChange={(event) => setRole(event.currentTarget.value as Role)}
          />
        </>
      )}
    </FormDialog>
  );
}
