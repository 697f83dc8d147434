// Plan of the draft: its steps, conflicts and losses, and the button that applies it.

import { Alert, Anchor, Button, Group, Radio, Stack, Tabs, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { hasStatus, isApiError } from '../../api/api-error.ts';
import { stringifyExact } from '../../api/json.ts';
import { getDroppedName } from '../../api/migration-progress.ts';
import { planQuery, type Strategy, startMigration } from '../../api/migrations.ts';
import { workspaceQuery } from '../../api/organizations.ts';
import type { Plan } from '../../api/types.ts';
import { screenPath, type WorkspaceRef } from '../../api/workspace.ts';
import { DifferenceView } from '../../schema/difference-view.tsx';
import { withoutSchemaLink } from '../../schema/draft.ts';
import { OutdatedDraft } from '../../schema/outdated-draft.tsx';
import classes from '../../schema/schema.module.css';
import { type DraftState, useDraft } from '../../schema/use-draft.ts';
import { CopyAs } from '../../shell/copy-as.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { ScreenFrame } from '../../shell/screen-frame.tsx';
import { useAddress, useWorkspace } from '../../shell/use-address.ts';
import { createApplyCall, createPlanCall, parseEtag } from '../../snippets/admin.ts';
import { RenameQuestions } from './rename-questions.tsx';
import { Steps } from './steps.tsx';

export function Screen() {
  const workspace = useWorkspace();
  const { state, error } = useDraft(workspace);
  const back = (
    <Button component={Link} to={screenPath(workspace, '/schema')} variant="default">
      Edit the draft
    </Button>
  );
  return (
    <ScreenFrame title="Plan" actions={back}>
      <ErrorAlert error={error} />
      {state !== undefined && <Body workspace={workspace} state={state} />}
    </ScreenFrame>
  );
}

function Body({ workspace, state }: { readonly workspace: WorkspaceRef; readonly state: DraftState }) {
  const { read, write } = useAddress();
  const strategy: Strategy = read('strategy') === 'blocking' ? 'blocking' : 'online';
  const client = useQueryClient();
  const isPlanned = state.isChanged && state.isReadable && !state.isOutdated;
  const basedOn = parseEtag(state.draft.etag);
  const plan = useQuery({
    ...planQuery(workspace, withoutSchemaLink(state.value), strategy, basedOn),
    enabled: isPlanned,
    staleTime: 0,
  });
  // Another user was faster: when their document arrives, the draft is outdated and the page offers the merge.
  const isOvertaken = hasStatus(plan.error, 412);
  useEffect(() => {
    if (isOvertaken) void client.invalidateQueries({ queryKey: ['document'] });
  }, [isOvertaken, client]);
  if (!state.isChanged) return <Text size="sm">The draft has no changes.</Text>;
  if (!state.isReadable)
    return (
      <Alert role="alert" color="yellow" variant="light" p="xs">
        The document cannot be read.{' '}
        <Anchor component={Link} to={screenPath(workspace, '/schema')} search={{ tab: 'document' } as never} size="sm">
          Fix it
        </Anchor>
      </Alert>
    );
  return (
    <Stack gap="md" maw={1100}>
      <OutdatedDraft state={state} />
      <RenameQuestions state={state} />
      <Radio.Group label="Strategy" value={strategy} onChange={(next) => write({ strategy: next })}>
        <Group gap="md" mt={4}>
          <Radio size="xs" value="online" label="Online: requests continue during the migration" />
          <Radio size="xs" value="blocking" label="Blocking: faster, but affected requests get 503 until it finishes" />
        </Group>
      </Radio.Group>
      <ErrorAlert error={isOvertaken ? null : plan.error} onRetry={() => void plan.refetch()} />
      {isApiError(plan.error, 'VALIDATION_FAILED') && (
        <Anchor component={Link} to={screenPath(workspace, '/schema')} search={{ tab: 'document' } as never} size="sm">
          Fix the document
        </Anchor>
      )}
      <Tabs defaultValue="steps">
        <Tabs.List aria-label="Plan">
          <Tabs.Tab value="steps">Steps</Tabs.Tab>
          <Tabs.Tab value="document">Document</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="steps" pt="xs">
          {plan.data === undefined ? (
            plan.isFetching && <Text size="sm">Planning …</Text>
          ) : (
            <Steps workspace={workspace} plan={plan.data} />
          )}
        </Tabs.Panel>
        <Tabs.Panel value="document" pt="xs">
          <DifferenceView
            before={state.current.document}
            after={withoutSchemaLink(state.value)}
            format={state.draft.format}
            label="Difference of the draft and the document in force"
          />
        </Tabs.Panel>
      </Tabs>
      {plan.data !== undefined && (
        <Apply
          key={listDropped(plan.data).join()}
          workspace={workspace}
          state={state}
          plan={plan.data}
          strategy={strategy}
        >
          <Button variant="default" onClick={() => void plan.refetch()} loading={plan.isFetching}>
            Plan again
          </Button>
          <CopyAs
            label="Copy the plan as"
            call={() =>
              createPlanCall(
                { origin: location.origin, ...workspace },
                { document: stringifyExact(withoutSchemaLink(state.value)), strategy, basedOn },
              )
            }
          />
        </Apply>
      )}
    </Stack>
  );
}

/** Lists the names to type, in the order of the steps. */
const listDropped = ({ steps }: Plan): readonly string[] => [
  ...new Set(steps.filter(({ destructive }) => destructive).map(getDroppedName)),
];

interface ApplyProps {
  readonly workspace: WorkspaceRef;
  readonly state: DraftState;
  readonly plan: Plan;
  readonly strategy: Strategy;
  /** Buttons next to Apply. */
  readonly children: ReactNode;
}

/** Stays in sight below a long list of steps. */
function Apply({ workspace, state, plan, strategy, children }: ApplyProps) {
  const { data: settings } = useQuery(workspaceQuery(workspace));
  const follows = settings?.follows ?? undefined;
  const client = useQueryClient();
  const navigate = useNavigate();
  const [typed, setTyped] = useState<ReadonlyMap<string, string>>(new Map());
  const destroyed = listDropped(plan);
  const isConfirmed = destroyed.every((name) => typed.get(name) === name);
  const blocked = plan.steps.reduce((sum, { conflicts }) => sum + (conflicts?.count ?? 0), 0);
  const apply = useMutation({
    mutationFn: () =>
      startMigration(workspace, {
        document: withoutSchemaLink(state.value),
        strategy,
        allowDestructive: plan.destructive,
        basedOn: plan.basedOn,
      }),
    onSuccess: ({ migration: { id }, warnings }) => {
      state.begin(String(id));
      void client.invalidateQueries({ queryKey: ['migrations', workspace.org, workspace.ws] });
      return navigate({ to: screenPath(workspace, `/migrations/${id}`), state: { warnings } as never });
    },
    onError: (thrown) => hasStatus(thrown, 412) && client.invalidateQueries({ queryKey: ['document'] }),
  });
  return (
    <section aria-label="Apply" className={classes.apply}>
      {destroyed.map((name) => (
        <TextInput
          key={name}
          label={`Type ${name} to drop it`}
          value={typed.get(name) ?? ''}
          onChange={({ currentTarget: { value } }) => setTyped(new Map(typed).set(name, value))}
          autoComplete="off"
          spellCheck={false}
          maw={360}
          mb={6}
        />
      ))}
      <ErrorAlert error={hasStatus(apply.error, 412) ? null : apply.error} />
      <Group gap="sm">
        <Button
          onClick={() => apply.mutate()}
          loading={apply.isPending}
          color={destroyed.length > 0 ? 'red' : 'accent'}
          disabled={!isConfirmed || state.isOutdated || blocked > 0 || follows !== undefined}
        >
          Apply
        </Button>
        <CopyAs
          call={() =>
            createApplyCall(
              { origin: location.origin, ...workspace },
              {
                document: stringifyExact(withoutSchemaLink(state.value)),
                strategy,
                basedOn: plan.basedOn,
                allowDestructive: plan.destructive,
              },
            )
          }
        />
        {children}
        {follows !== undefined && (
          <Text size="sm" c="dimmed">
            The workspace follows the shared schema <bdi>{follows.schema}</bdi>, a new version of which changes it.
          </Text>
        )}
        {blocked > 0 && (
          <Text size="sm" c="dimmed">
            Fix the conflicting records first, then plan again.
          </Text>
        )}
        {state.isOutdated && (
          <Text size="sm" c="dimmed">
            Merge the changes by others first.
          </Text>
        )}
      </Group>
    </section>
  );
}
