// Form of a new field with its plan, in a file of its own: it is loaded when it is opened.
import { Anchor, Button, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { formatDuration } from '../../api/migration-progress.ts';
import { isFinished, migrationQuery, planQuery, startMigration } from '../../api/migrations.ts';
import { schemaQuery } from '../../api/schema.ts';
import { documentQuery } from '../../api/schema-document.ts';
import { screenPath } from '../../api/workspace.ts';
import type { EntityRef } from '../../records/requests.ts';
import { FIELD_TYPES, NAME } from '../../schema/field-types.ts';
import { getAt, setAt } from '../../schema/json-value.ts';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { announce } from '../../shell/live-region.tsx';
import { parseEtag } from '../../snippets/admin.ts';

// A list of values is edited in the schema.
const TYPES = FIELD_TYPES.filter((type) => type !== 'enum');

export function FieldForm({ entityRef, onClose }: { readonly entityRef: EntityRef; readonly onClose: () => void }) {
  const { entity } = entityRef;
  const client = useQueryClient();
  const [name, setName] = useState('');
  const [type, setType] = useState<string>('string');
  const [planned] = useDebouncedValue(name, 300);
  const [migrationId, setMigrationId] = useState<string>();
  const current = useQuery(documentQuery(entityRef));
  const document = current.data?.document;
  const path = ['entities', entity, 'fields', planned];
  const mistake =
    name === '' || NAME.test(name)
      ? getAt(document, [...path.slice(0, -1), name]) === undefined
        ? undefined
        : 'exists already'
      : 'must be a letter with letters, digits and _ after it, 63 at most';
  const isReady = document !== undefined && planned !== '' && planned === name && mistake === undefined;
  const next = isReady ? setAt(document, path, { type }) : null;
  const plan = useQuery({
    ...planQuery(entityRef, next, 'online', parseEtag(current.data?.etag)),
    enabled: isReady && migrationId === undefined,
    retry: false,
  });
  const apply = useMutation({
    mutationFn: async (basedOn: string) =>
      startMigration(entityRef, { document: next, strategy: 'online', allowDestructive: false, basedOn }),
    onSuccess: ({ migration }) => setMigrationId(String(migration.id)),
  });
  const migration = useQuery({ ...migrationQuery(entityRef, migrationId ?? ''), enabled: migrationId !== undefined });
  const state = migration.data !== undefined && isFinished(migration.data) ? migration.data.state : undefined;
  const { org, ws } = entityRef;
  useEffect(() => {
    if (state !== 'succeeded') return;
    for (const { queryKey } of [schemaQuery({ org, ws }), documentQuery({ org, ws })])
      void client.invalidateQueries({ queryKey });
    announce('The field was added');
    onClose();
  }, [state, client, org, ws, onClose]);
  const isRunning = apply.isPending || (migrationId !== undefined && state === undefined);
  const canApply = isReady && plan.data !== undefined && plan.error === null && !isRunning;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (canApply) apply.mutate(plan.data.basedOn);
      }}
    >
      <Stack gap="xs">
        <TextInput
          label="Name"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={mistake}
          disabled={isRunning}
          data-autofocus
          autoComplete="off"
          spellCheck={false}
        />
        <NativeSelect
          label="Type"
          data={[...TYPES]}
          value={type}
          disabled={isRunning}
          onChange={(event) => setType(event.currentTarget.value)}
        />
        <div aria-live="polite">
          {isReady &&
            plan.data?.steps.map(({ description, estimatedSeconds, blocksReads, blocksWrites }) => (
              <Text key={description} size="sm">
                <bdi>{description}</bdi>: {estimatedSeconds === 0 ? 'instant' : `≈ ${formatDuration(estimatedSeconds)}`}
                {!blocksReads && !blocksWrites && ', no downtime'}.
              </Text>
            ))}
        </div>
        <ErrorAlert error={current.error ?? plan.error ?? apply.error ?? migration.error} />
        {state !== undefined && state !== 'succeeded' && (
          <Anchor component={Link} to={screenPath(entityRef, `/migrations/${migrationId}`)} size="sm">
            The migration has {state}
          </Anchor>
        )}
        <Button type="submit" disabled={!canApply} loading={isRunning}>
          Apply
        </Button>
        <Anchor
          component={Link}
          to={screenPath(entityRef, '/schema')}
          search={{ tab: 'entities', entity } as never}
          size="sm"
        >
          More in the schema
        </Anchor>
      </Stack>
    </form>
  );
}
