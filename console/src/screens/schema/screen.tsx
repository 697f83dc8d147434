// Screen of the schema: diagram, forms and document edit one draft that lasts until it is applied or discarded.
import { Alert, Anchor, Badge, Button, Loader, Tabs, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { stringifyExact } from '../../api/json.ts';
import { workspaceQuery } from '../../api/organizations.ts';
import { screenPath, type WorkspaceRef } from '../../api/workspace.ts';
import { hasNoEntities, withoutSchemaLink } from '../../schema/draft.ts';
import { useInvalidNameReason } from '../../schema/invalid-names.ts';
import { OutdatedDraft } from '../../schema/outdated-draft.tsx';
import { type DraftState, useDraft } from '../../schema/use-draft.ts';
import { useValidation } from '../../schema/use-validation.ts';
import { schemaScreen } from '../../shared-schemas/shared-schemas-api.ts';
import { CopyAs } from '../../shell/copy-as.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { trackLoading } from '../../shell/new-build.ts';
import { ScreenFrame } from '../../shell/screen-frame.tsx';
import { useAddress, useWorkspace } from '../../shell/use-address.ts';
import { createAdminCall, createPlanCall, parseEtag } from '../../snippets/admin.ts';
import { FirstEntity } from './first-entity.tsx';

// The diagram takes 75 kB, the editor 155 and the forms 25: each is loaded when its tab is opened.
const DiagramTab = lazy(() => trackLoading(import('./diagram-tab.tsx')));
const EntitiesTab = lazy(() => trackLoading(import('./entities-tab.tsx')));
const DocumentTab = lazy(() => trackLoading(import('./document-tab.tsx')));

const TABS = ['diagram', 'entities', 'document'] as const;

export function Screen() {
  const workspace = useWorkspace();
  const { state, error } = useDraft(workspace);
  return (
    <ScreenFrame title="Schema" actions={state === undefined ? null : <Actions workspace={workspace} state={state} />}>
      <ErrorAlert error={error} />
      <Follows workspace={workspace} />
      {state !== undefined && <Parts workspace={workspace} state={state} />}
    </ScreenFrame>
  );
}

/** Says that a workspace follows a shared schema, whose versions change it. */
function Follows({ workspace }: { readonly workspace: WorkspaceRef }) {
  const { data } = useQuery(workspaceQuery(workspace));
  if (data?.follows == null) return null;
  const { schema: name, version } = data.follows;
  return (
    <Alert color="accent" variant="light" p="xs" mb="sm">
      This workspace follows version {version} of the shared schema{' '}
      <Anchor component={Link} to={schemaScreen({ org: workspace.org, name })} size="sm" underline="always">
        {name}
      </Anchor>
      . Its schema, settings, row rules and grants are changed by a new version there and a rollout of it. A draft can
      be planned here, but not applied.
    </Alert>
  );
}

function Actions({ workspace, state }: { readonly workspace: WorkspaceRef; readonly state: DraftState }) {
  const refusal = useInvalidNameReason();
  return (
    <>
      {refusal !== undefined && (
        <Text size="xs" c="red" id="why-no-plan">
          {refusal}
        </Text>
      )}
      <CopyAs
        call={() =>
          state.isChanged && state.isReadable ? createDraftPlanCall(workspace, state) : createShowCall(workspace)
        }
      />
      {state.isChanged && (
        <Badge variant="default" tt="none">
          Draft, not applied
        </Badge>
      )}
      {state.isChanged && (
        <Button variant="default" onClick={state.discard}>
          Discard
        </Button>
      )}
      {state.isChanged && state.isReadable && refusal === undefined ? (
        <Button component={Link} to={screenPath(workspace, '/schema/plan')}>
          Plan
        </Button>
      ) : (
        <Button disabled aria-describedby={refusal === undefined ? undefined : 'why-no-plan'}>
          Plan
        </Button>
      )}
    </>
  );
}

const createShowCall = (workspace: WorkspaceRef) =>
  createAdminCall({ origin: location.origin, ...workspace }, { rest: '/schema', wda: 'schema show' });

/** Creates the plan request of the draft for "Copy as". */
const createDraftPlanCall = (workspace: WorkspaceRef, { value, draft }: DraftState) =>
  createPlanCall(
    { origin: location.origin, ...workspace },
    { document: stringifyExact(withoutSchemaLink(value)), strategy: 'online', basedOn: parseEtag(draft.etag) },
  );

function Parts({ workspace, state }: { readonly workspace: WorkspaceRef; readonly state: DraftState }) {
  const { read, write } = useAddress();
  const mistakes = useValidation(workspace, state);
  const parameter = read('tab') ?? '';
  const tab = TABS.find((one) => one === parameter) ?? 'diagram';
  const [added, setAdded] = useState<string>();
  const isBlank = !state.isChanged && hasNoEntities(state.value);
  return (
    <>
      <OutdatedDraft state={state} />
      <ErrorAlert error={mistakes.error} />
      {!state.isReadable && tab !== 'document' && (
        <Alert role="alert" color="yellow" variant="light" p="xs" mb="sm">
          The document cannot be parsed. You see its last valid version. Fix it on the Document tab.
        </Alert>
      )}
      <Tabs value={tab} onChange={(next) => write({ tab: next ?? undefined }, false)}>
        <Tabs.List mb="sm">
          <Tabs.Tab value="diagram">Diagram</Tabs.Tab>
          <Tabs.Tab value="entities">Entities</Tabs.Tab>
          <Tabs.Tab value="document">Document</Tabs.Tab>
        </Tabs.List>
        {isBlank && <FirstEntity workspace={workspace} state={state} onAdded={setAdded} />}
        <Suspense fallback={<Loading />}>
          <Tabs.Panel value="diagram">{!isBlank && <DiagramTab state={state} details={mistakes.details} />}</Tabs.Panel>
          <Tabs.Panel value="entities">
            {!isBlank && <EntitiesTab state={state} details={mistakes.details} added={added} onAdded={setAdded} />}
          </Tabs.Panel>
          <Tabs.Panel value="document">
            <DocumentTab state={state} mistakes={mistakes} />
          </Tabs.Panel>
        </Suspense>
      </Tabs>
    </>
  );
}

const Loading = () => (
  <Text size="sm" c="dimmed">
    <Loader size="xs" /> Loading
  </Text>
);
