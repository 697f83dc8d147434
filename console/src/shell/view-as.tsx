// "View as" in the banner: from a token or its claims to the records that its user sees, until "Leave".
import { ActionIcon, Alert, Button, Group, List, Modal, Text, Textarea } from '@mantine/core';
import { useLocation, useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { explainToken } from '../api/identity-provider.ts';
import { queryClient } from '../api/query-client.ts';
import { type Claims, describeUser, parseClaims, setViewAs, type ViewAs } from '../api/view-as.ts';
import { screenPath, type WorkspaceRef } from '../api/workspace.ts';
import { ErrorAlert } from './error-alert.tsx';
import { Icon } from './icon.tsx';
import { announce } from './live-region.tsx';
import { useIsOwner, useViewAs, useViewAsAnywhere } from './permissions.ts';
import { DiscardDialog, hasUnsavedChanges } from './unsaved-changes.tsx';

/** Records that were read for somebody else are forgotten; Frame mounts the screen anew. */
function viewAs(next: ViewAs | undefined): void {
  queryClient.removeQueries({ predicate: ({ queryKey: [first] }) => first !== 'session' && first !== 'schema' });
  setViewAs(next);
  announce(next === undefined ? 'You see records as yourself again' : `Viewing as ${describeUser(next.claims)}`);
}

/** Begins to view as a user. From a screen that such a user has not one is taken to the workspace. */
export function useBeginViewAs(): (next: ViewAs) => void {
  const { pathname } = useLocation();
  const navigate = useNavigate();
  return (next) => {
    viewAs(next);
    const home = screenPath(next.place);
    const rest = pathname.startsWith(home) ? pathname.slice(home.length) : '';
    if (/^\/(?!data|api)./.test(rest)) void navigate({ to: home, ignoreBlocker: true });
  };
}

/** The line of the banner: who is viewed as, and the way out. */
export function ViewAsLine() {
  const current = useViewAsAnywhere();
  const isHere = useViewAs() !== undefined;
  const [isAsking, setAsking] = useState(false);
  if (current === undefined) return null;
  const { org, ws } = current.place;
  const leave = (): void => (hasUnsavedChanges() ? setAsking(true) : viewAs(undefined));
  return (
    <Group px="sm" gap="sm" wrap="nowrap" h={32} className="viewing-as">
      <Icon name="eye" />
      <Text size="xs" truncate flex={1} title={describeUser(current.claims)}>
        Viewing {isHere ? '' : `${org}/${ws} `}as <bdi>{describeUser(current.claims)}</bdi>; nothing can be changed
      </Text>
      <Button size="compact-xs" variant="default" onClick={leave}>
        Leave
      </Button>
      <DiscardDialog
        isOpen={isAsking}
        onKeep={() => setAsking(false)}
        onDiscard={() => {
          setAsking(false);
          viewAs(undefined);
        }}
      />
    </Group>
  );
}

export function ViewAsButton({ place }: { readonly place: WorkspaceRef }) {
  const [isOpen, setOpen] = useState(false);
  const isOwner = useIsOwner();
  const open = (): void => setOpen(true);
  if (!isOwner || useViewAsAnywhere() !== undefined) return null;
  return (
    <>
      <Button
        variant="default"
        size="compact-xs"
        onClick={open}
        leftSection={<Icon name="eye" size={14} />}
        visibleFrom="sm"
      >
        View as
      </Button>
      <ActionIcon color="gray" onClick={open} aria-label="View as" hiddenFrom="sm">
        <Icon name="eye" />
      </ActionIcon>
      <Modal
        opened={isOpen}
        onClose={() => setOpen(false)}
        title="View as a user"
        size="lg"
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <ViewAsForm place={place} onViewed={() => setOpen(false)} />
      </Modal>
    </>
  );
}

interface TokenVerdict {
  readonly claims: Claims;
  /** Messages of the checks that the token fails; none: it is accepted, or there was no token. */
  readonly failed: readonly string[];
}

// Whatever else it is, it is no JSON that somebody meant as claims.
const IS_TOKEN = /^(?:Bearer\s+)?[\w.+/=~-]+$/i;

/** Throws Refusal, or an error in words. */
async function checkToken(place: WorkspaceRef, text: string): Promise<TokenVerdict> {
  const pasted = parseClaims(text);
  if (pasted !== undefined) return { claims: pasted, failed: [] };
  if (!IS_TOKEN.test(text)) throw new Error('Claims must be a JSON object, such as {"customer_id": 1}');
  const { checks, claims } = await explainToken(place, text);
  const failed = checks.filter(({ passed }) => passed === false).map(({ check, message }) => message ?? check);
  if (claims === null || Object.keys(claims).length === 0) throw new Error(failed[0] ?? 'The token has no claims');
  return { claims, failed };
}

function ViewAsForm({ place, onViewed }: { readonly place: WorkspaceRef; readonly onViewed: () => void }) {
  const [text, setText] = useState('');
  const [error, setError] = useState<unknown>();
  const [refused, setRefused] = useState<TokenVerdict>();
  const [isBusy, setBusy] = useState(false);
  const begin = useBeginViewAs();
  function view({ claims }: TokenVerdict): void {
    onViewed();
    begin({ place, claims });
  }
  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    setRefused(undefined);
    try {
      const judged = await checkToken(place, text.trim());
      if (judged.failed.length === 0) view(judged);
      else setRefused(judged);
    } catch (thrown) {
      setError(thrown);
    } finally {
      setBusy(false);
    }
  }
  return (
    <form onSubmit={(event) => void submit(event)}>
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
        required
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
      />
      <ErrorAlert error={error} />
      {refused !== undefined && (
        <Alert role="alert" color="yellow" variant="light" p="xs" my="xs">
          <Text size="sm" fw={600}>
            This token is not accepted
          </Text>
          <List size="sm">
            {refused.failed.map((message) => (
              <List.Item key={message}>{message}</List.Item>
            ))}
          </List>
          <Button mt="xs" variant="default" onClick={() => view(refused)}>
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
        <Button type="submit" loading={isBusy} disabled={text.trim() === ''}>
          View
        </Button>
      </Group>
    </form>
  );
}
