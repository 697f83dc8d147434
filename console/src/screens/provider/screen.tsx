// The identity provider: whose users may use the workspace, and why a token of theirs is accepted or not.
import { Alert, Button, Group, List, Stack, Switch, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { AccessLayout } from '../../access/access-layout.tsx';
import { Confirm } from '../../access/confirm.tsx';
import { isApiError } from '../../api/api-error.ts';
import {
  deleteProvider,
  type Provider,
  providerQuery,
  putProvider,
  readWarnings,
} from '../../api/identity-provider.ts';
import type { Versioned } from '../../api/request-types.ts';
import type { WorkspaceRef } from '../../api/workspace.ts';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { announce } from '../../shell/live-region.tsx';
import { ProviderForm } from './provider-form.tsx';
import { TokenDebugger } from './token-debugger.tsx';

export function Screen() {
  return (
    <AccessLayout title="Identity provider" noun="identity-provider">
      {(place) => (
        <Stack gap="xl">
          <Configuration place={place} />
          <TokenDebugger place={place} />
        </Stack>
      )}
    </AccessLayout>
  );
}

function Configuration({ place }: { readonly place: WorkspaceRef }) {
  const provider = useQuery(providerQuery(place));
  const [warnings, setWarnings] = useState<readonly string[]>([]);
  const queries = useQueryClient();
  const stored = provider.data;
  const onSaved = (next: Versioned<Provider | undefined>, told: readonly string[]): void => {
    queries.setQueryData(providerQuery(place).queryKey, next);
    setWarnings(told);
  };
  if (stored === undefined) return <ErrorAlert error={provider.error} onRetry={() => void provider.refetch()} />;
  return (
    <Stack gap="sm">
      {stored.value !== undefined && (
        <CurrentProvider
          place={place}
          stored={stored as Versioned<Provider>}
          hasWarnings={warnings.length > 0}
          onSaved={onSaved}
        />
      )}
      {warnings.length > 0 && (
        <Alert color="yellow" variant="light" p="xs" role="status">
          <Text size="sm" fw={600}>
            Stored, but:
          </Text>
          <List size="sm">
            {warnings.map((warning) => (
              <List.Item key={warning}>{warning}</List.Item>
            ))}
          </List>
        </Alert>
      )}
      <ProviderForm place={place} stored={stored} onSaved={onSaved} />
    </Stack>
  );
}

interface CurrentProviderProps {
  readonly place: WorkspaceRef;
  readonly stored: Versioned<Provider>;
  /** What is wrong with it at the moment stands below. */
  readonly hasWarnings: boolean;
  readonly onSaved: (next: Versioned<Provider | undefined>, warnings: readonly string[]) => void;
}

function CurrentProvider({ place, stored, hasWarnings, onSaved }: CurrentProviderProps) {
  const [isRemoving, setRemoving] = useState(false);
  const queries = useQueryClient();
  const { queryKey } = providerQuery(place);
  const switching = useMutation({
    mutationFn: (enabled: boolean) => putProvider(place, { enabled }, stored.etag),
    onSuccess: ({ data, etag, meta }) => {
      announce(data.enabled ? 'The provider is on' : 'The provider is off: its tokens are rejected');
      onSaved({ value: data, etag }, readWarnings(meta));
    },
    // Somebody else has changed it: what is in force is shown beside the refusal.
    onError: (thrown) => void (isApiError(thrown) && thrown.status === 412 && queries.invalidateQueries({ queryKey })),
  });
  return (
    <>
      <Group gap="md">
        <Switch
          label="Enabled"
          description="Off: all its tokens are rejected; the configuration is kept"
          checked={stored.value.enabled}
          disabled={switching.isPending}
          onChange={(event) => switching.mutate(event.currentTarget.checked)}
        />
        <Button variant="subtle" color="red" onClick={() => setRemoving(true)}>
          Remove provider
        </Button>
      </Group>
      <ErrorAlert error={switching.error} />
      {isRemoving && (
        <Confirm
          title="Remove the provider?"
          words={[
            'All of its users are refused with 401 from now on.',
            'Row rules stay; API keys and OAuth clients go on working.',
          ]}
          action="Remove"
          onClose={() => setRemoving(false)}
          onConfirmed={async () => {
            await deleteProvider(place, stored.etag);
            announce('Provider removed');
            onSaved({ value: undefined, etag: undefined }, []);
          }}
        />
      )}
      <Text size="xs" c="dimmed">
        {stored.value.enabled ? (hasWarnings ? 'On, with warnings: tokens of ' : 'On: tokens of ') : 'Off: tokens of '}
        <bdi>{stored.value.issuerUrl}</bdi>{' '}
        {stored.value.enabled ? 'are accepted when they pass every check' : 'are refused'}.
      </Text>
    </>
  );
}
