// Tester of rules: claims on the left, visible records on the right, now and with the unsaved rules.
import { Alert, Button, Group, Select, Stack, Text, Textarea, Title } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import classes from '../../access/access.module.css';
import { type AccessCase, formatRules, hasActiveRule, type RulesByEntity } from '../../access/rules.ts';
import { type AccessPreview, limitedQuery, previewAccess } from '../../access/rules-api.ts';
import { SeenTable } from '../../access/seen-table.tsx';
import { stringifyExact } from '../../api/json.ts';
import { schemaQuery } from '../../api/schema.ts';
import { type Claims, describeUser, parseClaims } from '../../api/view-as.ts';
import type { WorkspaceRef } from '../../api/workspace.ts';
import { getLabel, listLabelPaths } from '../../records/record-label.ts';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { TestCases } from './test-cases.tsx';

export interface TesterProps {
  readonly workspace: WorkspaceRef;
  readonly inForce: RulesByEntity;
  readonly draft: RulesByEntity;
}

export function Tester({ workspace, inForce, draft }: TesterProps) {
  const schema = useQuery(schemaQuery(workspace));
  const limited = useQuery(limitedQuery(workspace)).data;
  const [text, setText] = useState('{"customer_id": 1}');
  const [chosen, setChosen] = useState<string>();
  const [claims, setClaims] = useState<Claims>();
  const [mistake, setMistake] = useState<string>();
  const [cases, setCases] = useState<readonly AccessCase[]>([]);
  const entity = chosen ?? [...draft.keys(), ...inForce.keys()][0];
  const document = entity === undefined ? undefined : schema.data?.entities.get(entity);
  const ruled = [...(inForce.get(entity ?? '') ?? []), ...(draft.get(entity ?? '') ?? [])].map(({ column }) => column);
  const isColumn = (name: string): boolean =>
    document?.fields.has(name) === true ||
    [...(document?.relations.values() ?? [])].some(({ column }) => column === name);
  const fields = [...new Set([...listLabelPaths(getLabel(document)), ...ruled])].filter(isColumn);
  const trial = useQuery({
    queryKey: [
      'try-rules',
      workspace.org,
      workspace.ws,
      entity,
      fields,
      claims === undefined ? '' : stringifyExact(claims),
      [...draft].map(([name, rules]) => [name, formatRules(rules)]),
      [...inForce].map(([name, rules]) => [name, formatRules(rules)]),
    ],
    queryFn: ({ signal }) =>
      previewAccess(
        workspace,
        {
          claims: claims as Claims,
          entity: entity as string,
          fields,
          trial: draft.size === 0 ? undefined : { rules: Object.fromEntries(draft) },
        },
        signal,
      ),
    enabled: claims !== undefined && entity !== undefined,
    placeholderData: keepPreviousData,
  });
  function submit(): void {
    const parsed = parseClaims(text);
    setMistake(parsed === undefined ? 'must be a JSON object, such as {"customer_id": 1}' : undefined);
    if (parsed === undefined) return;
    setClaims(parsed);
    // Keeps the entity after a save.
    setChosen(entity);
  }
  return (
    <section aria-labelledby="rule-tester">
      <Title order={2} id="rule-tester" mb="xs">
        Rule tester
      </Title>
      <div className={classes.tester}>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            submit();
          }}
        >
          <Stack gap="sm" align="start">
            <Textarea
              label="Claims"
              description="What the token of the user says"
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
              error={mistake}
              autosize
              minRows={4}
              maxRows={16}
              spellCheck={false}
              w="100%"
              styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
            />
            <Select
              label="Entity"
              data={[...inForce.keys()]}
              value={entity ?? null}
              onChange={(next) => setChosen(next ?? undefined)}
              searchable
              allowDeselect={false}
              limit={50}
              w="100%"
            />
            <Button type="submit">Run</Button>
          </Stack>
        </form>
        <Stack gap="sm" aria-busy={trial.isFetching}>
          <ErrorAlert error={trial.error} onRetry={() => void trial.refetch()} />
          {claims !== undefined && entity !== undefined && trial.data !== undefined && trial.error === null && (
            <Result
              tried={trial.data}
              fields={fields}
              isOpen={limited?.has(entity) === false && !hasActiveRule(draft.get(entity) ?? inForce.get(entity) ?? [])}
              onKeep={() => setCases([...cases, toTestCase(claims, entity, trial.data)])}
            />
          )}
        </Stack>
      </div>
      <TestCases workspace={workspace} cases={cases} draft={draft} onClear={() => setCases([])} />
    </section>
  );
}

function toTestCase(claims: Claims, entity: string, { current, draft }: AccessPreview): AccessCase {
  const { list } = draft ?? current;
  return {
    name: `${describeUser({ claims })} sees ${list.total} of ${entity}`,
    claims,
    entity,
    ids: list.records.map(({ id }) => stringifyExact(id)),
    isAll: list.total === list.records.length,
  };
}

interface ResultProps {
  readonly tried: AccessPreview;
  readonly fields: readonly string[];
  /** Whether no rule applies. */
  readonly isOpen: boolean;
  readonly onKeep: () => void;
}

function Result({ tried: { current, draft }, fields, isOpen, onKeep }: ResultProps) {
  return (
    <>
      {isOpen && (
        <Alert role="note" color="yellow" variant="light" p="xs">
          <Text size="sm">This entity has no rule that is on: every external user sees all of its records.</Text>
        </Alert>
      )}
      <div className={classes.sides}>
        <SeenTable title="Now" side={current} fields={fields} />
        {draft !== undefined && <SeenTable title="With the unsaved rules" side={draft} fields={fields} />}
      </div>
      <Group>
        <Button variant="default" size="compact-xs" onClick={onKeep}>
          Save as test case
        </Button>
      </Group>
    </>
  );
}
