// Name, slug and end of a workspace.
import { Anchor, Button, Group, Paper, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { WorkspaceSummary } from '../../api/organizations.ts';
import { CONSOLE_API, request } from '../../api/request.ts';
import { sessionQuery } from '../../api/session.ts';
import { adminPath, type WorkspaceRef } from '../../api/workspace.ts';
import { ConfirmByName } from '../../shell/confirm-by-name.tsx';
import { CopyReadAs } from '../../shell/copy-as.tsx';
import { DateTime } from '../../shell/datetime.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { NameDialog } from '../../shell/name-dialog.tsx';
import { ScreenFrame } from '../../shell/screen-frame.tsx';

export function Screen() {
  const place = useParams({ strict: false }) as WorkspaceRef;
  const { data: session } = useQuery(sessionQuery);
  const client = useQueryClient();
  const navigate = useNavigate();
  const [dialog, setDialog] = useState<'rename' | 'delete'>();
  const close = (): void => setDialog(undefined);
  const workspace = useQuery({
    queryKey: ['workspace', place.org, place.ws],
    queryFn: async ({ signal }) => (await request<WorkspaceSummary>({ path: adminPath(place), signal })).data,
  });
  const { data } = workspace;
  return (
    <ScreenFrame title="Settings" actions={<CopyReadAs path={adminPath(place)} />}>
      <ErrorAlert error={workspace.error} onRetry={() => void workspace.refetch()} />
      {data !== undefined && (
        <Stack maw={640}>
          <Table variant="vertical" withTableBorder aria-label="Workspace">
            <Table.Tbody>
              <Table.Tr>
                <Table.Th scope="row">Name</Table.Th>
                <Table.Td>
                  <bdi>{data.name}</bdi>
                </Table.Td>
              </Table.Tr>
              <Table.Tr>
                <Table.Th scope="row">Slug</Table.Th>
                <Table.Td>{data.slug}</Table.Td>
              </Table.Tr>
              <Table.Tr>
                <Table.Th scope="row">Made</Table.Th>
                <Table.Td>
                  <DateTime instant={data.createdAt} />
                </Table.Td>
              </Table.Tr>
            </Table.Tbody>
          </Table>
          <Group>
            <Button variant="default" onClick={() => setDialog('rename')}>
              Rename
            </Button>
            <Anchor
              size="sm"
              href={`${CONSOLE_API}${adminPath(place, '/schema')}`}
              download={`${place.ws}.schema.json`}
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
              await request({ method: 'PUT', path: adminPath(place), body: named });
              await client.invalidateQueries();
              await navigate({ to: `/${place.org}/${named.slug}/settings`, replace: true });
            }}
          />
          <ConfirmByName
            title="Delete workspace"
            name={place.ws}
            action="Delete workspace"
            isOpen={dialog === 'delete'}
            onClose={close}
            onConfirmed={async () => {
              await request({ method: 'DELETE', path: `${adminPath(place)}?confirm=${encodeURIComponent(place.ws)}` });
              await navigate({ to: `/${place.org}` });
              await client.invalidateQueries();
            }}
          >
            All records of <bdi>{data.name}</bdi> are deleted.
          </ConfirmByName>
        </Stack>
      )}
    </ScreenFrame>
  );
}
