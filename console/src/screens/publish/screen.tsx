// Screen that publishes a version of a shared schema: the editor of schemas, with the steps from the newest version.
import { Alert, Button, Loader, Stack, Tabs, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useMemo, useState } from 'react';
import { isApiError } from '../../api/api-error.ts';
import { type Json, stringifyExact } from '../../api/json.ts';
import type { PublishedVersion } from '../../api/types.ts';
import { DifferenceView } from '../../schema/difference-view.tsx';
import { hasNoEntities, printExample, withoutSchemaLink } from '../../schema/draft.ts';
import { OutdatedDraft } from '../../schema/outdated-draft.tsx';
import { type DraftState, useStoredDraft } from '../../schema/use-draft.ts';
import type { DraftValidation } from '../../schema/use-validation.ts';
import {
  dryRunQuery,
  publish,
  type SharedSchemaRef,
  schemaScreen,
  schemasKey,
  sharedSchemaQuery,
  versionQuery,
} from '../../shared-schemas/shared-schemas-api.ts';
import { Trail, useSharedSchema } from '../../shared-schemas/trail.tsx';
import { VersionSteps } from '../../shared-schemas/version-steps.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { announce } from '../../shell/live-region.tsx';
import { trackLoading } from '../../shell/new-build.ts';
import { ScreenFrame } from '../../shell/screen-frame.tsx';
import { useAddress } from '../../shell/use-address.ts';
import { RenameQuestions } from '../plan/rename-questions.tsx';
import EntitiesTab from '../schema/entities-tab.tsx';

const DocumentTab = lazy(() => trackLoading(import('../schema/document-tab.tsx')));

// Milliseconds without a key before a dry run.
const PAUSE_MS = 500;
const EMPTY: Json = { entities: {} };

export function Screen() {
  const schema = useSharedSchema();
  const { data: shared, error } = useQuery(sharedSchemaQuery(schema));
  const newest = shared?.newest ?? null;
  const version = useQuery({ ...versionQuery(schema, newest ?? 0), enabled: newest !== null });
  const document = newest === null ? (shared === undefined ? undefined : EMPTY) : version.data?.schema;
  return (
    <>
      <Trail {...schema} here="New version" />
      <ScreenFrame title={`New version of ${schema.name}`}>
        <ErrorAlert error={error ?? version.error} />
        {document !== undefined && <Editor key={`${schema.org}/${schema.name}`} schema={schema} document={document} />}
      </ScreenFrame>
    </>
  );
}

interface EditorProps {
  readonly schema: SharedSchemaRef;
  readonly document: Json;
}

function Editor({ schema, document }: EditorProps) {
  const { read, write } = useAddress();
  const inForce = useMemo(() => ({ document, text: stringifyExact(document), etag: undefined }), [document]);
  // `-` is no slug, so no workspace has this draft.
  const state = useStoredDraft({ org: schema.org, ws: `-/${schema.name}` }, inForce);
  const [added, setAdded] = useState<string>();
  const [value] = useDebouncedValue(state.value, PAUSE_MS);
  const isSent = state.isReadable && state.isChanged;
  const dryRun = useQuery({ ...dryRunQuery(schema, withoutSchemaLink(value)), enabled: isSent, staleTime: 30_000 });
  const details = isSent && isApiError(dryRun.error, 'VALIDATION_FAILED') ? dryRun.error.details : [];
  const mistakes: DraftValidation = {
    details,
    error: isSent && details.length === 0 ? dryRun.error : null,
    isChecked: isSent && dryRun.isSuccess,
  };
  return (
    <Stack gap="md" maw={1200}>
      <OutdatedDraft state={state} />
      <ErrorAlert error={mistakes.error} />
      {!state.isChanged && hasNoEntities(state.value) && (
        <div>
          <Button variant="default" onClick={() => state.setText(printExample('Simple', state.draft.format))}>
            Start from an example
          </Button>
        </div>
      )}
      <Tabs
        value={read('tab') ?? 'document'}
        onChange={(tab) => write({ tab: tab === 'document' ? undefined : (tab ?? undefined) }, false)}
      >
        <Tabs.List mb="sm">
          <Tabs.Tab value="document">Document</Tabs.Tab>
          <Tabs.Tab value="entities">Entities</Tabs.Tab>
        </Tabs.List>
        <Suspense fallback={<Loader size="xs" />}>
          <Tabs.Panel value="document">
            <DocumentTab state={state} mistakes={mistakes} />
          </Tabs.Panel>
          <Tabs.Panel value="entities">
            <EntitiesTab state={state} details={details} added={added} onAdded={setAdded} />
          </Tabs.Panel>
        </Suspense>
      </Tabs>
      <RenameQuestions state={state} />
      {!state.isChanged && <Text size="sm">The draft has no changes.</Text>}
      {isSent && value === state.value && dryRun.data !== undefined && (
        <Publish schema={schema} state={state} planned={dryRun.data} />
      )}
    </Stack>
  );
}

interface PublishProps {
  readonly schema: SharedSchemaRef;
  readonly state: DraftState;
  /** Answer of the dry run. */
  readonly planned: PublishedVersion;
}

function Publish({ schema, state, planned: { version, steps } }: PublishProps) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const sending = useMutation({
    mutationFn: () => publish(schema, withoutSchemaLink(state.value)),
    onSuccess: async (published) => {
      announce(`Version ${published.version} is published`);
      state.discard();
      await navigate({ to: schemaScreen(schema, `/versions/${published.version}`) });
      await client.invalidateQueries({ queryKey: schemasKey(schema.org) });
    },
  });
  return (
    <section aria-label={`Version ${version}`}>
      <Stack gap="sm">
        <Text component="h2" size="sm" fw={600}>
          Steps of version {version}
        </Text>
        <VersionSteps label="Steps" steps={steps} />
        {steps.some(({ destructive }) => destructive) && (
          <Alert color="yellow" variant="light" p="xs">
            Publishing drops nothing. A rollout of this version does, and asks before.
          </Alert>
        )}
        <DifferenceView
          before={state.current.document}
          after={withoutSchemaLink(state.value)}
          format={state.draft.format}
          label="Difference of the draft and the newest version"
        />
        <ErrorAlert error={sending.error} />
        <div>
          <Button loading={sending.isPending} disabled={state.isOutdated} onClick={() => sending.mutate()}>
            Publish version {version}
          </Button>
        </div>
      </Stack>
    </section>
  );
}
