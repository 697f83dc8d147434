// Dialog of "View as": takes a token or its claims, and roles. Default export for lazy loading.
import { Alert, Button, Group, List, Modal, MultiSelect, Text, Textarea } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { explainToken, providerQuery } from '../api/identity-provider.ts';
import { rolesQuery } from '../api/schema-document.ts';
import { type Claims, parseClaims, withRoles } from '../api/view-as.ts';
import type { WorkspaceRef } from '../api/workspace.ts';
import { hasUnsavedChanges } from './drafts.ts';
import { ErrorAlert } from './error-alert.tsx';
import { useBeginViewAs } from './use-begin-view-as.ts';

interface TokenVerdict {
  readonly claims: Claims;
  /** Messages of failed checks; empty for an accepted token, or for claims. */
  readonly failed: readonly string[];
}

// Pattern of a token; such text cannot be JSON claims.
const IS_TOKEN = /^(?:Bearer\s+)?[\w.+/=~-]+$/i;

/** Sends the token through the checks. Throws ApiError, or an error with a message for the user. */
async function checkToken(workspace: WorkspaceRef, text: string): Promise<TokenVerdict> {
  const pasted = text === '' ? {} : parseClaims(text);
  if (pasted !== undefined) return { claims: pasted, failed: [] };
  if (!IS_TOKEN.test(text)) throw new Error('Claims must be a JSON object, such as {"customer_id": 1}');
  const { checks, claims } = await explainToken(workspace, text);
  const failed = checks.filter(({ passed }) => passed === false).map(({ check, message }) => message ?? check);
  if (claims === null || Object.keys(claims).length === 0) throw new Error(failed[0] ?? 'The token has no claims');
  return { claims, failed };
}

export interface ViewAsDialogProps {
  readonly workspace: WorkspaceRef;
  readonly onClose: () => void;
}

export default function ViewAsDialog({ workspace, onClose }: ViewAsDialogProps) {
  return (
    <Modal opened onClose={onClose} title="View as a user" size="lg">
      <ViewAsForm workspace={workspace} onViewed={onClose} />
    </Modal>
  );
}

function ViewAsForm(props: { readonly workspace: WorkspaceRef; readonly onViewed: () => void }) {
  const { workspace, onViewed } = props;
  const [text, setText] = useState('');
  const [roles, setRoles] = useState<readonly string[]>([]);
  const declared = useQuery(rolesQuery(workspace));
  const provider = useQuery(providerQuery(workspace));
  const roleClaim = provider.data?.value?.roleClaim;
  const begin = useBeginViewAs();
  function view({ claims }: TokenVerdict): void {
    onViewed();
    begin({ workspace, claims: withRoles(claims, roleClaim ?? '', roles), roles });
  }
  const check = useMutation({
    mutationFn: () => checkToken(workspace, text.trim()),
    onSuccess: (verdict) => verdict.failed.length === 0 && view(verdict),
  });
  const rejected = check.data !== undefined && check.data.failed.length > 0 ? check.data : undefined;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        check.mutate();
      }}
    >
      <Textarea
        label="Token or claims"
        description="A token of the identity provider, or its claims as JSON. The token is checked and not stored."
        placeholder='{"customer_id": 1}'
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        autosize
        minRows={4}
        maxRows={12}
        spellCheck={false}
        data-autofocus
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
      />
      {declared.data !== undefined && declared.data.length > 0 && provider.data !== undefined && (
        <MultiSelect
          label="Roles"
          description={
            roleClaim === undefined
              ? 'The identity provider has no role claim, so users have no roles'
              : `Put into the claim ${roleClaim}. None chosen: the roles in the token or claims`
          }
          data={[...declared.data]}
          value={[...roles]}
          onChange={setRoles}
          searchable
          disabled={roleClaim === undefined}
          comboboxProps={{ position: 'top' }}
          size="xs"
          mt="xs"
        />
      )}
      <ErrorAlert error={check.error} />
      {rejected !== undefined && (
        <Alert role="alert" color="yellow" variant="light" p="xs" my="xs">
          <Text size="sm" fw={600}>
            This token is not accepted
          </Text>
          <List size="sm">
            {rejected.failed.map((message) => (
              <List.Item key={message}>{message}</List.Item>
            ))}
          </List>
          <Button mt="xs" variant="default" onClick={() => view(rejected)}>
            View with its claims
          </Button>
        </Alert>
      )}
      {hasUnsavedChanges() && (
        <Text size="sm" mt="xs">
          Your changes on this page are not saved and will be lost.
        </Text>
      )}
      <Group justify="flex-end" mt="sm">
        <Button type="submit" loading={check.isPending} disabled={text.trim() === '' && roles.length === 0}>
          View
        </Button>
      </Group>
    </form>
  );
}
