// Settings of a workspace: name, slug and deletion.

import { Anchor, Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { CONSOLE_API, request } from '../../api/request.ts';
import { sessionQuery } from '../../api/session.ts';
import type { WorkspaceListed } from '../../api/types.ts';
import { adminPath } from '../../api/workspace.ts';
import { CopyReadAs } from '../../shell/copy-as.tsx';
import { PropertyTable } from '../../shell/data-table.tsx';
import { DateTime } from '../../shell/datetime.tsx';
import { ConfirmByNameDialog } from '../../shell/dialogs.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { NameDialog } from '../../shell/name-dialog.tsx';
import { ScreenFrame } from '../../shell/screen-frame.tsx';
import { useWorkspace } from '../../shell/use-address.ts';

export function Screen() {
  const workspace = useWorkspace();
  const { data: session } = useQuery(sessionQuery);
  const client = useQueryClient();
  const navigate = useNavigate();
  const [dialog, setDialog] = useState<'rename' | 'delete'>();
  const close = (): void => setDialog(undefined);
  const { data, error, refetch } = useQuery({
    queryKey: ['workspace', workspace.org, workspace.ws],
    queryFn: async ({ signal }) => (await request<WorkspaceListed>({ path: adminPath(workspace), signal })).data,
  });
  return (
    <ScreenFrame title="Settings" actions={<CopyReadAs path={adminPath(workspace)} />}>
      <ErrorAlert error={error} onRetry={() => void refetch()} />
      {data !== undefined && (
        <Stack maw={640}>
          <PropertyTable
            label="Workspace"
            rows={[
              ['Name', <bdi key="name">{data.name}</bdi>],
              ['Slug', data.slug],
              ['Created', <DateTime key="created" instant={data.createdAt} />],
            ]}
          />
          <Group>
            <Button variant="default" onClick={() => setDialog('rename')}>
              Rename
            </Button>
            <Anchor
              size="sm"
              href={`${CONSOLE_API}${adminPath(workspace, '/schema')}`}
              download={`${workspace.ws}.schema.json`}
            >
              Download the schema
            </Anchor>
          </Group>
          {session?.kind === 'operator' && (
            <Paper withBorder p="sm">
              <Title order={2} mb="xs">
                Delete this workspace
              </Title>
              <Text size="sm" mb="sm">
                This deletes all records, keys and settings, and cannot be undone.
              </Text>
              <Button color="red" onClick={() => setDialog('delete')}>
                Delete workspace
              </Button>
            </Paper>
          )}
          <NameDialog
            title="Rename workspace"
            isOpen={dialog === 'rename'}
            onClose={close}
            before={data}
            warning="Its URLs change at once: programs that call the old one get 404."
            save={async (named) => {
              await request({ method: 'PUT', path: adminPath(workspace), body: named });
              await client.invalidateQueries();
              await navigate({ to: `/${workspace.org}/${named.slug}/settings`, replace: true });
            }}
          />
          <ConfirmByNameDialog
            title="Delete workspace"
            name={workspace.ws}
            action="Delete workspace"
            isOpen={dialog === 'delete'}
            onClose={close}
            onSubmit={async () => {
              await request({
                method: 'DELETE',
                path: `${adminPath(workspace)}?confirm=${encodeURIComponent(workspace.ws)}`,
              });
              await navigate({ to: `/${workspace.org}` });
              await client.invalidateQueries();
            }}
          >
            All records of <bdi>{data.name}</bdi> are deleted.
          </ConfirmByNameDialog>
        </Stack>
      )}
    </ScreenFrame>
  );
}
