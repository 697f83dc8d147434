// Overview of a workspace: its use of its limits, its entities with their size, and first steps while it is empty.

import { Anchor, Badge, Button, Group, Paper, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { ACCESS_WORDS } from '../../access/grants.ts';
import { reportQuery } from '../../access/grants-api.ts';
import { isApiError } from '../../api/api-error.ts';
import { providerQuery } from '../../api/identity-provider.ts';
import { migrationsQuery } from '../../api/migrations.ts';
import { workspaceQuery } from '../../api/organizations.ts';
import { type EntityDocument, schemaQuery } from '../../api/schema.ts';
import { statisticsQuery } from '../../api/statistics.ts';
import type { AccessReport } from '../../api/types.ts';
import { adminPath, screenPath, type WorkspaceRef } from '../../api/workspace.ts';
import { formatBytes, formatCount, pluralize } from '../../format/amount.ts';
import { CopyReadAs } from '../../shell/copy-as.tsx';
import { DataTable } from '../../shell/data-table.tsx';
import { DateTime } from '../../shell/datetime.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { LastChange } from '../../shell/last-change.tsx';
import { useSearchableList } from '../../shell/pagination.tsx';
import { useMayAdminister } from '../../shell/permissions.ts';
import { ScreenFrame } from '../../shell/screen-frame.tsx';
import { useWorkspace } from '../../shell/use-address.ts';
import { workspaceOption } from '../../snippets/admin.ts';
import { Usage } from './usage.tsx';

// Its script is loaded apart from the overview's.
const PinnedCharts = lazy(async () => ({ default: (await import('../../views/pinned-charts.tsx')).PinnedCharts }));

export function Screen() {
  const workspace = useWorkspace();
  const schema = useQuery(schemaQuery(workspace));
  const isAdministrator = useMayAdminister();
  const statistics = useQuery({ ...statisticsQuery(workspace), enabled: isAdministrator });
  const report = useQuery({ ...reportQuery(workspace), enabled: isAdministrator });
  const access = new Map(report.data?.entities.map((entry) => [entry.entity, entry.access]));
  const entities = [...(schema.data?.entities.values() ?? [])];
  const { page, searchField, pageLinks } = useSearchableList(entities, ({ name }) => name);
  return (
    <ScreenFrame
      title={schema.data?.name ?? `${workspace.org}/${workspace.ws}`}
      actions={
        isAdministrator && (
          <CopyReadAs
            path={adminPath(workspace, '/statistics')}
            wda={`workspace statistics ${workspaceOption(workspace)}`}
          />
        )
      }
    >
      {schema.error !== null && schema.data === undefined ? (
        <NoAccess workspace={workspace} error={schema.error} />
      ) : (
        <ErrorAlert error={statistics.error} />
      )}
      {isAdministrator && schema.data !== undefined && (
        <>
          <Summary workspace={workspace} report={report.data} />
          <Usage workspace={workspace} />
        </>
      )}
      {entities.length > 0 && schema.data !== undefined && (
        <Suspense>
          <PinnedCharts workspace={workspace} schema={schema.data} />
        </Suspense>
      )}
      {schema.data !== undefined && entities.length === 0 && (
        <FirstSteps workspace={workspace} isAdministrator={isAdministrator} />
      )}
      {entities.length > 0 && (
        <>
          {searchField}
          <DataTable
            label="Entities"
            rows={page}
            rowKey={({ name }) => name}
            minWidth={480}
            maxWidth={900}
            columns={[
              {
                title: 'Entity',
                cell: ({ name, description }) => (
                  <Group gap="xs">
                    <Anchor component={Link} to={screenPath(workspace, `/data/${name}`)} size="sm">
                      <bdi>{name}</bdi>
                    </Anchor>
                    <Text size="xs" c="dimmed" truncate maw={360} dir="auto">
                      {description}
                    </Text>
                  </Group>
                ),
              },
              { title: 'Fields', cell: ({ fields }) => fields.size, isNumeric: true },
              isAdministrator && {
                title: 'Users',
                cell: ({ name }: EntityDocument) => {
                  const words = access.get(name);
                  return words && ACCESS_WORDS[words];
                },
              },
              isAdministrator && {
                title: 'Records',
                cell: ({ name }: EntityDocument) => {
                  const entry = statistics.data?.get(name);
                  return entry && `${entry.exact ? '' : '≈ '}${formatCount(entry.records)}`;
                },
                isNumeric: true,
              },
              isAdministrator && {
                title: 'Size',
                cell: ({ name }: EntityDocument) => {
                  const entry = statistics.data?.get(name);
                  return entry && formatBytes(entry.tableBytes + entry.indexBytes);
                },
                isNumeric: true,
              },
            ]}
          />
          {pageLinks}
        </>
      )}
    </ScreenFrame>
  );
}

interface SummaryProps {
  readonly workspace: WorkspaceRef;
  readonly report: AccessReport | undefined;
}

/** State unless it is active, identity provider with the entities that are open to its users, last migration and last change, each with a link. */
function Summary({ workspace, report }: SummaryProps) {
  // Without a provider the report has no permission, and a request for it would be answered 404.
  const hasProvider = report?.permission != null;
  const provider = useQuery({ ...providerQuery(workspace), enabled: hasProvider });
  const migrations = useQuery(migrationsQuery(workspace, 0, 1));
  const { data: settings } = useQuery(workspaceQuery(workspace));
  const migration = migrations.data?.migrations[0];
  const stored = provider.data?.value;
  const openCount = report?.entities.filter(({ access }) => access === 'open').length ?? 0;
  return (
    <Group gap="lg" mb="sm" style={{ rowGap: 2 }}>
      {settings?.state === 'readOnly' && (
        <Text size="sm">
          State:{' '}
          <Anchor component={Link} to={screenPath(workspace, '/settings')} size="sm" underline="always">
            read-only
          </Anchor>
        </Text>
      )}
      {(provider.data !== undefined || (report !== undefined && !hasProvider)) && (
        <Text size="sm" c="dimmed">
          Identity provider:{' '}
          <Anchor component={Link} to={screenPath(workspace, '/access/provider')} size="sm" underline="always">
            {stored === undefined ? 'none' : stored.enabled ? 'on' : 'off'}
          </Anchor>
        </Text>
      )}
      {stored?.enabled === true && openCount > 0 && (
        <Text size="sm" c="dimmed">
          Open to every user:{' '}
          <Anchor component={Link} to={screenPath(workspace, '/access/grants')} size="sm" underline="always">
            {pluralize(openCount, 'entity', 'entities')}
          </Anchor>
        </Text>
      )}
      {migration !== undefined && (
        <Text size="sm" c="dimmed">
          Last migration:{' '}
          <Anchor
            component={Link}
            to={screenPath(workspace, `/migrations/${migration.id}`)}
            size="sm"
            underline="always"
          >
            {migration.state}
          </Anchor>
          , <DateTime instant={migration.createdAt} />
        </Text>
      )}
      <LastChange workspace={workspace} />
    </Group>
  );
}

function NoAccess({ workspace, error }: { readonly workspace: WorkspaceRef; readonly error: unknown }) {
  const isAdministrator = useMayAdminister();
  const isSuspended = isApiError(error) && error.code === 'WORKSPACE_SUSPENDED';
  return (
    <>
      {!isSuspended && <Text mb="xs">You have no access to this workspace, or it does not exist.</Text>}
      <ErrorAlert error={error} />
      {isSuspended && isAdministrator ? (
        <Anchor component={Link} to={screenPath(workspace, '/settings')} size="sm">
          Settings, with its state
        </Anchor>
      ) : (
        <Anchor component={Link} to="/" size="sm">
          Back to the start
        </Anchor>
      )}
    </>
  );
}

function FirstSteps({
  workspace,
  isAdministrator,
}: {
  readonly workspace: WorkspaceRef;
  readonly isAdministrator: boolean;
}) {
  if (!isAdministrator) return <Badge color="gray">No entities yet</Badge>;
  return (
    <Paper withBorder p="lg" maw={560}>
      <Text mb="sm">This workspace has no entities yet. An entity is a table of records with an API of its own.</Text>
      <Group>
        <Button component={Link} to={screenPath(workspace, '/schema')} search={{ tab: 'document' } as never}>
          New schema
        </Button>
        <Button component={Link} to={screenPath(workspace, '/import')} variant="default">
          Import a file
        </Button>
        <Button component={Link} to={screenPath(workspace, '/access/keys')} variant="subtle">
          Create API key
        </Button>
        <Button component={Link} to={screenPath(workspace, '/access/provider')} variant="subtle">
          Connect an identity provider
        </Button>
      </Group>
    </Paper>
  );
}
