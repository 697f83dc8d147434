// Token debugger: shows every check of a token, in the order of the server, and what its user sees of each entity.

import { Badge, Button, Group, Stack, Text, Textarea, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import classes from '../../access/access.module.css';
import { CopyableCode } from '../../access/copyable-code.tsx';
import { describeCheck, type ExplainedToken, explainToken } from '../../api/identity-provider.ts';
import { prettyExact } from '../../api/json.ts';
import type { TokenExplained } from '../../api/types.ts';
import type { WorkspaceRef } from '../../api/workspace.ts';
import { DataTable } from '../../shell/data-table.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { Icon } from '../../shell/icon.tsx';
import { useBeginViewAs } from '../../shell/use-begin-view-as.ts';

export function TokenDebugger({ workspace }: { readonly workspace: WorkspaceRef }) {
  const [token, setToken] = useState('');
  const explaining = useMutation({ mutationFn: () => explainToken(workspace, token) });
  return (
    <section aria-labelledby="token-debugger">
      <Title order={2} id="token-debugger" mb="xs">
        Token debugger
      </Title>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          explaining.mutate();
        }}
      >
        <Stack gap="sm" maw={640} align="start">
          <Textarea
            label="Token"
            description="A user's token. It is checked as in a request and not stored"
            value={token}
            onChange={(event) => setToken(event.currentTarget.value)}
            autosize
            minRows={3}
            maxRows={8}
            spellCheck={false}
            w="100%"
            styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          />
          <Button type="submit" loading={explaining.isPending} disabled={token.trim() === ''}>
            Check token
          </Button>
        </Stack>
      </form>
      <ErrorAlert error={explaining.error} />
      {explaining.data !== undefined && <Explained workspace={workspace} explained={explaining.data} />}
    </section>
  );
}

function Explained({ workspace, explained }: { readonly workspace: WorkspaceRef; readonly explained: ExplainedToken }) {
  const { accepted, permissions, checks, claims, entities, roles, unknownRoles } = explained;
  const begin = useBeginViewAs();
  const failed = checks.find(({ passed }) => passed === false);
  return (
    <Stack gap="md" mt="md">
      <Group gap="sm" role="status">
        <Badge color={accepted ? 'green' : 'red'}>{accepted ? 'Accepted' : 'Refused'}</Badge>
        <Text size="sm">{accepted ? `Its user has ${permissions}` : `401: ${failed?.message ?? ''}`}</Text>
        {claims !== null && (
          <Button variant="default" size="compact-xs" onClick={() => begin({ workspace, claims })}>
            View as this user
          </Button>
        )}
      </Group>
      <DataTable
        label="Checks"
        rows={checks}
        rowKey={({ check }) => check}
        maxWidth={960}
        columns={[
          { title: 'Check', cell: ({ check }) => describeCheck(check), isRowHeader: true },
          { title: 'Result', cell: Verdict },
          { title: 'Message', cell: ({ message }) => message },
        ]}
      />
      {claims !== null && <CopyableCode label="Claims" text={prettyExact(claims)} />}
      {(roles.length > 0 || unknownRoles.length > 0) && (
        <Text size="sm">
          Roles: <bdi>{roles.join(', ') || 'none'}</bdi>
          {unknownRoles.length > 0 && (
            <>
              ; not declared, and so ignored: <bdi>{unknownRoles.join(', ')}</bdi>
            </>
          )}
        </Text>
      )}
      {!accepted && entities.length > 0 && (
        <Text size="sm">
          Its user sees nothing, as every request with this token is refused. Accepted, it would see:
        </Text>
      )}
      <DataTable
        label="Filter of each entity"
        rows={entities}
        rowKey={({ entity }) => entity}
        minWidth={560}
        maxWidth={960}
        columns={[
          { title: 'Entity', cell: ({ entity }) => <bdi>{entity}</bdi>, isRowHeader: true },
          {
            title: accepted ? 'Sees' : 'Would see',
            cell: ({ sees }) => (
              <Text span size="sm" {...(!accepted && { c: 'dimmed' })}>
                {sees}
              </Text>
            ),
          },
          { title: 'Filter', cell: ({ filter }) => <bdi>{filter}</bdi>, className: classes.value },
          entities.some(({ grants }) => grants.length > 0) && { title: 'Grants', cell: Grants },
        ]}
      />
    </Stack>
  );
}

/** Grants of an entity, each with why it does not apply. */
const Grants = ({ grants }: Pick<TokenExplained['entities'][number], 'grants'>) => (
  <Stack gap={4}>
    {grants.map(({ grant, applies, reason }, at) => (
      <Group key={at} gap={4} wrap="nowrap" align="start">
        <Icon name={applies ? 'check' : 'close'} />
        <Text size="sm" {...(!applies && { c: 'dimmed' })}>
          <bdi>{grant}</bdi>
          {applies ? '' : `: does not apply, ${reason ?? ''}`}
        </Text>
      </Group>
    ))}
  </Stack>
);

function Verdict({ passed }: Pick<TokenExplained['checks'][number], 'passed'>) {
  const [icon, word] =
    passed === null
      ? (['dots', 'not run'] as const)
      : passed
        ? (['check', 'passed'] as const)
        : (['close', 'failed'] as const);
  return (
    <Group gap={4} wrap="nowrap" {...(passed === false ? { c: 'red' } : {})}>
      <Icon name={icon} /> {word}
    </Group>
  );
}
