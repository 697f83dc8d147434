// A token through every check, in the order of the server, and what its user sees of each entity.
import { Badge, Button, Group, Stack, Table, Text, Textarea, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { CopyableCode } from '../../access/copyable-code.tsx';
import { describeCheck, type ExplainedToken, explainToken, type TokenCheck } from '../../api/identity-provider.ts';
import { prettyExact } from '../../api/json.ts';
import type { WorkspaceRef } from '../../api/workspace.ts';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { Icon } from '../../shell/icon.tsx';
import { useBeginViewAs } from '../../shell/view-as.tsx';

export function TokenDebugger({ place }: { readonly place: WorkspaceRef }) {
  const [token, setToken] = useState('');
  const explaining = useMutation({ mutationFn: () => explainToken(place, token) });
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
      {explaining.data !== undefined && <Explained place={place} explained={explaining.data} />}
    </section>
  );
}

function Explained({ place, explained }: { readonly place: WorkspaceRef; readonly explained: ExplainedToken }) {
  const { accepted, permissions, checks, claims, entities } = explained;
  const begin = useBeginViewAs();
  const failed = checks.find(({ passed }) => passed === false);
  return (
    <Stack gap="md" mt="md">
      <Group gap="sm" role="status">
        <Badge color={accepted ? 'green' : 'red'}>{accepted ? 'Accepted' : 'Refused'}</Badge>
        <Text size="sm">{accepted ? `Its user has ${permissions}` : `401: ${failed?.message ?? ''}`}</Text>
        {claims !== null && (
          <Button variant="default" size="compact-xs" onClick={() => begin({ place, claims })}>
            View as this user
          </Button>
        )}
      </Group>
      <Table aria-label="Checks" verticalSpacing={4} maw={960}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Check</Table.Th>
            <Table.Th>Result</Table.Th>
            <Table.Th>Message</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {checks.map((check) => (
            <Table.Tr key={check.check}>
              <Table.Th scope="row" fw={400}>
                {describeCheck(check.check)}
              </Table.Th>
              <Table.Td>
                <Verdict {...check} />
              </Table.Td>
              <Table.Td>{check.message}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {claims !== null && <CopyableCode label="Claims" text={prettyExact(claims)} />}
      {!accepted && entities.length > 0 && (
        <Text size="sm">
          Its user sees nothing, as every request with this token is refused. Accepted, it would see:
        </Text>
      )}
      <Table aria-label="Filter of each entity" verticalSpacing={4} maw={960}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Entity</Table.Th>
            <Table.Th>{accepted ? 'Sees' : 'Would see'}</Table.Th>
            <Table.Th>Filter</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {entities.map(({ entity, sees, filter }) => (
            <Table.Tr key={entity}>
              <Table.Th scope="row" fw={400}>
                <bdi>{entity}</bdi>
              </Table.Th>
              <Table.Td {...(accepted ? {} : { c: 'dimmed' })}>{sees}</Table.Td>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>
                <bdi>{filter}</bdi>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Stack>
  );
}

function Verdict({ passed }: Pick<TokenCheck, 'passed'>) {
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
