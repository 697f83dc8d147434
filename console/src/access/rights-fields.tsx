// Inputs for the permissions of a new credential and the entities that it is limited to.
import { MultiSelect, Select, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { fieldError } from '../api/api-error.ts';
import { schemaQuery } from '../api/schema.ts';
import type { Permissions } from '../api/session.ts';
import type { WorkspaceRef } from '../api/workspace.ts';
import { GRANTS, type Grant } from './credentials.ts';

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

export function GrantFields(props: {
  readonly workspace: WorkspaceRef;
  readonly value: Grant;
  readonly onChange: (next: Grant) => void;
  readonly error: unknown;
}) {
  const { workspace, value, onChange, error } = props;
  const schema = useQuery(schemaQuery(workspace));
  const isOwner = value.permissions === 'OWNER';
  return (
    <>
      <Select
        label="Permissions"
        data={GRANTS}
        value={value.permissions}
        onChange={(next) =>
          next !== null &&
          onChange({ permissions: next as Permissions, entities: next === 'OWNER' ? null : value.entities })
        }
        allowDeselect={false}
        error={fieldError(error, 'permissions')}
      />
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
