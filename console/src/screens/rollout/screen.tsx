// Screen of a rollout: a bar by wave, its counts, what can be done with it, and its workspaces, the failed ones first.
import { Alert, Anchor, Badge, Button, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import type { Rollout, RolloutWorkspace } from '../../api/types.ts';
import { screenPath } from '../../api/workspace.ts';
import { formatCount, pluralize } from '../../format/amount.ts';
import { ConflictingRecords } from '../../schema/conflicting-records.tsx';
import { RolloutBar } from '../../shared-schemas/rollout-bar.tsx';
import {
  commandRollout,
  type RolloutCommand,
  rolloutQuery,
  rolloutWorkspacesQuery,
  type SharedSchemaRef,
  schemaPath,
  schemaScreen,
} from '../../shared-schemas/shared-schemas-api.ts';
import { RolloutStateBadge } from '../../shared-schemas/state-badge.tsx';
import {
  type Counts,
  listCommands,
  OPEN_STATES,
  STATE_WORDS,
  WORKSPACE_COLORS,
  WORKSPACE_STATES,
} from '../../shared-schemas/states.ts';
import { Trail, useSharedSchema } from '../../shared-schemas/trail.tsx';
import { CopyReadAs } from '../../shell/copy-as.tsx';
import { DataTable } from '../../shell/data-table.tsx';
import { DateTime, formatElapsed } from '../../shell/datetime.tsx';
import { ConfirmDialog } from '../../shell/dialogs.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { announce } from '../../shell/live-region.tsx';
import { PagedTable } from '../../shell/paged-table.tsx';
import { PAGE_SIZE, usePage } from '../../shell/pagination.tsx';
import { ScreenFrame } from '../../shell/screen-frame.tsx';
import { useAddress } from '../../shell/use-address.ts';
import { quoteShell } from '../../snippets/snippets.ts';

export function Screen() {
  const schema = useSharedSchema();
  const { id = '' } = useParams({ strict: false }) as { readonly id?: string };
  const { data, error, refetch } = useQuery(rolloutQuery(schema, id));
  return (
    <>
      <Trail {...schema} here={`Rollout ${id}`} />
      <ScreenFrame
        title={`Rollout ${id} of ${schema.name}`}
        actions={
          <>
            <CopyReadAs
              path={schemaPath(schema, `/rollouts/${id}`)}
              wda={`rollout status ${quoteShell(`${schema.org}/${schema.name}`)} --id ${quoteShell(id)}`}
            />
            {data !== undefined && <Commands schema={schema} rollout={data} />}
          </>
        }
      >
        <ErrorAlert error={error} onRetry={() => void refetch()} />
        {data !== undefined && <Body schema={schema} rollout={data} />}
      </ScreenFrame>
    </>
  );
}

const COMMAND_WORDS: Readonly<Record<RolloutCommand, string>> = {
  pause: 'Pause',
  resume: 'Resume',
  retry: 'Retry the failed ones',
  cancel: 'Cancel the rollout',
};

interface PartProps {
  readonly schema: SharedSchemaRef;
  readonly rollout: Rollout;
}

function Commands({ schema, rollout }: PartProps) {
  const client = useQueryClient();
  const [isCancelling, setCancelling] = useState(false);
  const id = String(rollout.id);
  const { queryKey } = rolloutQuery(schema, id);
  const send = useMutation({
    mutationFn: (command: RolloutCommand) => commandRollout(schema, id, command),
    onSettled: () => client.invalidateQueries({ queryKey }),
  });
  return (
    <>
      <ErrorAlert error={send.error} />
      {listCommands(rollout).map((command) => (
        <Button
          key={command}
          variant={command === 'resume' ? 'filled' : 'default'}
          loading={send.isPending && send.variables === command}
          onClick={() => (command === 'cancel' ? setCancelling(true) : send.mutate(command))}
        >
          {COMMAND_WORDS[command]}
        </Button>
      ))}
      {isCancelling && (
        <ConfirmDialog
          title={`Cancel rollout ${id}?`}
          action={COMMAND_WORDS.cancel}
          cancelLabel="Go on"
          consequences={[
            'Workspaces that have the version keep it.',
            'Those under way are finished, the others are skipped.',
            'It cannot be resumed.',
          ]}
          onClose={() => setCancelling(false)}
          onSubmit={async () => {
            await commandRollout(schema, id, 'cancel');
            await client.invalidateQueries({ queryKey });
            setCancelling(false);
          }}
        />
      )}
    </>
  );
}

function Body({ schema, rollout }: PartProps) {
  const { id, version, state, wave, waves, createdAt, startedAt, finishedAt } = rollout;
  const took = formatElapsed(startedAt, finishedAt);
  const before = useRef(state);
  useEffect(() => {
    if (before.current !== state) announce(`Rollout ${id}: ${STATE_WORDS[state]}`);
    before.current = state;
  }, [state, id]);
  return (
    <Stack gap="md" maw={1000}>
      <Group gap="sm">
        <RolloutStateBadge state={state} size="lg" />
        <Text size="sm">
          to{' '}
          <Anchor component={Link} size="sm" underline="always" to={schemaScreen(schema, `/versions/${version}`)}>
            version {version}
          </Anchor>
          {OPEN_STATES.has(state) ? `, wave ${wave} of ${waves.length}` : `, ${pluralize(waves.length, 'wave')}`},
          started <DateTime instant={createdAt} />
          {took === '' ? '' : `, took ${took}`}
        </Text>
      </Group>
      <RolloutBar rollout={rollout} label="Progress of the rollout" size="xl" />
      {state === 'paused' && <Paused rollout={rollout} />}
      <Waves rollout={rollout} />
      <Workspaces schema={schema} rollout={rollout} />
    </Stack>
  );
}

function Paused({ rollout: { wave, waves, counts } }: Pick<PartProps, 'rollout'>) {
  const current = waves[wave - 1];
  const isWaveOpen = current !== undefined && current.waiting + current.running > 0;
  return (
    <Alert color="yellow" variant="light" p="xs" role="status">
      {isWaveOpen ? `It is paused in wave ${wave}.` : `Wave ${wave} has ended.`}
      {counts.failed > 0 && ` ${formatCount(counts.failed)} failed: look at them before you go on.`} Resume continues{' '}
      {isWaveOpen || wave >= waves.length ? '' : `with wave ${wave + 1} `}and counts failures from 0.
    </Alert>
  );
}

function Waves({ rollout: { state, wave, waves } }: Pick<PartProps, 'rollout'>) {
  // A rollout that has ended is in no wave.
  const current = OPEN_STATES.has(state) ? wave : undefined;
  return (
    <DataTable<Counts & { readonly wave: number }>
      label="Waves"
      rows={waves.map((counts, index) => ({ ...counts, wave: index + 1 }))}
      rowKey={({ wave }) => wave}
      minWidth={560}
      columns={[
        {
          title: 'Wave',
          isRowHeader: true,
          cell: ({ wave: number }) => (number === current ? <b>{number}, the current one</b> : number),
        },
        ...WORKSPACE_STATES.map((state) => ({
          title: state,
          isNumeric: true,
          cell: (counts: Counts) =>
            counts[state] === 0 ? (
              <Text span size="sm" c="dimmed">
                0
              </Text>
            ) : (
              <b>{formatCount(counts[state])}</b>
            ),
        })),
      ]}
    />
  );
}

function Workspaces({ schema, rollout }: PartProps) {
  const { read, write } = useAddress();
  const [page] = usePage();
  const state = read('state') ?? 'failed';
  const id = String(rollout.id);
  const workspaces = useQuery(
    rolloutWorkspacesQuery(schema, { id, ...(state === 'all' ? {} : { state }), page, size: PAGE_SIZE }),
  );
  return (
    <section aria-label="Workspaces">
      <NativeSelect
        label="Workspaces"
        maw={240}
        mb="xs"
        value={state}
        data={[
          { value: 'failed', label: `failed (${rollout.counts.failed})` },
          ...WORKSPACE_STATES.filter((one) => one !== 'failed').map((one) => ({
            value: one,
            label: `${one} (${rollout.counts[one]})`,
          })),
          { value: 'all', label: 'all' },
        ]}
        onChange={({ currentTarget: { value } }) =>
          write({ state: value === 'failed' ? undefined : value, page: undefined })
        }
      />
      <PagedTable
        label="Workspaces of the rollout"
        query={workspaces}
        empty={state === 'failed' ? 'No workspace has failed.' : 'None.'}
        rowKey={({ workspace }) => workspace}
        minWidth={600}
        columns={[
          {
            title: 'Workspace',
            isRowHeader: true,
            cell: ({ workspace }) => (
              <Anchor component={Link} size="sm" to={`/${schema.org}/${workspace}`}>
                {workspace}
              </Anchor>
            ),
          },
          {
            title: 'State',
            minWidth: 110,
            cell: ({ state: one }) => (
              <Badge color={WORKSPACE_COLORS[one]} variant="light" tt="none">
                {one}
              </Badge>
            ),
          },
          { title: 'Error', minWidth: 240, cell: (one) => <Failure org={schema.org} workspace={one} /> },
          {
            title: 'Migration',
            isNumeric: true,
            cell: ({ workspace: ws, migration }) =>
              migration !== null && (
                <Anchor component={Link} size="sm" to={screenPath({ org: schema.org, ws }, `/migrations/${migration}`)}>
                  {migration}
                </Anchor>
              ),
          },
        ]}
      />
    </section>
  );
}

interface FailureProps {
  readonly org: string;
  readonly workspace: RolloutWorkspace;
}

function Failure({ org, workspace: { workspace: ws, error } }: FailureProps) {
  if (error === null) return null;
  const { message, entity, count, sampleIds } = error;
  return (
    <>
      <Text size="sm">
        <bdi>{message}</bdi>
      </Text>
      {entity != null && count != null && sampleIds != null && sampleIds.length > 0 && (
        <ConflictingRecords workspace={{ org, ws }} entity={entity} number={count} ids={sampleIds} />
      )}
    </>
  );
}
