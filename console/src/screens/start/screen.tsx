// Start screen: organizations with their workspaces for the operator; a user with one workspace is redirected to it.

import { Anchor, Button, Group, Paper, SimpleGrid, Stack, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, Navigate } from '@tanstack/react-router';
import { useState } from 'react';
import { organizationsQuery, workspacesQuery } from '../../api/organizations.ts';
import { request } from '../../api/request.ts';
import { sessionQuery } from '../../api/session.ts';
import type { Organization } from '../../api/types.ts';
import { formatBytes, pluralize } from '../../format/amount.ts';
import { CopyReadAs } from '../../shell/copy-as.tsx';
import { DataTable } from '../../shell/data-table.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { Icon } from '../../shell/icon.tsx';
import { LastChange } from '../../shell/last-change.tsx';
import { NameDialog } from '../../shell/name-dialog.tsx';
import { PageLinks, usePage } from '../../shell/pagination.tsx';
import { RunningMigrations } from '../../shell/running-migrations.tsx';
import { ScreenFrame } from '../../shell/screen-frame.tsx';

export function Screen() {
  const { data: session } = useQuery(sessionQuery);
  if (session === undefined) return null;
  if (session.kind === 'operator') return <Organizations />;
  const [first, ...others] = session.workspaces;
  const { organizations = [] } = session;
  if (first !== undefined && others.length === 0 && organizations.length === 0)
    return <Navigate to="/$org/$ws" params={{ org: first.organization, ws: first.slug }} replace />;
  return (
    <ScreenFrame title="Workspaces">
      {organizations.some(({ role }) => role === 'owner') && (
        <Group gap="xs" mb="sm">
          <Text size="sm">Your organizations:</Text>
          {organizations
            .filter(({ role }) => role === 'owner')
            .map(({ slug, name }) => (
              <Anchor key={slug} component={Link} to={`/${slug}`} size="sm">
                <bdi>{name}</bdi>
              </Anchor>
            ))}
        </Group>
      )}
      {session.workspaces.length === 0 && <Text size="sm">No workspaces yet</Text>}
      <Stack gap="xs">
        {session.workspaces.map(({ organization, slug, name }) => (
          <Group key={`${organization}/${slug}`} gap="xs">
            <Anchor component={Link} to={`/${organization}/${slug}`} size="sm">
              <bdi>{name}</bdi>
            </Anchor>
            <Text size="xs" c="dimmed">
              {organization}/{slug}
            </Text>
          </Group>
        ))}
      </Stack>
    </ScreenFrame>
  );
}

// Limit of cards, as each one requests its workspaces.
const CARDS = 20;
const WORKSPACES = 6;

function Organizations() {
  const [page, go] = usePage();
  const organizations = useQuery(organizationsQuery(page, CARDS));
  const client = useQueryClient();
  const [isMaking, setMaking] = useState(false);
  const make = (
    <>
      <CopyReadAs path="/admin/v1/organizations" wda="org list" />
      <Button leftSection={<Icon name="plus" />} onClick={() => setMaking(true)}>
        New organization
      </Button>
    </>
  );
  return (
    <ScreenFrame title="Organizations" actions={make}>
      <ErrorAlert error={organizations.error} onRetry={() => void organizations.refetch()} />
      {organizations.data?.total === 0 && (
        <Paper withBorder p="lg" maw={520}>
          <Text mb="sm">
            There is no organization yet. An organization holds workspaces; a workspace has a schema and records.
          </Text>
          <Button onClick={() => setMaking(true)}>Create an organization</Button>
        </Paper>
      )}
      <RunningMigrations />
      <LastChange />
      <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="sm">
        {organizations.data?.list.map((one) => (
          <OrganizationCard key={one.slug} {...one} />
        ))}
      </SimpleGrid>
      <PageLinks total={organizations.data?.total ?? 0} size={CARDS} page={page} onPage={go} />
      <NameDialog
        title="New organization"
        isOpen={isMaking}
        onClose={() => setMaking(false)}
        save={async (named) => {
          await request({ method: 'POST', path: '/admin/v1/organizations', body: named });
          await client.invalidateQueries({ queryKey: ['organizations'] });
        }}
      />
    </ScreenFrame>
  );
}

function OrganizationCard({ slug, name }: Organization) {
  const workspaces = useQuery(workspacesQuery(slug, 0, WORKSPACES));
  return (
    <Paper withBorder p="sm">
      <Group justify="space-between" wrap="nowrap" mb={4}>
        <Anchor component={Link} to={`/${slug}`} fw={600} size="sm" truncate>
          <bdi>{name}</bdi>
        </Anchor>
        <Text size="xs" c="dimmed">
          {slug}
        </Text>
      </Group>
      <ErrorAlert error={workspaces.error} />
      {workspaces.data?.total === 0 && (
        <Text size="sm" c="dimmed">
          No workspaces yet
        </Text>
      )}
      {(workspaces.data?.total ?? 0) > 0 && (
        <DataTable
          label={`Workspaces of ${name}`}
          rows={workspaces.data?.list ?? []}
          rowKey={(one) => one.slug}
          hasHead={false}
          spacing={2}
          columns={[
            {
              title: 'Workspace',
              cell: (one) => (
                <Anchor component={Link} to={`/${slug}/${one.slug}`} size="sm">
                  <bdi>{one.name}</bdi>
                </Anchor>
              ),
            },
            {
              title: 'Slug',
              cell: (one) => (
                <Text span size="sm" c="dimmed" visibleFrom="sm">
                  {one.slug}
                </Text>
              ),
            },
            {
              title: 'Records',
              cell: ({ statistics }) =>
                statistics && `${statistics.exact ? '' : 'about '}${pluralize(statistics.records, 'record')}`,
              isNumeric: true,
            },
            {
              title: 'Size',
              cell: ({ statistics }) => statistics && formatBytes(statistics.tableBytes + statistics.indexBytes),
              isNumeric: true,
            },
          ]}
        />
      )}
      {(workspaces.data?.total ?? 0) > WORKSPACES && (
        <Anchor component={Link} to={`/${slug}`} size="xs" px="xs">
          All {pluralize(workspaces.data?.total ?? 0, 'workspace')}
        </Anchor>
      )}
    </Paper>
  );
}
