// Screen of one migration: progress, throughput, time left, error, and the button that cancels it.

import { Alert, Anchor, Badge, Button, Group, Stack, Table, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useLocation, useParams } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import {
  addSample,
  formatDuration,
  getProgress,
  measureThroughput,
  type Sample,
  STATE_COLORS,
  type Throughput,
} from '../../api/migration-progress.ts';
import { cancelMigration, isFinished, migrationQuery } from '../../api/migrations.ts';
import type { Migration, MigrationStep } from '../../api/types.ts';
import { adminPath, screenPath, type WorkspaceRef } from '../../api/workspace.ts';
import { formatCount, pluralize } from '../../format/amount.ts';
import { ConflictingRecords } from '../../schema/conflicting-records.tsx';
import { useDraft } from '../../schema/use-draft.ts';
import { CopyReadAs } from '../../shell/copy-as.tsx';
import { DateTime, formatElapsed } from '../../shell/datetime.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { announce } from '../../shell/live-region.tsx';
import { ProgressBar } from '../../shell/progress-bar.tsx';
import { ScreenFrame } from '../../shell/screen-frame.tsx';
import { useWorkspace } from '../../shell/use-address.ts';
import { WarningsAlert } from '../../shell/warnings-alert.tsx';
import { workspaceOption } from '../../snippets/admin.ts';

export function Screen() {
  const workspace = useWorkspace();
  const { id } = useParams({ strict: false }) as { readonly id: string };
  // Warnings of the request that started it, if it was sent from this tab.
  const { warnings = [] } = useLocation().state as { readonly warnings?: readonly string[] };
  const { data, error, refetch, dataUpdatedAt } = useQuery(migrationQuery(workspace, id));
  // Drops the draft when the migration has applied it.
  useDraft(workspace);
  return (
    <ScreenFrame
      title={`Migration ${id}`}
      actions={
        <>
          <CopyReadAs
            path={adminPath(workspace, `/migrations/${id}`)}
            wda={`migration show ${id} ${workspaceOption(workspace)}`}
          />
          {data !== undefined && <Cancel workspace={workspace} migration={data} />}
        </>
      }
    >
      <ErrorAlert error={error} onRetry={() => void refetch()} />
      {data?.state === 'succeeded' && <WarningsAlert title="Applied, but:" warnings={warnings} />}
      {data !== undefined && <Body workspace={workspace} migration={data} at={dataUpdatedAt} />}
    </ScreenFrame>
  );
}

function Cancel({ workspace, migration }: { readonly workspace: WorkspaceRef; readonly migration: Migration }) {
  const client = useQueryClient();
  const cancel = useMutation({
    mutationFn: () => cancelMigration(workspace, String(migration.id)),
    onSettled: () => void client.invalidateQueries({ queryKey: ['migrations', workspace.org, workspace.ws] }),
  });
  if (isFinished(migration)) return null;
  return (
    <>
      <ErrorAlert error={cancel.error} />
      <Button variant="default" color="red" loading={cancel.isPending} onClick={() => cancel.mutate()}>
        Cancel
      </Button>
    </>
  );
}

interface BodyProps {
  readonly workspace: WorkspaceRef;
  readonly migration: Migration;
  /** Time of the response in milliseconds. */
  readonly at: number;
}

function Body({ workspace, migration, at }: BodyProps) {
  const { state, strategy, steps, error, waitingFor, createdAt, startedAt, finishedAt } = migration;
  useSaidState(migration);
  const took = formatElapsed(startedAt, finishedAt);
  return (
    <Stack gap="md" maw={1000}>
      <Group gap="sm">
        <Badge color={STATE_COLORS[state]} variant="light" tt="none" size="lg">
          {state}
        </Badge>
        <Text size="sm">
          {strategy}, started <DateTime instant={createdAt} />
          {took === '' ? '' : `, took ${took}`}
        </Text>
      </Group>
      {!isFinished(migration) && <ProgressBar label="Total progress" value={getProgress(migration)} size="lg" />}
      {waitingFor !== null && !isFinished(migration) && (
        <Alert color="yellow" variant="light" p="xs" role="status">
          Waiting for a lock that session {waitingFor.pid ?? 'unknown'} of PostgreSQL holds
          {waitingFor.application === null ? '' : ` (${waitingFor.application})`}
          {waitingFor.since === null ? '' : ', since '}
          {waitingFor.since !== null && <DateTime instant={waitingFor.since} />}. It goes on by itself when that ends.
        </Alert>
      )}
      {error !== null && <Failure workspace={workspace} error={error} />}
      {state === 'cancelled' && (
        <Text size="sm">All its changes were rolled back. The schema and all records are unchanged.</Text>
      )}
      <Table.ScrollContainer minWidth={480}>
        <Table aria-label="Steps of the migration">
          <Table.Tbody>
            {steps.map((step, index) => (
              <Step key={index} step={step} at={at} isRunning={!isFinished(migration)} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {steps.length === 0 && <Text size="sm">No steps: the current document was applied again.</Text>}
      {state === 'succeeded' && (
        <Anchor component={Link} to={screenPath(workspace, '/schema')} size="sm">
          See the schema
        </Anchor>
      )}
    </Stack>
  );
}

function useSaidState({ state, id }: Migration): void {
  const before = useRef(state);
  useEffect(() => {
    if (before.current !== state) announce(`Migration ${id} ${state}`);
    before.current = state;
  }, [state, id]);
}

interface FailureProps {
  readonly workspace: WorkspaceRef;
  readonly error: NonNullable<Migration['error']>;
}

function Failure({ workspace, error: { code, message, entity, count: number, sampleIds } }: FailureProps) {
  const isInTheWay = entity != null && number != null && sampleIds != null && sampleIds.length > 0;
  return (
    <Alert color="red" variant="light" role="alert" p="xs" title={code}>
      <Text size="sm">
        <bdi>{message}</bdi>
      </Text>
      {isInTheWay && <ConflictingRecords workspace={workspace} entity={entity} number={number} ids={sampleIds} />}
      <Group gap="sm" mt={6}>
        <Anchor component={Link} to={screenPath(workspace, '/schema/plan')} size="sm">
          Plan again
        </Anchor>
        <Anchor component={Link} to={screenPath(workspace, '/schema')} size="sm">
          Edit the draft
        </Anchor>
      </Group>
    </Alert>
  );
}

interface StepProps {
  readonly step: MigrationStep;
  readonly at: number;
  readonly isRunning: boolean;
}

function Step({ step, at, isRunning }: StepProps) {
  const { description, state, progress, records } = step;
  const pace = usePace(records ?? undefined, at);
  return (
    <Table.Tr>
      <Table.Td>
        <bdi>{description}</bdi>
        {isRunning && state === 'running' && <ProgressBar label={description} value={progress} />}
        {records != null && state === 'running' && (
          <Text size="xs" c="dimmed">
            {formatCount(records.done)} of ≈ {pluralize(records.total, 'record')}
            {paceWords(pace)}
          </Text>
        )}
      </Table.Td>
      <Table.Td w={120}>
        <Badge color={STATE_COLORS[state]} variant="light" tt="none">
          {state}
        </Badge>
      </Table.Td>
    </Table.Tr>
  );
}

function paceWords(pace: Throughput | undefined): string {
  if (pace === undefined) return '';
  const timeLeft = pace.secondsLeft === undefined ? '' : `, ${formatDuration(pace.secondsLeft)} left`;
  return `, ${formatCount(Math.round(pace.perSecond))} records per second${timeLeft}`;
}

function usePace(
  records: { readonly done: number; readonly total: number } | undefined,
  at: number,
): Throughput | undefined {
  const samples = useRef<readonly Sample[]>([]);
  const [pace, setPace] = useState<Throughput>();
  const [done, total] = [records?.done, records?.total];
  useEffect(() => {
    if (done === undefined || total === undefined) return;
    samples.current = addSample(samples.current, { at, done });
    setPace(measureThroughput(samples.current, total));
  }, [done, total, at]);
  return pace;
}
