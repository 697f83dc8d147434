// Screen of an organization: its name, its workspaces, and its deletion.
import { Anchor, Badge, Button, Group } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { organizationPath, organizationQuery, workspacesQuery } from '../../api/organizations.ts';
import { request } from '../../api/request.ts';
import { ownsOrganization, sessionQuery } from '../../api/session.ts';
import { formatBytes, formatCount } from '../../format/amount.ts';
import { membersScreen } from '../../members/members-api.ts';
import { schemasScreen } from '../../shared-schemas/shared-schemas-api.ts';
import { CopyReadAs } from '../../shell/copy-as.tsx';
import { ConfirmByNameDialog } from '../../shell/dialogs.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { Icon } from '../../shell/icon.tsx';
import { NameDialog } from '../../shell/name-dialog.tsx';
import { PagedTable } from '../../shell/paged-table.tsx';
import { PAGE_SIZE, usePage } from '../../shell/pagination.tsx';
import { ScreenFrame } from '../../shell/screen-frame.tsx';
import { quoteShell } from '../../snippets/snippets.ts';

type Dialog = 'rename' | 'delete' | 'workspace';

export function Screen() {
  const { org = '' } = useParams({ strict: false }) as { readonly org?: string };
  const { data: session } = useQuery(sessionQuery);
  const organization = useQuery(organizationQuery(org));
  const [dialog, setDialog] = useState<Dialog>();
  const isOperator = session?.kind === 'operator';
  const isOwner = session !== undefined && ownsOrganization(session, org);
  const actions = isOperator && (
    <Group gap="xs">
      <CopyReadAs
        path={organizationPath(org, '/workspaces?statistics=true')}
        wda={`workspace list ${quoteShell(org)}`}
      />
      <Button leftSection={<Icon name="plus" />} onClick={() => setDialog('workspace')}>
        New workspace
      </Button>
      <Button variant="default" onClick={() => setDialog('rename')}>
        Rename
      </Button>
      <Button variant="default" onClick={() => setDialog('delete')}>
        Delete
      </Button>
    </Group>
  );
  return (
    <ScreenFrame
      title={organization.data?.name ?? org}
      actions={
        organization.data === undefined ? null : (
          <>
            <Button variant="default" component={Link} to={schemasScreen(org)}>
              Shared schemas
            </Button>
            {isOwner && (
              <Button variant="default" component={Link} to={membersScreen(org)}>
                Members
              </Button>
            )}
            {actions}
          </>
        )
      }
    >
      <ErrorAlert error={organization.error} onRetry={() => void organization.refetch()} />
      {isOwner && organization.data !== undefined && (
        <Workspaces org={org} dialog={dialog} name={organization.data.name} onClose={() => setDialog(undefined)} />
      )}
    </ScreenFrame>
  );
}

interface WorkspacesProps {
  readonly org: string;
  readonly name: string;
  readonly dialog: Dialog | undefined;
  readonly onClose: () => void;
}

function Workspaces({ org, name, dialog, onClose }: WorkspacesProps) {
  const [page] = usePage();
  const workspaces = useQuery(workspacesQuery(org, page, PAGE_SIZE));
  const client = useQueryClient();
  const navigate = useNavigate();
  return (
    <>
      <PagedTable
        label="Workspaces"
        query={workspaces}
        empty="No workspaces yet. A workspace has a schema, records and its own keys."
        rowKey={({ slug }) => slug}
        maxWidth={800}
        columns={[
          {
            title: 'Workspace',
            cell: (one) => (
              <Group gap="xs">
                <Anchor component={Link} to={`/${org}/${one.slug}`} size="sm">
                  <bdi>{one.name}</bdi>
                </Anchor>
                {one.state !== 'active' && (
                  <Badge color="gray" variant="light" size="sm">
                    {one.state === 'readOnly' ? 'read-only' : one.state}
                  </Badge>
                )}
              </Group>
            ),
          },
          { title: 'Slug', cell: ({ slug }) => slug },
          {
            title: 'Records',
            cell: ({ statistics }) => statistics && `${statistics.exact ? '' : '≈ '}${formatCount(statistics.records)}`,
            isNumeric: true,
          },
          {
            title: 'Size',
            cell: ({ statistics }) => statistics && formatBytes(statistics.tableBytes + statistics.indexBytes),
            isNumeric: true,
          },
        ]}
      />
      <NameDialog
        title="New workspace"
        isOpen={dialog === 'workspace'}
        onClose={onClose}
        save={async (named) => {
          await request({ method: 'POST', path: organizationPath(org, '/workspaces'), body: named });
          await client.invalidateQueries({ queryKey: ['workspaces', org] });
          await navigate({ to: `/${org}/${named.slug}` });
        }}
      />
      <NameDialog
        title="Rename organization"
        isOpen={dialog === 'rename'}
        onClose={onClose}
        before={{ slug: org, name }}
        warning="The URLs of all its workspaces change at once."
        save={async (named) => {
          await request({ method: 'PUT', path: organizationPath(org), body: named });
          await client.invalidateQueries();
          await navigate({ to: `/${named.slug}`, replace: true });
        }}
      />
      <ConfirmByNameDialog
        title="Delete organization"
        name={org}
        action="Delete"
        isOpen={dialog === 'delete'}
        onClose={onClose}
        onSubmit={async () => {
          await request({ method: 'DELETE', path: organizationPath(org) });
          await client.invalidateQueries({ queryKey: ['organizations'] });
          await navigate({ to: '/' });
        }}
      >
        An organization can be deleted when it has no workspaces.
      </ConfirmByNameDialog>
    </>
  );
}
