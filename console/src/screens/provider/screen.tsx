// Screen of the identity provider, whose users may use the workspace, with the token debugger.

import { Button, Group, Stack, Switch, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { AccessLayout } from '../../access/access-layout.tsx';
import { providerCheckQuery } from '../../api/activity.ts';
import { isApiError } from '../../api/api-error.ts';
import { deleteProvider, providerQuery, putProvider, readWarnings } from '../../api/identity-provider.ts';
import type { IdentityProvider, Versioned } from '../../api/types.ts';
import type { WorkspaceRef } from '../../api/workspace.ts';
import { DateTime } from '../../shell/datetime.tsx';
import { ConfirmDialog } from '../../shell/dialogs.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { announce } from '../../shell/live-region.tsx';
import { WarningsAlert } from '../../shell/warnings-alert.tsx';
import { ProviderForm } from './provider-form.tsx';
import { TokenDebugger } from './token-debugger.tsx';

export function Screen() {
  return (
    <AccessLayout title="Identity provider" noun="identity-provider">
      {(workspace) => (
        <Stack gap="xl">
          <Configuration workspace={workspace} />
          <TokenDebugger workspace={workspace} />
        </Stack>
      )}
    </AccessLayout>
  );
}

function Configuration({ workspace }: { readonly workspace: WorkspaceRef }) {
  const provider = useQuery(providerQuery(workspace));
  const [warnings, setWarnings] = useState<readonly string[]>([]);
  const queries = useQueryClient();
  const stored = provider.data;
  const onSaved = (next: Versioned<IdentityProvider | undefined>, messages: readonly string[]): void => {
    queries.setQueryData(providerQuery(workspace).queryKey, next);
    setWarnings(messages);
    void queries.invalidateQueries({ queryKey: providerCheckQuery(workspace).queryKey });
  };
  if (stored === undefined) return <ErrorAlert error={provider.error} onRetry={() => void provider.refetch()} />;
  return (
    <Stack gap="sm">
      {stored.value !== undefined && (
        <CurrentProvider
          workspace={workspace}
          stored={stored as Versioned<IdentityProvider>}
          hasWarnings={warnings.length > 0}
          onSaved={onSaved}
        />
      )}
      <WarningsAlert title="Stored, but:" warnings={warnings} />
      {stored.value !== undefined && warnings.length === 0 && <LastCheck workspace={workspace} />}
      <ProviderForm workspace={workspace} stored={stored} onSaved={onSaved} />
    </Stack>
  );
}

/** Tells when the provider was checked last, and what failed then. */
function LastCheck({ workspace }: { readonly workspace: WorkspaceRef }) {
  const { data } = useQuery(providerCheckQuery(workspace));
  if (data === undefined || data === null) return null;
  return (
    <>
      <Text size="xs" c="dimmed">
        Last check: <DateTime instant={data.at} />, {data.warnings.length === 0 ? 'nothing failed' : 'with warnings'}.
        Saving checks again.
      </Text>
      <WarningsAlert title="At the last check:" warnings={data.warnings} />
    </>
  );
}

interface CurrentProviderProps {
  readonly workspace: WorkspaceRef;
  readonly stored: Versioned<IdentityProvider>;
  /** Warnings are listed below. */
  readonly hasWarnings: boolean;
  readonly onSaved: (next: Versioned<IdentityProvider | undefined>, warnings: readonly string[]) => void;
}

function CurrentProvider({ workspace, stored, hasWarnings, onSaved }: CurrentProviderProps) {
  const [isRemoving, setRemoving] = useState(false);
  const queries = useQueryClient();
  const { queryKey } = providerQuery(workspace);
  const switching = useMutation({
    mutationFn: (enabled: boolean) => putProvider(workspace, { enabled }, stored.etag),
    onSuccess: ({ data, etag, meta }) => {
      announce(data.enabled ? 'The provider is on' : 'The provider is off: its tokens are rejected');
      onSaved({ value: data, etag }, readWarnings(meta));
    },
    // After an edit conflict the current provider is displayed next to the error.
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
        <ConfirmDialog
          title="Remove the provider?"
          consequences={[
            'All of its users are refused with 401 from now on.',
            'Row rules stay; API keys and OAuth clients go on working.',
          ]}
          action="Remove"
          onClose={() => setRemoving(false)}
          onSubmit={async () => {
            await deleteProvider(workspace, stored.etag);
            announce('Provider removed');
            onSaved({ value: undefined, etag: undefined }, []);
            setRemoving(false);
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
