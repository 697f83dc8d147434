// List of the shared schemas of an organization.
import { Anchor, Button, Textarea, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import classes from '../../access/access.module.css';
import { fieldError } from '../../api/api-error.ts';
import { organizationPath } from '../../api/organizations.ts';
import { request } from '../../api/request.ts';
import { sessionQuery } from '../../api/session.ts';
import { formatCount } from '../../format/amount.ts';
import { schemaScreen, schemasKey, schemasQuery } from '../../shared-schemas/shared-schemas-api.ts';
import { Trail } from '../../shared-schemas/trail.tsx';
import { CopyReadAs } from '../../shell/copy-as.tsx';
import { FormDialog } from '../../shell/dialogs.tsx';
import { PagedTable } from '../../shell/paged-table.tsx';
import { PAGE_SIZE, usePage } from '../../shell/pagination.tsx';
import { ScreenFrame } from '../../shell/screen-frame.tsx';

export function Screen() {
  const { org = '' } = useParams({ strict: false }) as { readonly org?: string };
  const { data: session } = useQuery(sessionQuery);
  const [page] = usePage();
  const schemas = useQuery(schemasQuery(org, page, PAGE_SIZE));
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Trail org={org} here="Shared schemas" />
      <ScreenFrame
        title="Shared schemas"
        actions={
          <>
            <CopyReadAs path={organizationPath(org, '/schemas')} />
            {session?.kind === 'operator' && <Button onClick={() => setOpen(true)}>New shared schema</Button>}
          </>
        }
      >
        <PagedTable
          label="Shared schemas"
          query={schemas}
          empty="No shared schemas yet. Many workspaces follow one, and its versions are rolled out to all of them."
          rowKey={({ name }) => name}
          minWidth={480}
          maxWidth={900}
          columns={[
            {
              title: 'Name',
              isRowHeader: true,
              className: classes.name,
              cell: ({ name }) => (
                <Anchor component={Link} size="sm" to={schemaScreen({ org, name })}>
                  <bdi>{name}</bdi>
                </Anchor>
              ),
            },
            { title: 'Description', cell: ({ description }) => <bdi dir="auto">{description ?? ''}</bdi> },
            { title: 'Newest version', cell: ({ newest }) => newest ?? 'none', isNumeric: true },
            { title: 'Followers', cell: ({ followers }) => formatCount(followers), isNumeric: true },
          ]}
        />
        <NewSchemaDialog org={org} isOpen={isOpen} onClose={() => setOpen(false)} />
      </ScreenFrame>
    </>
  );
}

interface NewSchemaDialogProps {
  readonly org: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

function NewSchemaDialog({ org, isOpen, onClose }: NewSchemaDialogProps) {
  const client = useQueryClient();
  const navigate = useNavigate();
  return (
    <FormDialog
      title="New shared schema"
      action="Create"
      isOpen={isOpen}
      fields={['name', 'description']}
      onClose={onClose}
      onSubmit={async (form) => {
        const [name, description] = [String(form.get('name')), String(form.get('description'))];
        const body = { name, ...(description === '' ? {} : { description }) };
        await request({ method: 'POST', path: organizationPath(org, '/schemas'), body });
        await client.invalidateQueries({ queryKey: schemasKey(org) });
        await navigate({ to: schemaScreen({ org, name }) });
      }}
    >
      {(error) => (
        <>
          <TextInput
            label="Name"
            name="name"
            description="Used in URLs: lowercase letters, digits and hyphens"
            error={fieldError(error, 'name')}
            autoComplete="off"
            data-autofocus
            required
          />
          <Textarea
            label="Description"
            name="description"
            error={fieldError(error, 'description')}
            autosize
            dir="auto"
          />
        </>
      )}
    </FormDialog>
  );
}
