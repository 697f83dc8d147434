// Dialog for name and slug of an organization or a workspace, new or renamed.
import { Text, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { fieldError } from '../api/api-error.ts';
import { suggestSlug } from '../format/ascii.ts';
import { FormDialog } from './dialogs.tsx';

export interface NameAndSlug {
  readonly slug: string;
  readonly name: string;
}

export interface NameDialogProps {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** Current values, to rename. */
  readonly before?: NameAndSlug;
  /** Consequence of another slug. */
  readonly warning?: string;
  /** Whether requests to the former slug can be redirected. */
  readonly canRedirect?: boolean;
  /** Further fields, below these. */
  readonly children?: ReactNode;
  readonly action?: string;
  readonly save: (named: NameAndSlug & { readonly redirectDays?: number }, data: FormData) => Promise<void>;
}

export function NameDialog(props: NameDialogProps) {
  const { before, warning, canRedirect = false, children, action = 'Save', save, onClose, ...rest } = props;
  return (
    <FormDialog
      {...rest}
      action={action}
      fields={['name', 'slug', 'redirectDays']}
      onClose={onClose}
      onSubmit={async (data) => {
        const days = String(data.get('redirectDays') ?? '');
        const named = { name: String(data.get('name')), slug: String(data.get('slug')) };
        await save(days === '' ? named : { ...named, redirectDays: Number(days) }, data);
        onClose();
      }}
    >
      {(error) => (
        <>
          <NameFields before={before} warning={warning} canRedirect={canRedirect} error={error} />
          {children}
        </>
      )}
    </FormDialog>
  );
}

interface NameFieldsProps {
  readonly before: NameAndSlug | undefined;
  readonly warning: string | undefined;
  readonly canRedirect: boolean;
  readonly error: unknown;
}

function NameFields({ before, warning, canRedirect, error }: NameFieldsProps) {
  const [name, setName] = useState(before?.name ?? '');
  const [typedSlug, setSlug] = useState(before?.slug);
  const slug = typedSlug ?? suggestSlug(name);
  const isMoved = before !== undefined && slug !== before.slug;
  return (
    <>
      <TextInput
        label="Name"
        name="name"
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        error={fieldError(error, 'name')}
        data-autofocus
        required
        dir="auto"
      />
      <TextInput
        label="Slug"
        name="slug"
        description="Used in URLs: lowercase letters, digits and hyphens"
        value={slug}
        onChange={(event) => setSlug(event.currentTarget.value)}
        error={fieldError(error, 'slug')}
        required
      />
      {canRedirect && isMoved && (
        <TextInput
          type="number"
          label="Days of redirects"
          name="redirectDays"
          description="Requests to the former slug by its users are redirected for 1 to 365 days. Empty: they are refused"
          min={1}
          max={365}
          error={fieldError(error, 'redirectDays')}
        />
      )}
      {warning !== undefined && isMoved && (
        <Text size="sm" role="status">
          {warning}
        </Text>
      )}
    </>
  );
}
