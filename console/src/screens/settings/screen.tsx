// Settings of a workspace: name, slug, state, limits, origins of web pages, copies, and deletion.

import { Anchor, Button, Checkbox, Group, NativeSelect, Paper, Stack, Text, Textarea, Title } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { fieldError } from '../../api/api-error.ts';
import { workspaceQuery } from '../../api/organizations.ts';
import { CONSOLE_API, request } from '../../api/request.ts';
import { sessionQuery } from '../../api/session.ts';
import type { WorkspaceListed } from '../../api/types.ts';
import { adminPath } from '../../api/workspace.ts';
import { CopyReadAs } from '../../shell/copy-as.tsx';
import { PropertyTable } from '../../shell/data-table.tsx';
import { DateTime } from '../../shell/datetime.tsx';
import { ConfirmByNameDialog, FormDialog } from '../../shell/dialogs.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { announce } from '../../shell/live-region.tsx';
import { NameDialog } from '../../shell/name-dialog.tsx';
import { ScreenFrame } from '../../shell/screen-frame.tsx';
import { useWorkspace } from '../../shell/use-address.ts';
import { formatLimits, LimitsDialog } from './limits-dialog.tsx';

export function Screen() {
  const workspace = useWorkspace();
  const { data: session } = useQuery(sessionQuery);
  const client = useQueryClient();
  const navigate = useNavigate();
  const [dialog, setDialog] = useState<'rename' | 'state' | 'limits' | 'origins' | 'copy' | 'delete'>();
  const close = (): void => setDialog(undefined);
  const { data, error, refetch } = useQuery(workspaceQuery(workspace));
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
              ['State', STATES[data.state]],
              ['Limits', formatLimits(data.limits)],
              ['Created', <DateTime key="created" instant={data.createdAt} />],
              ['Origins of web pages', <bdi key="origins">{formatOrigins(data.corsOrigins)}</bdi>],
            ]}
          />
          <Group>
            <Button variant="default" onClick={() => setDialog('rename')}>
              Rename
            </Button>
            {session?.kind === 'operator' && (
              <Button variant="default" onClick={() => setDialog('state')}>
                Change state
              </Button>
            )}
            {session?.kind === 'operator' && (
              <Button variant="default" onClick={() => setDialog('limits')}>
                Change limits
              </Button>
            )}
            <Button variant="default" onClick={() => setDialog('origins')}>
              Change origins
            </Button>
            {session?.kind === 'operator' && (
              <Button variant="default" onClick={() => setDialog('copy')}>
                Copy workspace
              </Button>
            )}
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
            warning="Its URLs change at once: programs that call the old one get 401, unless they are redirected."
            canRedirect
            save={async (named) => {
              await request({ method: 'PUT', path: adminPath(workspace), body: named });
              await client.invalidateQueries();
              await navigate({ to: `/${workspace.org}/${named.slug}/settings`, replace: true });
            }}
          />
          <NameDialog
            title="Copy workspace"
            action="Copy"
            isOpen={dialog === 'copy'}
            onClose={close}
            save={async (named, form) => {
              const withoutRecords = form.get('withoutRecords') !== null;
              const body = { ...named, withoutRecords };
              await request({ method: 'POST', path: adminPath(workspace, '/copy'), body });
              await client.invalidateQueries({ queryKey: ['workspaces', workspace.org] });
              announce('Workspace copied');
              await navigate({ to: `/${workspace.org}/${named.slug}` });
            }}
          >
            <Checkbox name="withoutRecords" label="Without records" />
            <Text size="sm">
              The copy has the schema with its rules and grants, and the records of one moment with their ids. API keys,
              OAuth clients and the identity provider stay here, and its webhooks are disabled.
            </Text>
          </NameDialog>
          {dialog === 'state' && (
            <StateDialog
              before={data.state}
              onClose={close}
              save={async (state) => {
                await request({ method: 'PUT', path: adminPath(workspace), body: { state } });
                await client.invalidateQueries();
                announce('State changed');
                close();
              }}
            />
          )}
          {dialog === 'limits' && (
            <LimitsDialog
              before={data.limits}
              onClose={close}
              save={async (limits) => {
                await request({ method: 'PUT', path: adminPath(workspace), body: { limits } });
                await client.invalidateQueries();
                announce('Limits changed');
                close();
              }}
            />
          )}
          {dialog === 'origins' && (
            <OriginsDialog
              before={data.corsOrigins}
              onClose={close}
              save={async (corsOrigins) => {
                await request({ method: 'PUT', path: adminPath(workspace), body: { corsOrigins } });
                await refetch();
                announce('Origins changed');
                close();
              }}
            />
          )}
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

type State = WorkspaceListed['state'];

const STATES: Readonly<Record<State, string>> = {
  active: 'active',
  readOnly: 'read-only: records cannot be changed',
  suspended: 'suspended: no request for its records is answered',
};

interface StateDialogProps {
  readonly before: State;
  readonly onClose: () => void;
  readonly save: (state: State) => Promise<void>;
}

/** Dialog for the state of the workspace, which only the operator sets. */
function StateDialog({ before, onClose, save }: StateDialogProps) {
  return (
    <FormDialog
      title="State of the workspace"
      action="Save"
      fields={['state']}
      onClose={onClose}
      onSubmit={(data) => save(String(data.get('state')) as State)}
    >
      {(error) => (
        <NativeSelect
          label="State"
          name="state"
          description="In force at once. Its settings can be changed in every state"
          data={Object.entries(STATES).map(([value, label]) => ({ value, label }))}
          defaultValue={before}
          error={fieldError(error, 'state')}
          data-autofocus
        />
      )}
    </FormDialog>
  );
}

const formatOrigins = (origins: readonly string[] | undefined): string =>
  origins === undefined ? 'those of the server' : origins.length === 0 ? 'none' : origins.join(', ');

interface OriginsDialogProps {
  readonly before: readonly string[] | undefined;
  readonly onClose: () => void;
  readonly save: (origins: readonly string[] | null) => Promise<void>;
}

/** Dialog for the origins whose pages may use the data API. */
function OriginsDialog({ before, onClose, save }: OriginsDialogProps) {
  const [isOwn, setOwn] = useState(before !== undefined);
  const [text, setText] = useState((before ?? []).join('\n'));
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  return (
    <FormDialog
      title="Origins of web pages"
      action="Save"
      fields={['corsOrigins']}
      onClose={onClose}
      onSubmit={() => save(isOwn ? lines : null)}
    >
      {(error) => (
        <>
          <Checkbox
            label="The origins of the server (WDA_CORS_ORIGINS)"
            checked={!isOwn}
            onChange={(event) => setOwn(!event.currentTarget.checked)}
          />
          {isOwn && (
            <Textarea
              label="Origins"
              description="Web pages that browsers let use the data API of this workspace, one per line, such as https://app.example.com. Empty: none"
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
              error={fieldError(error, 'corsOrigins')}
              autosize
              minRows={3}
              maxRows={12}
              spellCheck={false}
              data-autofocus
            />
          )}
        </>
      )}
    </FormDialog>
  );
}
