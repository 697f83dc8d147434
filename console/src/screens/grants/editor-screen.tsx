// Screen for the grants of an entity. Changes are a draft until they are saved; the preview shows the records of a user
// now and with the draft.

import { Alert, Anchor, Button, Group, Radio, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { AccessLayout } from '../../access/access-layout.tsx';
import { ConflictDialog } from '../../access/conflict-dialog.tsx';
import { type Grants, getRoles, listClaims, moveGrant, NEW_GRANT, sayGrant, toRole } from '../../access/grants.ts';
import { grantsPath, grantsQuery, reportQuery, saveGrants } from '../../access/grants-api.ts';
import type { FormContext } from '../../access/where-form.tsx';
import { type ErrorDetail, isApiError } from '../../api/api-error.ts';
import { stringifyExact } from '../../api/json.ts';
import { type EntityDocument, schemaQuery, type WorkspaceSchema } from '../../api/schema.ts';
import { documentQuery, rolesQuery } from '../../api/schema-document.ts';
import type { Versioned } from '../../api/types.ts';
import { screenPath, type WorkspaceRef } from '../../api/workspace.ts';
import { pluralize } from '../../format/amount.ts';
import { getAt, isSame, type JsonObject, setAt } from '../../schema/json-value.ts';
import { CopyAs } from '../../shell/copy-as.tsx';
import { ConfirmDialog } from '../../shell/dialogs.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { announce } from '../../shell/live-region.tsx';
import { UnsavedChangesGuard } from '../../shell/unsaved-changes.tsx';
import { WarningsAlert } from '../../shell/warnings-alert.tsx';
import { createAdminCall } from '../../snippets/admin.ts';
import { quoteShell } from '../../snippets/snippets.ts';
import { AddRoleDialog } from './add-role-dialog.tsx';
import { GrantForm } from './grant-form.tsx';
import classes from './grants.module.css';
import { Preview } from './preview.tsx';

export function Screen() {
  const { entity } = useParams({ strict: false }) as { readonly entity: string };
  return (
    <AccessLayout
      title={`Grants of ${entity}`}
      noun={grantsPath(entity).slice(1)}
      wda={`access grants get ${quoteShell(entity)}`}
    >
      {(workspace) => <Loaded key={entity} workspace={workspace} name={entity} />}
    </AccessLayout>
  );
}

function Loaded({ workspace, name }: { readonly workspace: WorkspaceRef; readonly name: string }) {
  const grants = useQuery(grantsQuery(workspace, name));
  const schema = useQuery(schemaQuery(workspace));
  const current = schema.data?.entities.get(name);
  // An entity that was renamed or dropped meanwhile keeps its form, and so what was typed.
  const [entity, setEntity] = useState(current);
  if (current !== undefined && current !== entity) setEntity(current);
  return (
    <Stack gap="sm">
      <Anchor component={Link} to={screenPath(workspace, '/access/grants')} size="sm">
        All entities and roles
      </Anchor>
      <ErrorAlert error={grants.error ?? schema.error} onRetry={() => void grants.refetch()} />
      {entity !== undefined && current === undefined && (
        <Alert role="alert" color="yellow" variant="light" p="xs">
          <Text size="sm">
            The entity <bdi>{name}</bdi> was renamed or dropped: its grants cannot be saved here.
          </Text>
        </Alert>
      )}
      {grants.data !== undefined && schema.data !== undefined && entity !== undefined && (
        <Editor workspace={workspace} schema={schema.data} entity={entity} newest={grants.data} />
      )}
    </Stack>
  );
}

type Mode = 'open' | 'grants' | 'closed';

const getMode = (grants: Grants): Mode => (grants === null ? 'open' : grants.length === 0 ? 'closed' : 'grants');

interface EditorProps {
  readonly workspace: WorkspaceRef;
  readonly schema: WorkspaceSchema;
  readonly entity: EntityDocument;
  readonly newest: Versioned<Grants>;
}

function Editor({ workspace, schema, entity, newest }: EditorProps) {
  const queries = useQueryClient();
  const roles = useQuery(rolesQuery(workspace)).data ?? [];
  const document = useQuery(documentQuery(workspace)).data?.document;
  // Grants that the draft started from.
  const [stored, setStored] = useState(newest);
  const [draft, setDraft] = useState(newest.value);
  // Grants to go back to from the other two choices.
  const [kept, setKept] = useState<readonly JsonObject[]>([NEW_GRANT]);
  const [warnings, setWarnings] = useState<readonly string[]>([]);
  const [theirs, setTheirs] = useState<Versioned<Grants>>();
  const [isOpening, setOpening] = useState(false);
  const [roleFor, setRoleFor] = useState<number>();
  const isDirty = !isSame(draft, stored.value);
  const query = grantsQuery(workspace, entity.name);
  const saving = useMutation({
    mutationFn: async ({ grants, etag }: { readonly grants: Grants; readonly etag: string | undefined }) =>
      (await saveGrants(workspace, entity.name, grants, etag)) ??
      // Someone else was faster.
      queries.fetchQuery({ ...query, staleTime: 0 }),
    onSuccess: (saved, { grants }) => {
      setOpening(false);
      if (!('warnings' in saved)) return setTheirs(saved);
      setTheirs(undefined);
      setStored(saved);
      // Edits of the time until the answer stay.
      setDraft((current) => (isSame(current, grants) ? saved.value : current));
      setWarnings(saved.warnings);
      queries.setQueryData(query.queryKey, { value: saved.value, etag: saved.etag });
      void queries.invalidateQueries({ queryKey: reportQuery(workspace).queryKey });
      void queries.invalidateQueries({ queryKey: documentQuery(workspace).queryKey });
      return announce('Grants saved');
    },
    onError: () => setOpening(false),
  });
  if (newest !== stored && !isDirty && !saving.isPending && theirs === undefined) {
    setStored(newest);
    setDraft(newest.value);
  }
  const { errorAt, errorJustAt, others } = placeErrors(saving.error, saving.variables?.grants ?? null, draft);
  const context: FormContext = { schema, entity, claims: listClaims(document), errorAt, errorJustAt };
  const list = draft ?? [];
  const change = (at: number, next: JsonObject): void => setDraft(list.with(at, next));
  const choose = (mode: Mode): void => {
    if (list.length > 0) setKept(list);
    setDraft(mode === 'open' ? null : mode === 'closed' ? [] : list.length > 0 ? list : kept);
  };
  const save = (): void => {
    if (draft === null && stored.value !== null) setOpening(true);
    else saving.mutate({ grants: draft, etag: stored.etag });
  };
  return (
    <Stack gap="md" maw={1000}>
      <Radio.Group
        label={`Who may use ${entity.name}`}
        value={getMode(draft)}
        onChange={(next) => choose(next as Mode)}
      >
        <Stack gap={6} mt={4}>
          <Radio
            size="xs"
            value="open"
            label="Every user of the identity provider"
            description="No grants (null): users have the permissions of the provider, limited by row rules"
          />
          <Radio
            size="xs"
            value="grants"
            label="Users by their grants"
            description="What no grant of a user allows is hidden or refused; several grants add up"
          />
          <Radio
            size="xs"
            value="closed"
            label="No user"
            description="An empty list ([]) closes the entity to users; keys and clients of the workspace go on working"
          />
        </Stack>
      </Radio.Group>
      {list.map((grant, index) => (
        <GrantForm
          key={index}
          context={context}
          grant={grant}
          index={index}
          count={list.length}
          roles={roles}
          onChange={(next) => change(index, next)}
          onMove={(by) => setDraft(moveGrant(list, index, by))}
          onRemove={() => setDraft(list.filter((_, at) => at !== index))}
          onNewRole={() => setRoleFor(index)}
        />
      ))}
      {list.length > 0 && (
        <Group>
          <Button variant="default" onClick={() => setDraft([...list, NEW_GRANT])}>
            Add grant
          </Button>
          <Text size="xs" c="dimmed">
            The order decides which grant a new record is made under: the first that allows it.
          </Text>
        </Group>
      )}
      <ErrorAlert error={others} />
      <WarningsAlert title="Saved, but:" warnings={warnings} />
      {isDirty && (
        <div className={classes.unsaved}>
          <Alert role="group" aria-label="Unsaved grants" color="accent" variant="light" p="xs">
            <Group gap="sm">
              <Text size="sm" role="status">
                Unsaved: nothing has changed for users yet
              </Text>
              <Button size="compact-sm" loading={saving.isPending} onClick={save}>
                Save grants
              </Button>
              <Button
                size="compact-sm"
                variant="default"
                onClick={() => {
                  saving.reset();
                  setDraft(stored.value);
                }}
              >
                Discard changes
              </Button>
              <CopyAs
                label="Copy the change as"
                call={() =>
                  createAdminCall(
                    { origin: location.origin, ...workspace },
                    {
                      method: 'PUT',
                      rest: grantsPath(entity.name),
                      body: stringifyExact(draft),
                      ifMatch: stored.etag,
                    },
                  )
                }
              />
            </Group>
          </Alert>
        </div>
      )}
      <Preview
        workspace={workspace}
        entity={entity}
        roles={roles}
        stored={stored}
        draft={isDirty ? draft : undefined}
      />
      <UnsavedChangesGuard isDirty={isDirty} />
      {isOpening && (
        <ConfirmDialog
          title={
            <>
              Open <bdi>{entity.name}</bdi> to every user?
            </>
          }
          consequences={[
            'Every user of the identity provider may use its records, whatever their roles, as far as row rules allow.',
            `${pluralize(stored.value?.length ?? 0, 'grant')} and all limits on fields are removed.`,
          ]}
          action="Open to every user"
          onClose={() => setOpening(false)}
          onSubmit={async () =>
            void (await saving.mutateAsync({ grants: null, etag: stored.etag }).catch(() => undefined))
          }
        />
      )}
      {roleFor !== undefined && (
        <AddRoleDialog
          workspace={workspace}
          onClose={() => setRoleFor(undefined)}
          onAdded={(role) => {
            const grant = list[roleFor];
            if (grant !== undefined)
              change(roleFor, setAt(grant, ['role'], toRole([...getRoles(grant), role])) as JsonObject);
            setRoleFor(undefined);
          }}
        />
      )}
      {theirs !== undefined && (
        <ConflictDialog
          draft={describe(draft, entity.name)}
          current={describe(theirs.value, entity.name)}
          onClose={() => setTheirs(undefined)}
          onKeepDraft={() => saving.mutate({ grants: draft, etag: theirs.etag })}
          onTakeCurrent={() => {
            setStored(theirs);
            setDraft(theirs.value);
            setTheirs(undefined);
          }}
        />
      )}
    </Stack>
  );
}

/** Describes all grants, one a line. */
function describe(grants: Grants, entity: string): string {
  if (grants === null) return 'No grants: open to every user';
  return grants.length === 0 ? 'Closed to users' : grants.map((grant) => `${sayGrant(grant, entity)}.`).join('\n\n');
}

/** Members of a grant that show messages about themselves. */
const PLACES = /^\d+(\.(role|can|where|fields|write|set)(\.|$)|$)/;

/**
 * Finds the places of an error in the form. A message disappears when what it is about has changed since it was `sent`.
 * `others` is the error if some of it has no place.
 */
function placeErrors(error: unknown, sent: Grants, draft: Grants) {
  const details = isApiError(error) ? error.details : [];
  const isAsSent = ({ field }: ErrorDetail): boolean => {
    const path = field?.split('.') ?? [];
    return isSame(getAt(sent, path), getAt(draft, path));
  };
  const current = details.filter(isAsSent);
  const find = (fits: (field: string) => boolean): string | undefined => {
    const messages = current.filter(({ field }) => field !== null && fits(field)).map(({ message }) => message);
    return messages.length === 0 ? undefined : messages.join('; ');
  };
  const isPlaced = details.length > 0 && details.every(({ field }) => field !== null && PLACES.test(field));
  return {
    errorAt: (path: string) => find((field) => field === path || field.startsWith(`${path}.`)),
    errorJustAt: (path: string) => find((field) => field === path),
    others: isPlaced ? null : error,
  };
}
