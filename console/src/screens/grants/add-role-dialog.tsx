// Dialog that adds a role to the workspace.
import { TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { addRole } from '../../access/grants-api.ts';
import { fieldError } from '../../api/api-error.ts';
import { documentQuery } from '../../api/schema-document.ts';
import type { WorkspaceRef } from '../../api/workspace.ts';
import { FormDialog } from '../../shell/dialogs.tsx';
import { announce } from '../../shell/live-region.tsx';

export interface AddRoleDialogProps {
  readonly workspace: WorkspaceRef;
  readonly onClose: () => void;
  readonly onAdded: (role: string) => void;
}

export function AddRoleDialog({ workspace, onClose, onAdded }: AddRoleDialogProps) {
  const [name, setName] = useState('');
  const queries = useQueryClient();
  return (
    <FormDialog
      title="New role"
      action="Add"
      fields={['roles']}
      onClose={onClose}
      onSubmit={async () => {
        await addRole(workspace, name);
        await queries.invalidateQueries({ queryKey: documentQuery(workspace).queryKey });
        announce('Role added');
        onAdded(name);
      }}
    >
      {(error) => (
        <TextInput
          label="Name"
          description="As the tokens of the identity provider have it; upper and lower case are different"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={fieldError(error, 'roles')}
          required
          dir="auto"
          autoComplete="off"
          data-autofocus
        />
      )}
    </FormDialog>
  );
}
