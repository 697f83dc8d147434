// Form for the provider, filled from a preset or from the current configuration.

import { Anchor, Button, Group, List, Select, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ConflictDialog } from '../../access/conflict-dialog.tsx';
import { reportQuery } from '../../access/grants-api.ts';
import { listPlaceholders, PRESETS } from '../../access/presets.ts';
import { fieldError, isApiError, isShownAtFields } from '../../api/api-error.ts';
import { putProvider, readProvider, readWarnings } from '../../api/identity-provider.ts';
import { type Json, prettyExact, stringifyExact } from '../../api/json.ts';
import type { IdentityProvider, Versioned } from '../../api/types.ts';
import { parseClaims } from '../../api/view-as.ts';
import { screenPath, type WorkspaceRef } from '../../api/workspace.ts';
import { pluralize } from '../../format/amount.ts';
import { CopyAs } from '../../shell/copy-as.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { announce } from '../../shell/live-region.tsx';
import { UnsavedChangesGuard } from '../../shell/unsaved-changes.tsx';
import { createAdminCall } from '../../snippets/admin.ts';

/** Provider as the form has it: claims that are no JSON object are the typed text, which the server refuses. */
interface Draft extends Omit<IdentityProvider, 'requiredClaims'> {
  readonly requiredClaims: Json;
}

const EMPTY: Draft = {
  issuerUrl: '',
  jwksUri: null,
  audience: null,
  roleClaim: '',
  requiredClaims: null,
  defaultPermissions: 'READ_ONLY',
  enabled: true,
};

/** Returns the draft of a stored provider. */
const toDraft = (stored: IdentityProvider | undefined): Draft => ({
  ...EMPTY,
  ...(stored as Partial<Draft> | undefined),
});

/** Serializes the fields of the form, without the separate switch. */
const serializeForm = ({ enabled: _, ...rest }: Draft): string => stringifyExact(rest);

/** Returns the stored provider with the fields that the draft changes. */
const mergeDraft = (draft: Draft, before: Draft, stored: Draft): Draft => ({
  ...stored,
  ...Object.fromEntries(
    Object.entries(draft).filter(
      ([name, value]) => stringifyExact(value) !== stringifyExact(before[name as keyof Draft]),
    ),
  ),
});

export interface ProviderFormProps {
  readonly workspace: WorkspaceRef;
  readonly stored: Versioned<IdentityProvider | undefined>;
  readonly onSaved: (next: Versioned<IdentityProvider | undefined>, warnings: readonly string[]) => void;
}

export function ProviderForm({ workspace, stored: newest, onSaved }: ProviderFormProps) {
  // Provider that the draft started from: a newer one is compared when it is saved.
  const [stored, setStored] = useState(newest);
  const before = toDraft(stored.value);
  const [draft, setDraft] = useState(before);
  const [theirs, setTheirs] = useState<Versioned<IdentityProvider | undefined>>();
  const [presetName, setPresetName] = useState<string | null>(null);
  const preset = PRESETS.find(({ name }) => name === presetName);
  const change = (part: Partial<Draft>): void => setDraft({ ...draft, ...part });
  const isDirty = stringifyExact(draft) !== stringifyExact(before);
  const saving = useMutation({
    mutationFn: async ({ etag, sent }: { readonly etag: string | undefined; readonly sent: Draft }) => {
      // A provider that does not exist yet has no ETag for If-Match.
      const there = etag === undefined ? await readProvider(workspace) : undefined;
      if (there?.value === undefined) return putProvider(workspace, sent, etag);
      setTheirs(there);
      return undefined;
    },
    onSuccess: (saved, { sent }) => {
      if (saved === undefined) return;
      const { data, etag, meta } = saved;
      setTheirs(undefined);
      announce('Provider saved');
      setStored({ value: data, etag });
      setDraft((now) => mergeDraft(now, sent, toDraft(data)));
      onSaved({ value: data, etag }, readWarnings(meta));
    },
    onError: async (thrown) => {
      if (!isApiError(thrown) || thrown.status !== 412) return;
      setTheirs(await readProvider(workspace));
    },
  });
  const isSwitched = newest.value !== undefined && serializeForm(toDraft(newest.value)) === serializeForm(before);
  if (newest !== stored && !saving.isPending && (!isDirty || isSwitched)) {
    setStored(newest);
    setDraft(mergeDraft(draft, before, toDraft(newest.value)));
  }
  const report = useQuery(reportQuery(workspace)).data;
  const openCount = report?.entities.filter(({ access }) => access === 'open').length ?? 0;
  const placeholders = listPlaceholders(draft.issuerUrl);
  const error = theirs === undefined ? saving.error : null;
  return (
    <form
      aria-label="Identity provider"
      onSubmit={(event) => {
        event.preventDefault();
        saving.mutate({ etag: stored.etag, sent: draft });
      }}
    >
      <Stack gap="sm" maw={640}>
        <Select
          label="Preset"
          placeholder="Choose a provider"
          data={PRESETS.map(({ name }) => name)}
          value={presetName}
          onChange={(name) => {
            setPresetName(name);
            const chosen = PRESETS.find((one) => one.name === name);
            if (chosen !== undefined && draft.issuerUrl === before.issuerUrl && stored.value === undefined)
              change({ issuerUrl: chosen.issuer });
          }}
          clearable
        />
        {preset !== undefined && (
          <List size="sm" spacing={2}>
            <List.Item>
              Issuer:{' '}
              <Text span ff="monospace" size="xs" style={{ overflowWrap: 'anywhere' }}>
                {preset.issuer}
              </Text>
            </List.Item>
            <List.Item>Audience: {preset.audience ?? 'none by itself'}</List.Item>
            {preset.steps.map((step) => (
              <List.Item key={step}>{step}</List.Item>
            ))}
          </List>
        )}
        <TextInput
          label="Issuer"
          description={'Must equal the "iss" claim exactly, including a trailing slash'}
          value={draft.issuerUrl}
          onChange={(event) => change({ issuerUrl: event.currentTarget.value })}
          error={fieldError(error, 'issuerUrl')}
          required
          inputMode="url"
        />
        {placeholders.length > 0 && (
          <Text size="xs" role="status">
            Replace in the issuer: {placeholders.join(', ')}
          </Text>
        )}
        <TextInput
          label="Audience"
          description={'Required value of the "aud" claim. Blank: tokens for other applications are accepted, too'}
          value={draft.audience ?? ''}
          onChange={(event) =>
            change({ audience: event.currentTarget.value === '' ? null : event.currentTarget.value })
          }
          error={fieldError(error, 'audience')}
        />
        <TextInput
          label="Key set URL"
          description="Blank: discovered from the issuer"
          value={draft.jwksUri ?? ''}
          onChange={(event) => change({ jwksUri: event.currentTarget.value === '' ? null : event.currentTarget.value })}
          error={fieldError(error, 'jwksUri')}
          inputMode="url"
        />
        <TextInput
          label="Role claim"
          description={
            'Claim with the roles of a user, such as roles or realm_access.roles. Blank: users have no roles'
          }
          value={draft.roleClaim ?? ''}
          onChange={(event) => change({ roleClaim: event.currentTarget.value })}
          error={fieldError(error, 'roleClaim')}
        />
        <ClaimsField
          value={draft.requiredClaims}
          onChange={(requiredClaims) => change({ requiredClaims })}
          error={fieldError(error, 'requiredClaims')}
        />
        <Select
          label="Permissions of all users"
          data={[
            { value: 'READ_ONLY', label: 'Read only' },
            { value: 'READ_WRITE', label: 'Read and write' },
          ]}
          value={draft.defaultPermissions}
          onChange={(next) =>
            next !== null && change({ defaultPermissions: next as IdentityProvider['defaultPermissions'] })
          }
          allowDeselect={false}
        />
        {!isShownAtFields(error, ['issuerUrl', 'audience', 'jwksUri', 'roleClaim', 'requiredClaims']) && (
          <ErrorAlert error={error} />
        )}
        {openCount > 0 && (
          <Text size="sm">
            {pluralize(openCount, 'entity is', 'entities are')} open to every user of the provider:{' '}
            <Anchor component={Link} to={screenPath(workspace, '/access/rules')} size="sm" underline="always">
              row rules
            </Anchor>{' '}
            or{' '}
            <Anchor component={Link} to={screenPath(workspace, '/access/grants')} size="sm" underline="always">
              grants
            </Anchor>{' '}
            limit what they see.
          </Text>
        )}
        <Group>
          <Button type="submit" loading={saving.isPending} disabled={!isDirty}>
            Save provider
          </Button>
          {isDirty && (
            <Button variant="default" onClick={() => setDraft(before)}>
              Discard changes
            </Button>
          )}
          {isDirty && (
            <CopyAs
              label="Copy the change as"
              call={() =>
                createAdminCall(
                  { origin: location.origin, ...workspace },
                  {
                    method: 'PUT',
                    rest: '/identity-provider',
                    body: stringifyExact({ ...draft }),
                    ifMatch: stored.etag,
                  },
                )
              }
            />
          )}
        </Group>
      </Stack>
      <UnsavedChangesGuard isDirty={isDirty} />
      {theirs !== undefined && (
        <ConflictDialog
          draft={prettyExact(draft)}
          current={theirs.value === undefined ? 'No provider any more' : prettyExact(theirs.value)}
          onClose={() => setTheirs(undefined)}
          onKeepDraft={() => saving.mutate({ etag: theirs.etag, sent: draft })}
          onTakeCurrent={() => {
            setDraft(toDraft(theirs.value));
            setStored(theirs);
            setTheirs(undefined);
            onSaved(theirs, []);
          }}
        />
      )}
    </form>
  );
}

const parseRequired = (text: string): Json => (text.trim() === '' ? null : (parseClaims(text) ?? text));
const formatRequired = (value: Json): string =>
  value === null ? '' : typeof value === 'string' ? value : prettyExact(value);

interface ClaimsFieldProps {
  readonly value: Json;
  readonly onChange: (next: Json) => void;
  readonly error: string | undefined;
}

/** Input for claims as JSON, which keeps the typed text while it means the value. */
function ClaimsField({ value, onChange, error }: ClaimsFieldProps) {
  const [typed, setTyped] = useState('');
  const isTyped = stringifyExact(parseRequired(typed)) === stringifyExact(value);
  return (
    <Textarea
      label="Required claims"
      description={
        'Claims that a token must have with these values, as JSON, such as {"org_id": "acme"}. They keep tokens of other workspaces with the same issuer and audience out'
      }
      value={isTyped ? typed : formatRequired(value)}
      onChange={(event) => {
        setTyped(event.currentTarget.value);
        onChange(parseRequired(event.currentTarget.value));
      }}
      error={error}
      autosize
      minRows={1}
      maxRows={10}
      spellCheck={false}
      styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
    />
  );
}
