// Inputs for the permissions of a new credential and the entities that it is limited to.
import { MultiSelect, Select, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { fieldError } from '../api/api-error.ts';
import { schemaQuery } from '../api/schema.ts';
import { rolesQuery } from '../api/schema-document.ts';
import type { Permissions } from '../api/session.ts';
import type { WorkspaceRef } from '../api/workspace.ts';
import { PERMISSIONS, type Rights } from './credentials.ts';

export function NameField(props: {
  readonly value: string;
  readonly onChange: (next: string) => void;
  readonly error: unknown;
}) {
  return (
    <TextInput
      label="Name"
      description="Who or what uses it"
      value={props.value}
      onChange={(event) => props.onChange(event.currentTarget.value)}
      error={fieldError(props.error, 'name')}
      required
      dir="auto"
      autoComplete="off"
      data-autofocus
    />
  );
}

export function RightsFields(props: {
  readonly workspace: WorkspaceRef;
  readonly value: Rights;
  readonly onChange: (next: Rights) => void;
  readonly error: unknown;
}) {
  const { workspace, value, onChange, error } = props;
  const schema = useQuery(schemaQuery(workspace));
  const isOwner = value.permissions === 'OWNER';
  return (
    <>
      <Select
        label="Permissions"
        data={PERMISSIONS}
        value={value.permissions}
        onChange={(next) =>
          next !== null &&
          onChange({ ...value, permissions: next as Permissions, entities: next === 'OWNER' ? null : value.entities })
        }
        allowDeselect={false}
        error={fieldError(error, 'permissions')}
      />
      {value.permissions === 'GRANTS' && <GrantFields {...props} />}
      <MultiSelect
        label="Entities"
        description={
          isOwner
            ? 'Owners can access all entities'
            : 'Leave empty to allow all entities, including future ones. Other entities are hidden'
        }
        placeholder={value.entities === null ? 'All' : ''}
        data={[...(schema.data?.entities.keys() ?? [])]}
        value={[...(value.entities ?? [])]}
        onChange={(next) => onChange({ ...value, entities: next.length === 0 ? null : next })}
        disabled={isOwner}
        searchable
        limit={50}
        size="xs"
        error={fieldError(error, 'entities')}
      />
    </>
  );
}

function GrantFields({ workspace, value, onChange, error }: Parameters<typeof RightsFields>[0]) {
  const roles = useQuery(rolesQuery(workspace));
  return (
    <>
      <MultiSelect
        label="Roles"
        description={
          roles.data?.length === 0
            ? 'The workspace has no roles yet: add them under Access, Roles and grants'
            : 'Entities without grants do not exist for it'
        }
        data={[...(roles.data ?? [])]}
        value={[...value.roles]}
        onChange={(next) => onChange({ ...value, roles: next })}
        searchable
        limit={64}
        size="xs"
        error={fieldError(error, 'roles')}
      />
      <Textarea
        label="Claims"
        description="Values that row rules and grants compare, as JSON, such as {&quot;tenant&quot;: 7}"
        value={value.claims}
        onChange={(event) => onChange({ ...value, claims: event.currentTarget.value })}
        autosize
        minRows={2}
        maxRows={10}
        spellCheck={false}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        error={fieldError(error, 'claims')}
      />
    </>
  );
}
