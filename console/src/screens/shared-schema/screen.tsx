// Screen of a shared schema: its versions, the workspaces that follow, and its rollouts.
import { Anchor, Button, Tabs, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { request } from '../../api/request.ts';
import { sessionQuery } from '../../api/session.ts';
import type { SharedSchema } from '../../api/types.ts';
import { formatCount, pluralize } from '../../format/amount.ts';
import { RolloutBar } from '../../shared-schemas/rollout-bar.tsx';
import {
  followersQuery,
  rolloutsQuery,
  type SharedSchemaRef,
  schemaPath,
  schemaScreen,
  schemasKey,
  schemasScreen,
  sharedSchemaQuery,
  versionQuery,
  versionsQuery,
} from '../../shared-schemas/shared-schemas-api.ts';
import { RolloutStateBadge } from '../../shared-schemas/state-badge.tsx';
import { Trail, useSharedSchema } from '../../shared-schemas/trail.tsx';
import { VersionSteps } from '../../shared-schemas/version-steps.tsx';
import { CopyReadAs } from '../../shell/copy-as.tsx';
import { DateTime, formatElapsed } from '../../shell/datetime.tsx';
import { ConfirmByNameDialog } from '../../shell/dialogs.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { PagedTable } from '../../shell/paged-table.tsx';
import { PAGE_SIZE, usePage } from '../../shell/pagination.tsx';
import { ScreenFrame } from '../../shell/screen-frame.tsx';
import { useAddress } from '../../shell/use-address.ts';
import { quoteShell } from '../../snippets/snippets.ts';

// The steps of each version in a page are a request.
const VERSIONS = 10;
// Steps of a version in the list.
const STEPS = 5;

export function Screen() {
  const schema = useSharedSchema();
  const { data: session } = useQuery(sessionQuery);
  const { data, error, refetch } = useQuery(sharedSchemaQuery(schema));
  const isOperator = session?.kind === 'operator';
  return (
    <>
      <Trail {...schema} here={schema.name} />
      <ScreenFrame
        title={schema.name}
        actions={data !== undefined && <Actions schema={schema} shared={data} isOperator={isOperator} />}
      >
        <ErrorAlert error={error} onRetry={() => void refetch()} />
        {data !== undefined && <Body schema={schema} shared={data} isOperator={isOperator} />}
      </ScreenFrame>
    </>
  );
}

interface PartProps {
  readonly schema: SharedSchemaRef;
  readonly shared: SharedSchema;
  readonly isOperator: boolean;
}

function Actions({ schema, shared, isOperator }: PartProps) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [isDeleting, setDeleting] = useState(false);
  const { org, name } = schema;
  return (
    <>
      <CopyReadAs path={schemaPath(schema, '/versions')} wda={`schema versions ${quoteShell(`${org}/${name}`)}`} />
      {isOperator && (
        <>
          <Button component={Link} to={schemaScreen(schema, '/publish')}>
            Publish a version
          </Button>
          {shared.newest !== null && (
            <Button variant="default" component={Link} to={schemaScreen(schema, '/rollouts/new')}>
              Start a rollout
            </Button>
          )}
          <Button variant="default" onClick={() => setDeleting(true)}>
            Delete
          </Button>
          <ConfirmByNameDialog
            title="Delete shared schema"
            name={name}
            action="Delete"
            isOpen={isDeleting}
            onClose={() => setDeleting(false)}
            onSubmit={async () => {
              await request({ method: 'DELETE', path: schemaPath(schema) });
              await navigate({ to: schemasScreen(org) });
              await client.invalidateQueries({ queryKey: schemasKey(org) });
            }}
          >
            A shared schema can be deleted when no workspace follows it. Its versions are deleted, too.
          </ConfirmByNameDialog>
        </>
      )}
    </>
  );
}

function Body({ schema, shared: { description, newest, followers }, isOperator }: PartProps) {
  const { read, write } = useAddress();
  return (
    <>
      {description !== null && (
        <Text size="sm" mb="xs" dir="auto">
          {description}
        </Text>
      )}
      <Text size="sm" mb="sm" c="dimmed">
        {newest === null ? 'No version yet' : `Version ${newest} is the newest`},{' '}
        {pluralize(followers, 'workspace follows', 'workspaces follow')} it.
      </Text>
      <Tabs
        value={read('tab') ?? 'versions'}
        onChange={(tab) => write({ tab: tab === 'versions' ? undefined : (tab ?? undefined), page: undefined }, false)}
      >
        <Tabs.List mb="sm">
          <Tabs.Tab value="versions">Versions</Tabs.Tab>
          {isOperator && <Tabs.Tab value="workspaces">Workspaces</Tabs.Tab>}
          {isOperator && <Tabs.Tab value="rollouts">Rollouts</Tabs.Tab>}
        </Tabs.List>
        <Tabs.Panel value="versions">
          <Versions schema={schema} />
        </Tabs.Panel>
        {isOperator && (
          <>
            <Tabs.Panel value="workspaces">
              <Followers schema={schema} newest={newest} />
            </Tabs.Panel>
            <Tabs.Panel value="rollouts">
              <Rollouts schema={schema} />
            </Tabs.Panel>
          </>
        )}
      </Tabs>
    </>
  );
}

function Versions({ schema }: { readonly schema: SharedSchemaRef }) {
  const [page] = usePage();
  return (
    <PagedTable
      label="Versions"
      query={useQuery(versionsQuery(schema, page, VERSIONS))}
      empty="No versions yet. Workspaces can follow the schema from its first version on."
      size={VERSIONS}
      rowKey={({ version }) => version}
      minWidth={520}
      maxWidth={1000}
      columns={[
        {
          title: 'Version',
          isRowHeader: true,
          cell: ({ version }) => (
            <Anchor component={Link} size="sm" to={schemaScreen(schema, `/versions/${version}`)}>
              {version}
            </Anchor>
          ),
        },
        { title: 'Published', cell: ({ createdAt }) => <DateTime instant={createdAt} /> },
        { title: 'Steps', cell: ({ version }) => <StepsInRow schema={schema} version={version} />, minWidth: 240 },
      ]}
    />
  );
}

function StepsInRow({ schema, version }: { readonly schema: SharedSchemaRef; readonly version: number }) {
  const { data } = useQuery(versionQuery(schema, version));
  return data && <VersionSteps label={`Steps of version ${version}`} steps={data.steps} most={STEPS} />;
}

interface FollowersProps {
  readonly schema: SharedSchemaRef;
  readonly newest: number | null;
}

function Followers({ schema, newest }: FollowersProps) {
  const [page] = usePage();
  return (
    <PagedTable
      label="Workspaces that follow"
      query={useQuery(followersQuery(schema, page, PAGE_SIZE))}
      empty="No workspace follows it yet."
      rowKey={({ slug }) => slug}
      maxWidth={720}
      columns={[
        {
          title: 'Workspace',
          isRowHeader: true,
          cell: ({ slug, name }) => (
            <Anchor component={Link} size="sm" to={`/${schema.org}/${slug}`}>
              <bdi>{name}</bdi>
            </Anchor>
          ),
        },
        { title: 'Slug', cell: ({ slug }) => slug },
        {
          title: 'Version',
          cell: ({ follows }) =>
            follows && (follows.version === newest ? follows.version : `${follows.version} of ${newest}`),
          isNumeric: true,
        },
      ]}
    />
  );
}

function Rollouts({ schema }: { readonly schema: SharedSchemaRef }) {
  const [page] = usePage();
  return (
    <PagedTable
      label="Rollouts"
      query={useQuery(rolloutsQuery(schema, page, PAGE_SIZE))}
      empty="No rollouts yet."
      rowKey={({ id }) => id}
      minWidth={760}
      maxWidth={1000}
      columns={[
        {
          title: 'Rollout',
          isRowHeader: true,
          cell: ({ id }) => (
            <Anchor component={Link} size="sm" to={schemaScreen(schema, `/rollouts/${id}`)}>
              {id}
            </Anchor>
          ),
        },
        { title: 'Version', cell: ({ version }) => version, isNumeric: true },
        {
          title: 'State',
          cell: ({ state }) => <RolloutStateBadge state={state} />,
        },
        {
          title: 'Workspaces',
          minWidth: 200,
          cell: (rollout) => <RolloutBar rollout={rollout} label={`Progress of rollout ${rollout.id}`} size="sm" />,
        },
        { title: 'Failed', cell: ({ counts }) => formatCount(counts.failed), isNumeric: true },
        { title: 'Started', cell: ({ createdAt }) => <DateTime instant={createdAt} /> },
        {
          title: 'Duration',
          cell: ({ startedAt, finishedAt }) => formatElapsed(startedAt, finishedAt),
          isNumeric: true,
        },
      ]}
    />
  );
}
