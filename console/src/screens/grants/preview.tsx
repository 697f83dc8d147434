// Preview of grants: the records that a user with sample roles and claims sees, now and with the unsaved grants.
import { Button, MultiSelect, Stack, Text, Textarea, Title } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import classes from '../../access/access.module.css';
import { type Grants, listClaims } from '../../access/grants.ts';
import { type PreviewSide, previewAccess } from '../../access/rules-api.ts';
import { SeenTable } from '../../access/seen-table.tsx';
import { providerQuery } from '../../api/identity-provider.ts';
import { stringifyExact } from '../../api/json.ts';
import type { EntityDocument } from '../../api/schema.ts';
import type { Versioned } from '../../api/types.ts';
import { type Claims, parseClaims, withRoles } from '../../api/view-as.ts';
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
  const provider = useQuery(providerQuery(workspace)).data;
  const roleClaim = provider?.value?.roleClaim;
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [claims, setClaims] = useState<Claims>();
  const [message, setMessage] = useState<string>();
  const named = listClaims({ entities: { [entity.name]: { grants: draft ?? stored.value } } });
  const example = `{${stringifyExact(named[0] ?? 'sub')}: 1}`;
  const preview = useQuery({
    queryKey: [
      'preview-grants',
      workspace.org,
      workspace.ws,
      entity.name,
      claims === undefined ? '' : stringifyExact(claims),
      stored.etag,
      draft === undefined ? '' : stringifyExact(draft),
    ],
    queryFn: ({ signal }) =>
      previewAccess(
        workspace,
        {
          claims: claims as Claims,
          entity: entity.name,
          fields: undefined,
          trial: draft === undefined ? undefined : { grants: { [entity.name]: draft } },
        },
        signal,
      ),
    enabled: claims !== undefined,
    placeholderData: keepPreviousData,
    retry: false,
  });
  function submit(): void {
    const parsed = text.trim() === '' ? {} : parseClaims(text);
    setMessage(parsed === undefined ? `must be a JSON object, such as ${example}` : undefined);
    if (parsed !== undefined) setClaims(withRoles(parsed, roleClaim ?? '', roleClaim === undefined ? [] : chosen));
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
              description={
                provider !== undefined && roleClaim === undefined
                  ? 'The identity provider has no role claim, so users have no roles'
                  : undefined
              }
              placeholder={chosen.length === 0 ? 'None' : ''}
              data={[...roles]}
              value={[...chosen]}
              onChange={setChosen}
              disabled={roleClaim === undefined}
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
          {claims === undefined && (
            <Text size="sm" c="dimmed">
              Choose roles and claims of a user to see which records it would see. Nothing is saved by that.
            </Text>
          )}
          {claims !== undefined && sides !== undefined && (
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
