// Screen for roles and grants: what users of each role may do with each entity. A cell opens the grants of its entity.

import { Alert, Anchor, Button, Stack, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { AccessLayout } from '../../access/access-layout.tsx';
import { reportQuery } from '../../access/grants-api.ts';
import { providerQuery } from '../../api/identity-provider.ts';
import type { AccessReport } from '../../api/types.ts';
import { screenPath, type WorkspaceRef } from '../../api/workspace.ts';
import { pluralize } from '../../format/amount.ts';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { AddRoleDialog } from './add-role-dialog.tsx';
import { Matrix } from './matrix.tsx';

export function Screen() {
  const [isAdding, setAdding] = useState(false);
  const queries = useQueryClient();
  return (
    <AccessLayout
      title="Roles and grants"
      noun="access/report"
      actions={<Button onClick={() => setAdding(true)}>New role</Button>}
    >
      {(workspace) => (
        <>
          <Access workspace={workspace} />
          {isAdding && (
            <AddRoleDialog
              workspace={workspace}
              onClose={() => setAdding(false)}
              onAdded={() => {
                setAdding(false);
                void queries.invalidateQueries({ queryKey: reportQuery(workspace).queryKey });
              }}
            />
          )}
        </>
      )}
    </AccessLayout>
  );
}

function Access({ workspace }: { readonly workspace: WorkspaceRef }) {
  const report = useQuery(reportQuery(workspace));
  const { data } = report;
  if (data === undefined) return <ErrorAlert error={report.error} onRetry={() => void report.refetch()} />;
  return (
    <Stack gap="sm">
      <Text size="sm">
        Grants say which roles may read and write which records of an entity. An entity without grants is open to every
        user of the identity provider, as far as its row rules allow. Keys and clients are not held to grants, except
        those with the permissions GRANTS.
      </Text>
      <Notes workspace={workspace} report={data} />
      {data.entities.length === 0 ? (
        <Text size="sm">There are no entities yet.</Text>
      ) : (
        <Matrix workspace={workspace} report={data} />
      )}
    </Stack>
  );
}

/** Notes about the provider, and about entities that are open to all of its users. */
function Notes({ workspace, report }: { readonly workspace: WorkspaceRef; readonly report: AccessReport }) {
  const provider = useQuery(providerQuery(workspace)).data;
  if (provider === undefined) return null;
  const { value } = provider;
  const open = report.entities.filter(({ access }) => access === 'open').map(({ entity }) => entity);
  const may = value?.defaultPermissions === 'READ_ONLY' ? 'read' : 'read and change';
  const link = (
    <Anchor component={Link} to={screenPath(workspace, '/access/provider')} size="sm" underline="always">
      Identity provider
    </Anchor>
  );
  return (
    <>
      {value === undefined && (
        <Text size="sm">There is no identity provider: below is what its users would be allowed. {link}</Text>
      )}
      {value !== undefined && value.roleClaim === undefined && report.roles.length > 0 && (
        <Text size="sm">The identity provider has no role claim, so no user has a role. {link}</Text>
      )}
      {value?.defaultPermissions === 'READ_ONLY' && (
        <Text size="sm">
          The permissions of all users are read only: no user may write, whatever grants say. {link}
        </Text>
      )}
      {value?.enabled === true && open.length > 0 && (
        <Alert role="note" aria-label="Open entities" color="yellow" variant="light" p="xs">
          <Text size="sm">
            {pluralize(open.length, 'entity has', 'entities have')} neither row rules nor grants: every user may {may}{' '}
            all of {open.length === 1 ? 'its' : 'their'} records.
          </Text>
        </Alert>
      )}
    </>
  );
}
