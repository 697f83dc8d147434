// Dialog that creates a key or client, or changes name and expiry of a key; permissions stay as they were created.
import { Button, Group, TextInput } from '@mantine/core';
import { useState } from 'react';
import { EXPIRIES, formatExpiry, READ_ONLY, toBody } from '../../access/credentials.ts';
import { NameField, RightsFields } from '../../access/rights-fields.tsx';
import { fieldError } from '../../api/api-error.ts';
import { stringifyExact } from '../../api/json.ts';
import { request } from '../../api/request.ts';
import type { ApiKey } from '../../api/types.ts';
import { adminPath, type WorkspaceRef } from '../../api/workspace.ts';
import { parseDateTime, type TimeZone } from '../../format/datetime.ts';
import { CopyAs } from '../../shell/copy-as.tsx';
import { FormDialog } from '../../shell/dialogs.tsx';
import { useTimeZone } from '../../shell/time-zone.tsx';
import { createAdminCall } from '../../snippets/admin.ts';

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
  const expiresBefore = formatExpiry(before?.expiresAt ?? null, zone);
  const [name, setName] = useState(before?.name ?? '');
  const [rights, setRights] = useState(READ_ONLY);
  const [expires, setExpires] = useState(expiresBefore);
  const createBody = () => {
    const expiresAt = expires === '' ? null : (parseDateTime(expires, zone) ?? expires);
    if (before === undefined)
      return {
        method: 'POST',
        rest: `/${noun}`,
        body: { name, ...toBody(rights), ...(hasExpiry && { expiresAt }) },
      } as const;
    // An expired key keeps its expiry if only its name changes.
    const body = { name, ...(expires !== expiresBefore && { expiresAt }) };
    return { method: 'PUT', rest: `/${noun}/${before.id}`, body } as const;
  };
  return (
    <FormDialog
      title={title}
      action={before === undefined ? 'Create' : 'Save'}
      fields={
        before === undefined
          ? ['name', 'permissions', 'roles', 'claims', 'entities', 'expiresAt']
          : ['name', 'expiresAt']
      }
      aside={
        <CopyAs
          call={() => {
            const { method, rest, body } = createBody();
            return createAdminCall(
              { origin: location.origin, ...workspace },
              { method, rest, body: stringifyExact(body) },
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
            <RightsFields workspace={workspace} value={rights} onChange={setRights} error={error} />
          )}
          {hasExpiry && (
            <ExpiryField value={expires} onChange={setExpires} zone={zone} error={fieldError(error, 'expiresAt')} />
          )}
        </>
      )}
    </FormDialog>
  );
}

interface ExpiryFieldProps {
  readonly value: string;
  readonly onChange: (next: string) => void;
  readonly zone: TimeZone;
  readonly error: string | undefined;
}

/** Input for a time as text: a picker of the browser has the order of its own language, `mm/dd/yyyy` for example. */
function ExpiryField({ value, onChange, zone, error }: ExpiryFieldProps) {
  return (
    <div>
      <TextInput
        label={`Expires (${zone === 'UTC' ? 'UTC' : 'local time'})`}
        description="Year-month-day, such as 2031-12-31 or 2031-12-31 18:00. Empty: valid until it is revoked"
        placeholder="Never"
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
        error={error}
        autoComplete="off"
        spellCheck={false}
      />
      <Group gap={4} mt={4} role="group" aria-label="Expires in">
        {EXPIRIES.map(({ label, days }) => (
          <Button
            key={label}
            variant="default"
            size="compact-xs"
            onClick={() =>
              onChange(
                days === undefined ? '' : formatExpiry(new Date(Date.now() + days * 86_400_000).toISOString(), zone),
              )
            }
          >
            {label}
          </Button>
        ))}
      </Group>
    </div>
  );
}
