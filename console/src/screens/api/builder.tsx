// Form for a list request, which sends it and displays the response unchanged.
import { Button, Code, Group, Paper, ScrollArea, Select, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { parseExact, stringifyExact } from '../../api/json.ts';
import { send } from '../../api/request.ts';
import type { EntityDocument } from '../../api/schema.ts';
import { dataPath, type WorkspaceRef } from '../../api/workspace.ts';
import { COUNT_MODES } from '../../records/request-tables.generated.ts';
import { ReadableSnippet } from '../../shell/copy-as.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import type { Call } from '../../snippets/snippets.ts';

interface Result {
  readonly status: number;
  readonly milliseconds: number;
  readonly text: string;
}

/** Typed parameters. */
interface Parameters {
  readonly filter: string;
  readonly sort: string;
  readonly expand: string;
  readonly fields: string;
  readonly size: string;
  readonly count: string;
}

const NOTHING: Parameters = { filter: '', sort: '', expand: '', fields: '', size: '20', count: 'exact' };

// Limit of readable characters; the copied request fetches the rest.
const MOST_CHARACTERS = 100_000;

export function Builder({ workspace, entity }: { readonly workspace: WorkspaceRef; readonly entity: EntityDocument }) {
  const [typed, setTyped] = useState(NOTHING);
  const query = Object.entries(typed).filter(
    ([name, value]) => value.trim() !== '' && value !== NOTHING[name as keyof Parameters],
  );
  const call = (): Call => ({
    origin: location.origin,
    workspace: `${workspace.org}/${workspace.ws}`,
    entity: entity.name,
    method: 'GET',
    rest: '',
    query: query.map(([name, value]) => [name, value.trim()]),
  });
  const run = useMutation({
    mutationFn: async (): Promise<Result> => {
      const startedAt = performance.now();
      const search = new URLSearchParams(query.map(([name, value]) => [name, value.trim()]));
      const path = dataPath(workspace, `/${encodeURIComponent(entity.name)}?${search}`);
      const response = await send({ path, waits: false });
      const text = await response.text();
      return { status: response.status, milliseconds: performance.now() - startedAt, text: pretty(text) };
    },
  });
  const response = run.data;
  const field = (name: keyof Parameters, placeholder: string) => (
    <TextInput
      label={name}
      placeholder={placeholder}
      value={typed[name]}
      onChange={(event) => setTyped({ ...typed, [name]: event.currentTarget.value })}
      spellCheck={false}
    />
  );
  const [first = 'id'] = entity.fields.keys();
  const [relation = ''] = entity.relations.keys();
  return (
    <Paper withBorder p="sm">
      <Title order={2} mb="xs">
        Try it
      </Title>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          run.mutate();
        }}
      >
        <Stack gap="xs">
          {field('filter', `${first},eq,…`)}
          {field('sort', `${first},desc`)}
          {field('expand', relation)}
          {field('fields', `id,${first}`)}
          <Group grow align="end">
            {field('size', '20')}
            <Select
              label="count"
              data={COUNT_MODES}
              value={typed.count}
              allowDeselect={false}
              onChange={(count) => setTyped({ ...typed, count: count ?? 'exact' })}
            />
            <Button type="submit" loading={run.isPending}>
              Run
            </Button>
          </Group>
        </Stack>
      </form>
      <Title order={3} mt="md" mb={4}>
        The same request elsewhere
      </Title>
      <ReadableSnippet call={call} />
      <ErrorAlert error={run.error} />
      {response !== undefined && (
        <>
          <Text size="sm" role="status" my="xs">
            {response.status} in {Math.round(response.milliseconds)} ms
          </Text>
          <ScrollArea.Autosize mah={480} viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': 'Answer' }}>
            <Code block dir="ltr">
              {response.text.slice(0, MOST_CHARACTERS)}
              {response.text.length > MOST_CHARACTERS && `\n… ${response.text.length} characters in all`}
            </Code>
          </ScrollArea.Autosize>
        </>
      )}
    </Paper>
  );
}

/** Formats JSON with one record a line; digits stay. */
function pretty(text: string): string {
  const { data, ...rest } = parseExact(text) as { readonly data: readonly unknown[] };
  const records = data.map((one) => `    ${stringifyExact(one)}`).join(',\n');
  const others = Object.entries(rest).map(([name, value]) => `,\n  ${JSON.stringify(name)}: ${stringifyExact(value)}`);
  return `{\n  "data": [${records === '' ? '' : `\n${records}\n  `}]${others.join('')}\n}`;
}
