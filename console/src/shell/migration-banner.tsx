// Banner on every screen of a workspace during a migration, with its progress.
import { Alert, Anchor, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useLocation } from '@tanstack/react-router';
import { findActiveStep, getProgress } from '../api/migration-progress.ts';
import { isFinished, migrationsQuery } from '../api/migrations.ts';
import { screenPath, type WorkspaceRef } from '../api/workspace.ts';
import { useIsOwner, useMayAdminister } from './permissions.ts';
import { ProgressBar } from './progress-bar.tsx';

export function MigrationBanner({ workspace }: { readonly workspace: WorkspaceRef }) {
  const mayAdminister = useMayAdminister();
  const isOwner = useIsOwner();
  // One migration of a workspace runs at a time, and is its newest.
  const { data } = useQuery({ ...migrationsQuery(workspace, 0, 1), enabled: isOwner });
  const { pathname } = useLocation();
  const [newest] = data?.migrations ?? [];
  if (newest === undefined || isFinished(newest)) return null;
  const to = screenPath(workspace, `/migrations/${newest.id}`);
  // Its own screen shows more.
  if (pathname === to) return null;
  return (
    <Alert role="status" color="accent" variant="light" p="xs" mb="sm" aria-label="A migration runs">
      <Group gap="sm" wrap="nowrap">
        <Text size="sm" truncate>
          The schema is being changed: <bdi>{findActiveStep(newest)?.description ?? 'almost done'}</bdi>
        </Text>
        <ProgressBar label="The migration" value={getProgress(newest)} width={120} />
        {mayAdminister && (
          <Anchor component={Link} to={to} size="sm">
            Show
          </Anchor>
        )}
      </Group>
    </Alert>
  );
}
