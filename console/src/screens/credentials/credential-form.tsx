// Dialog that creates a key or client, or changes name and expiry of a key; permissions stay as they were created.
import { TextInput } from '@mantine/core';
import { useState } from 'react';
import type { Grant } from '../../access/credentials.ts';
import { GrantFields, NameField } from '../../access/grant-fields.tsx';
import { fieldError } from '../../api/api-error.ts';
import { request } from '../../api/request.ts';
import type { ApiKey } from '../../api/types.ts';
import { adminPath, type WorkspaceRef } from '../../api/workspace.ts';
import { formatLocal, parseDateTime, type TimeZone } from '../../format/datetime.ts';
import { CopyAs } from '../../shell/copy-as.tsx';
import { FormDialog } from '../../shell/dialogs.tsx';
import { useTimeZone } from '../../shell/time-zone.tsx';
import { createAdminCall } from '../../snippets/admin.ts';

/** Formats a time to the minute for an input of type datetime-local. */
const formatForInput = (instant: string | null | undefined, zone: TimeZone): string =>
  instant == null ? '' : formatLocal(instant, zone).slice(0, 16).replace(' ', 'T');

export interface CredentialFormProps<C> {
  readonly workspace: WorkspaceRef;
  readonly noun: 'api-keys' | 'oauth-clients';
  readonly title: string;
  readonly hasExpiry: boolean;
  /** Key to change, or undefined to create a credential. */
  readonly before?: ApiKey;
  readonly onClose: () => void;
  readonly onSaved: (saved: C) => void;
}

export function CredentialForm<C>(props: CredentialFormProps<C>) {
  const { workspace, noun, title, hasExpiry, before, onClose, onSaved } = props;
  const zone = useTimeZone();
  const expiresBefore = formatForInput(before?.expiresAt, zone);
  const [name, setName] = useState(before?.name ?? '');
  const [grant, setGrant] = useState<Grant>({ permissions: 'READ_ONLY', entities: null });
  const [expires, setExpires] = useState(expiresBefore);
  const createBody = () => {
    const expiresAt = expires === '' ? null : (parseDateTime(expires, zone) ?? expires);
    if (before === undefined)
      return { method: 'POST', rest: `/${noun}`, body: { name, ...grant, ...(hasExpiry && { expiresAt }) } } as const;
    // An expired key keeps its expiry if only its name changes.
    const body = { name, ...(expires !== expiresBefore && { expiresAt }) };
    return { method: 'PUT', rest: `/${noun}/${before.id}`, body } as const;
  };
  return (
    <FormDialog
      title={title}
      action={before === undefined ? 'Create' : 'Save'}
      aside={
        <CopyAs
          call={() => {
            const { method, rest, body } = createBody();
            return createAdminCall(
              { origin: location.origin, ...workspace },
              { method, rest, body: JSON.stringify(body) },
            );
          }}
        />
      }
      onClose={onClose}
      onSubmit={async () => {
        const { method, rest, body } = createBody();
        onSaved((await request<C>({ method, path: adminPath(workspace, rest), body })).data);
      }}
    >
      {(error) => (
        <>
          <NameField value={name} onChange={setName} error={error} />
          {before === undefined && (
            <GrantFields workspace={workspace} value={grant} onChange={setGrant} error={error} />
          )}
          {hasExpiry && (
            <TextInput
              type="datetime-local"
              label={`Expires (${zone === 'UTC' ? 'UTC' : 'local time'})`}
              description="Leave empty to keep it valid until it is revoked"
              value={expires}
              onChange={(event) => setExpires(event.currentTarget.value)}
              error={fieldError(error, 'expiresAt')}
            />
          )}
        </>
      )}
    </FormDialog>
  );
}
