// Dialog for name and slug of an organization or a workspace, new or renamed.
import { Text, TextInput } from '@mantine/core';
import { useState } from 'react';
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
  readonly save: (named: NameAndSlug) => Promise<void>;
}

export function NameDialog({ before, warning, save, onClose, ...rest }: NameDialogProps) {
  return (
    <FormDialog
      {...rest}
      action="Save"
      fields={['name', 'slug']}
      onClose={onClose}
      onSubmit={async (data) => {
        await save({ name: String(data.get('name')), slug: String(data.get('slug')) });
        onClose();
      }}
    >
      {(error) => <NameFields before={before} warning={warning} error={error} />}
    </FormDialog>
  );
}

interface NameFieldsProps {
  readonly before: NameAndSlug | undefined;
  readonly warning: string | undefined;
  readonly error: unknown;
}

function NameFields({ before, warning, error }: NameFieldsProps) {
  const [name, setName] = useState(before?.name ?? '');
  const [typedSlug, setSlug] = useState(before?.slug);
  const slug = typedSlug ?? suggestSlug(name);
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
      {warning !== undefined && before !== undefined && slug !== before.slug && (
        <Text size="sm" role="status">
          {warning}
        </Text>
      )}
    </>
  );
}
