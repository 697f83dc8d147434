// Request of the API screen: it is sent, printed for other tools, and its response shown with status, time and headers.
import { Code, Stack, Tabs, Text, Title } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { parseExact, prettyExact } from '../../api/json.ts';
import { send } from '../../api/request.ts';
import { dataPath, type WorkspaceRef } from '../../api/workspace.ts';
import { ReadableSnippet } from '../../shell/copy-as.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { ScrollBox } from '../../shell/scroll-box.tsx';
import type { Call } from '../../snippets/snippets.ts';

interface Result {
  readonly status: number;
  readonly milliseconds: number;
  readonly text: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

export interface RunOptions extends Pick<Call, 'method' | 'rest' | 'query' | 'entity'> {
  readonly workspace: WorkspaceRef;
  /** Compact JSON. */
  readonly body?: string | undefined;
}

export interface Run {
  readonly call: () => Call;
  readonly send: () => void;
  readonly isPending: boolean;
  readonly error: unknown;
  readonly result: Result | undefined;
}

// Limit of readable characters; the copied request fetches the rest.
const MOST_CHARACTERS = 100_000;

/** Hook with the request and its last response. */
export function useRun({ workspace, entity, method, rest, query, body }: RunOptions): Run {
  const queries = useQueryClient();
  const run = useMutation({
    mutationFn: async (): Promise<Result> => {
      const startedAt = performance.now();
      const search = new URLSearchParams(query.map(([name, value]) => [name, value])).toString();
      const response = await send({
        method,
        path: dataPath(workspace, `/${encodeURIComponent(entity)}${rest}${search === '' ? '' : `?${search}`}`),
        ...(body !== undefined && { content: { type: 'application/json', bytes: body } }),
        waits: false,
      });
      const text = await response.text();
      const milliseconds = performance.now() - startedAt;
      if (method !== 'GET') void queries.invalidateQueries();
      return { status: response.status, milliseconds, text: format(text), headers: [...response.headers] };
    },
  });
  return {
    call: () => ({
      origin: location.origin,
      workspace: `${workspace.org}/${workspace.ws}`,
      entity,
      method,
      rest,
      query,
      body,
    }),
    send: () => run.mutate(),
    isPending: run.isPending,
    error: run.error,
    result: run.data,
  };
}

interface RequestFormProps {
  readonly run: Run;
  /** Parameters and the button that sends. */
  readonly children: ReactNode;
}

/** Form that sends the request, with its response below. */
export const RequestForm = ({ run, children }: RequestFormProps) => (
  <>
    <form
      onSubmit={(event) => {
        event.preventDefault();
        run.send();
      }}
    >
      <Stack gap="xs">{children}</Stack>
    </form>
    <RequestResult run={run} />
  </>
);

function RequestResult({ run: { call, error, result } }: { readonly run: Run }) {
  return (
    <>
      <Title order={3} mt="md" mb={4}>
        The same request elsewhere
      </Title>
      <ReadableSnippet call={call} />
      <ErrorAlert error={error} />
      {result !== undefined && (
        <>
          <Text size="sm" role="status" my="xs">
            {result.status} in {Math.round(result.milliseconds)} ms
          </Text>
          <Tabs defaultValue="body">
            <Tabs.List aria-label="Response">
              <Tabs.Tab value="body">Body</Tabs.Tab>
              <Tabs.Tab value="headers">Headers</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="body" pt="xs">
              <Response label="Answer" text={result.text === '' ? 'The response has no body.' : result.text} />
            </Tabs.Panel>
            <Tabs.Panel value="headers" pt="xs">
              <Response
                label="Headers of the answer"
                text={result.headers.map(([name, value]) => `${name}: ${value}`).join('\n')}
              />
            </Tabs.Panel>
          </Tabs>
        </>
      )}
    </>
  );
}

const Response = ({ label, text }: { readonly label: string; readonly text: string }) => (
  <ScrollBox label={label} maxHeight={480}>
    <Code block dir="ltr">
      {text.slice(0, MOST_CHARACTERS)}
      {text.length > MOST_CHARACTERS && `\n… ${text.length} characters in all`}
    </Code>
  </ScrollBox>
);

// Longest line for a record on one line.
const MOST_OF_LINE = 100;

/** Formats JSON; a record of a list that fits is one line. Other text, such as NDJSON, stays. */
function format(text: string): string {
  let parsed: ReturnType<typeof parseExact>;
  try {
    parsed = parseExact(text);
  } catch {
    return text;
  }
  return prettyExact(parsed).replaceAll(/\{\n[^{}[\]]*?\}/g, (object) => {
    const line = object.replaceAll(/\n\s*/g, ' ');
    return line.length > MOST_OF_LINE ? object : line;
  });
}
