// Form for a request with the path, the query and the body of its operation. Operations that write say so.
import { Button, Group, JsonInput, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { Endpoint } from '../../api/endpoints.ts';
import { parseExact, stringifyExact } from '../../api/json.ts';
import type { EntityDocument } from '../../api/schema.ts';
import type { WorkspaceRef } from '../../api/workspace.ts';
import { makeSampleRequest } from '../../records/sample-request.ts';
import { RequestForm, useRun } from './request-result.tsx';

export interface OperationFormProps {
  readonly workspace: WorkspaceRef;
  readonly entity: EntityDocument;
  readonly endpoint: Endpoint;
}

const READING = new Set(['query']);

export function OperationForm({ workspace, entity, endpoint }: OperationFormProps) {
  const { operation, method, rest, description } = endpoint;
  const sample = makeSampleRequest(operation, entity);
  const names = [...rest.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const [path, setPath] = useState<Readonly<Record<string, string>>>({});
  const [query, setQuery] = useState(sample.query);
  const [body, setBody] = useState(sample.body ?? '');
  const parsed = sample.body === undefined ? undefined : parseBody(body);
  const missing = names.filter((name) => (path[name] ?? '').trim() === '');
  const run = useRun({
    workspace,
    entity: entity.name,
    method,
    rest: rest.replaceAll(/\{(\w+)\}/g, (whole, name) => {
      const value = (path[name] ?? '').trim();
      return value === '' ? whole : encodeURIComponent(value);
    }),
    query: [...new URLSearchParams(query.trim())],
    body: parsed?.text,
  });
  return (
    <RequestForm run={run}>
      <Text size="sm" c="dimmed">
        {description}
      </Text>
      {names.map((name) => (
        <TextInput
          key={name}
          label={name}
          required
          value={path[name] ?? ''}
          onChange={({ currentTarget: { value } }) => setPath({ ...path, [name]: value })}
          spellCheck={false}
        />
      ))}
      <TextInput
        label="query"
        placeholder="name=value&name=value"
        value={query}
        onChange={({ currentTarget: { value } }) => setQuery(value)}
        spellCheck={false}
      />
      {sample.body !== undefined && (
        <JsonInput
          label="body"
          autosize
          minRows={4}
          maxRows={16}
          size="xs"
          value={body}
          onChange={setBody}
          error={parsed?.message}
          spellCheck={false}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        />
      )}
      <Group justify="space-between">
        <Text size="xs" c="dimmed">
          {method === 'GET' || READING.has(operation) ? '' : 'This changes records.'}
        </Text>
        <Button type="submit" loading={run.isPending} disabled={missing.length > 0 || parsed?.message !== undefined}>
          Run
        </Button>
      </Group>
    </RequestForm>
  );
}

/** Parses the typed body to compact JSON, or a message. */
function parseBody(text: string): { readonly text?: string; readonly message?: string } {
  try {
    return { text: stringifyExact(parseExact(text)) };
  } catch (error) {
    return { message: error instanceof Error ? error.message : String(error) };
  }
}
