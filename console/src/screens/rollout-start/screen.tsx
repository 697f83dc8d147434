// Form of a rollout: it is planned first, with the conflicting records, and started after that.
import { Alert, Anchor, Button, Checkbox, Group, NativeSelect, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { fieldError, isShownAtFields } from '../../api/api-error.ts';
import type { NewRollout, RolloutPlan, SharedSchema } from '../../api/types.ts';
import { formatCount, pluralize } from '../../format/amount.ts';
import { ConflictingRecords } from '../../schema/conflicting-records.tsx';
import {
  rolloutPlanQuery,
  type SharedSchemaRef,
  schemaScreen,
  sharedSchemaQuery,
  startPlan,
  startRollout,
} from '../../shared-schemas/shared-schemas-api.ts';
import { Trail, useSharedSchema } from '../../shared-schemas/trail.tsx';
import { DataTable } from '../../shell/data-table.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { ProgressBar } from '../../shell/progress-bar.tsx';
import { ScreenFrame } from '../../shell/screen-frame.tsx';

export function Screen() {
  const schema = useSharedSchema();
  const { data, error, refetch } = useQuery(sharedSchemaQuery(schema));
  return (
    <>
      <Trail {...schema} here="New rollout" />
      <ScreenFrame title={`New rollout of ${schema.name}`}>
        <ErrorAlert error={error} onRetry={() => void refetch()} />
        {data?.newest === null && <Text size="sm">Publish a version first.</Text>}
        {data !== undefined && data.newest !== null && (
          <RolloutForm schema={schema} shared={data} newest={data.newest} />
        )}
      </ScreenFrame>
    </>
  );
}

interface RolloutFormProps {
  readonly schema: SharedSchemaRef;
  readonly shared: SharedSchema;
  readonly newest: number;
}

const FIELDS = ['version', 'workspaces', 'waves', 'maxFailures', 'concurrency'] as const;

const split = (text: string): readonly string[] => text.split(/[\s,]+/).filter((part) => part !== '');

/** Parses digits to a number; the server refuses any other text. */
const parseShare = (text: string): number | string => (/^\d+$/.test(text) ? Number(text) : text);

function RolloutForm({ schema, shared, newest }: RolloutFormProps) {
  const navigate = useNavigate();
  const [version, setVersion] = useState(newest);
  const [slugs, setSlugs] = useState('');
  const [waves, setWaves] = useState('1, 10, rest');
  const [isConfirmed, setConfirmed] = useState(true);
  const [maxFailures, setMaxFailures] = useState('10');
  const [concurrency, setConcurrency] = useState('2');
  const [skipConflicts, setSkipConflicts] = useState(false);
  const [typed, setTyped] = useState('');
  const target = { version, ...(split(slugs).length === 0 ? {} : { workspaces: split(slugs) }) };
  const planning = useMutation({ mutationFn: () => startPlan(schema, target) });
  // A plan is about the workspaces and the version that it was requested for.
  const restart = (): void => {
    planning.reset();
    setTyped('');
  };
  const { data: plan, error } = useQuery(rolloutPlanQuery(schema, planning.data?.id));
  const isLossy = plan !== undefined && plan.destructive > 0;
  const start = useMutation({
    mutationFn: () =>
      startRollout(schema, {
        ...target,
        waves: split(waves).map(parseShare),
        pause: isConfirmed ? 'confirm' : 'none',
        maxFailures: parseShare(maxFailures),
        concurrency: parseShare(concurrency) as number,
        skipConflicts,
        allowDestructive: isLossy,
      } as NewRollout),
    onSuccess: ({ id }) => navigate({ to: schemaScreen(schema, `/rollouts/${id}`) }),
  });
  const refusal = start.error ?? planning.error;
  return (
    <Stack gap="sm" maw={720}>
      <NativeSelect
        label="Version"
        maw={160}
        data={Array.from({ length: newest }, (_, index) => String(newest - index))}
        value={String(version)}
        onChange={({ currentTarget: { value } }) => {
          setVersion(Number(value));
          restart();
        }}
        error={fieldError(refusal, 'version')}
      />
      <Textarea
        label="Workspaces"
        description={`Slugs in their order. Empty: all ${formatCount(shared.followers)} that follow`}
        value={slugs}
        onChange={({ currentTarget: { value } }) => {
          setSlugs(value);
          restart();
        }}
        error={fieldError(refusal, 'workspaces')}
        autosize
        maxRows={8}
      />
      <Group gap="md" align="start">
        <TextInput
          label="Waves"
          description="Numbers or percentages; rest is last"
          value={waves}
          onChange={({ currentTarget: { value } }) => setWaves(value)}
          error={fieldError(refusal, 'waves')}
        />
        <TextInput
          label="Most failures"
          description="With more it pauses: a number or a percentage"
          value={maxFailures}
          onChange={({ currentTarget: { value } }) => setMaxFailures(value)}
          error={fieldError(refusal, 'maxFailures')}
        />
        <TextInput
          label="Workspaces at a time"
          description="1 to 16"
          value={concurrency}
          onChange={({ currentTarget: { value } }) => setConcurrency(value)}
          error={fieldError(refusal, 'concurrency')}
        />
      </Group>
      <Checkbox
        label="Pause after each wave until it is resumed"
        checked={isConfirmed}
        onChange={({ currentTarget: { checked } }) => setConfirmed(checked)}
      />
      <Checkbox
        label="Skip workspaces with conflicting records"
        checked={skipConflicts}
        onChange={({ currentTarget: { checked } }) => setSkipConflicts(checked)}
      />
      {!isShownAtFields(refusal, FIELDS) && <ErrorAlert error={refusal} />}
      <ErrorAlert error={error} />
      {plan !== undefined && <Plan org={schema.org} plan={plan} />}
      {isLossy && plan.state === 'planned' && (
        <TextInput
          label={`Type ${schema.name} to drop what version ${version} does not have`}
          value={typed}
          onChange={({ currentTarget: { value } }) => setTyped(value)}
          autoComplete="off"
          maw={420}
        />
      )}
      <Group gap="xs">
        <Button
          variant={plan === undefined ? 'filled' : 'default'}
          loading={planning.isPending}
          onClick={() => planning.mutate()}
        >
          {plan === undefined ? 'Plan' : 'Plan again'}
        </Button>
        {plan?.state === 'planned' && (
          <Button
            color={isLossy ? 'red' : 'accent'}
            disabled={isLossy && typed !== schema.name}
            loading={start.isPending}
            onClick={() => start.mutate()}
          >
            Start
          </Button>
        )}
      </Group>
    </Stack>
  );
}

function Plan({ org, plan }: { readonly org: string; readonly plan: RolloutPlan }) {
  const { state, planned, total, unchanged, ready, conflicts, destructive, workspaces } = plan;
  if (state === 'planning')
    return (
      <ProgressBar label={`Planning ${planned} of ${total}`} value={total === 0 ? 0 : planned / total} size="lg" />
    );
  return (
    <section aria-label="Plan">
      <Alert role="status" color={conflicts > 0 || destructive > 0 ? 'yellow' : 'green'} variant="light" p="xs" mb="xs">
        {pluralize(ready, 'workspace')} can be changed, {formatCount(unchanged)} unchanged, {formatCount(conflicts)}{' '}
        with conflicting records or without a way to the version.
        {destructive > 0 && ` ${pluralize(destructive, 'workspace loses', 'workspaces lose')} something.`}
      </Alert>
      {workspaces.length > 0 && (
        <DataTable
          label="Conflicts"
          rows={workspaces}
          rowKey={({ workspace }) => workspace}
          minWidth={480}
          columns={[
            {
              title: 'Workspace',
              isRowHeader: true,
              cell: ({ workspace }) => (
                <Anchor component={Link} size="sm" to={`/${org}/${workspace}`}>
                  {workspace}
                </Anchor>
              ),
            },
            {
              title: 'Conflicting records',
              minWidth: 240,
              cell: ({ workspace, conflicts: records, error }) => (
                <>
                  {error !== null && <bdi>{error.message}</bdi>}
                  {records.map(({ entity, field, count, sampleIds }) => (
                    <div key={`${entity}.${field}`}>
                      <bdi>{field === null ? entity : `${entity}.${field}`}</bdi>{' '}
                      <ConflictingRecords
                        workspace={{ org, ws: workspace }}
                        entity={entity}
                        number={count}
                        ids={sampleIds}
                      />
                    </div>
                  ))}
                </>
              ),
            },
          ]}
        />
      )}
    </section>
  );
}
