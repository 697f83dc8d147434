// Preview of grants: the records that a user with sample roles and claims sees, now and with the unsaved grants.
import { Button, MultiSelect, Stack, Text, Textarea, Title } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import classes from '../../access/access.module.css';
import { type Grants, listClaims, selectGrants } from '../../access/grants.ts';
import { type PreviewSide, previewAccess, type Trial } from '../../access/rules-api.ts';
import { SeenTable } from '../../access/seen-table.tsx';
import { stringifyExact } from '../../api/json.ts';
import type { EntityDocument } from '../../api/schema.ts';
import type { Versioned } from '../../api/types.ts';
import { type Claims, parseClaims } from '../../api/view-as.ts';
import type { WorkspaceRef } from '../../api/workspace.ts';
import { ErrorAlert } from '../../shell/error-alert.tsx';

/** Most columns of a table of the preview, besides the id. */
const MAX_COLUMNS = 8;

export interface PreviewProps {
  readonly workspace: WorkspaceRef;
  readonly entity: EntityDocument;
  readonly roles: readonly string[];
  readonly stored: Versioned<Grants>;
  /** Unsaved grants; undefined if there are none. */
  readonly draft: Grants | undefined;
}

export function Preview({ workspace, entity, roles, stored, draft }: PreviewProps) {
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [user, setUser] = useState<{ readonly claims: Claims; readonly roles: readonly string[] }>();
  const [message, setMessage] = useState<string>();
  const named = listClaims({ entities: { [entity.name]: { grants: draft ?? stored.value } } });
  const example = `{${stringifyExact(named[0] ?? 'sub')}: 1}`;
  // Without a role the claims decide, which may have some.
  const toTrial = (grants: Grants): Trial => ({
    grants: {
      [entity.name]: user === undefined || user.roles.length === 0 ? grants : selectGrants(grants, user.roles),
    },
  });
  const preview = useQuery({
    queryKey: [
      'preview-grants',
      workspace.org,
      workspace.ws,
      entity.name,
      user === undefined ? '' : stringifyExact(user),
      stored.etag,
      draft === undefined ? '' : stringifyExact(draft),
    ],
    queryFn: ({ signal }) =>
      previewAccess(
        workspace,
        {
          claims: user?.claims ?? {},
          entity: entity.name,
          fields: undefined,
          current: toTrial(stored.value),
          trial: draft === undefined ? undefined : toTrial(draft),
        },
        signal,
      ),
    enabled: user !== undefined,
    placeholderData: keepPreviousData,
    retry: false,
  });
  function submit(): void {
    const parsed = text.trim() === '' ? {} : parseClaims(text);
    setMessage(parsed === undefined ? `must be a JSON object, such as ${example}` : undefined);
    if (parsed !== undefined) setUser({ claims: parsed, roles: chosen });
  }
  const sides = preview.error === null ? preview.data : undefined;
  return (
    <section aria-labelledby="grant-preview">
      <Title order={2} id="grant-preview" mb="xs">
        Preview
      </Title>
      <div className={classes.tester}>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            submit();
          }}
        >
          <Stack gap="sm" align="start">
            <MultiSelect
              label="Roles of the user"
              description="None chosen: the roles in the claims"
              placeholder={chosen.length === 0 ? 'None' : ''}
              data={[...roles]}
              value={[...chosen]}
              onChange={setChosen}
              searchable
              size="xs"
              w="100%"
            />
            <Textarea
              label="Claims of the user"
              placeholder={example}
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
              error={message}
              autosize
              minRows={3}
              maxRows={16}
              spellCheck={false}
              w="100%"
              styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
            />
            <Button type="submit" variant="default">
              Show records
            </Button>
          </Stack>
        </form>
        <Stack gap="sm" aria-busy={preview.isFetching}>
          <ErrorAlert error={preview.error} onRetry={() => void preview.refetch()} />
          {user === undefined && (
            <Text size="sm" c="dimmed">
              Choose roles and claims of a user to see which records it would see. Nothing is saved by that.
            </Text>
          )}
          {user !== undefined && sides !== undefined && (
            <div className={classes.sides}>
              <SeenTable title="Now" side={sides.current} fields={listFields(entity, sides.current)} />
              {sides.draft !== undefined && (
                <SeenTable
                  title="With the unsaved grants"
                  side={sides.draft}
                  fields={listFields(entity, sides.draft)}
                />
              )}
            </div>
          )}
        </Stack>
      </div>
    </section>
  );
}

/** Lists the fields that the user sees, without `id`. */
function listFields(entity: EntityDocument, { list: { records } }: PreviewSide): readonly string[] {
  const names = new Set(records.flatMap((record) => Object.keys(record)));
  names.delete('id');
  const declared = [...entity.fields.keys()].filter((name) => names.has(name));
  return [...new Set([...declared, ...names])].slice(0, MAX_COLUMNS);
}
