// Name and slug of something new, or of something that gets another name: the dialog of organizations and workspaces.
import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { isApiError } from '../api/api-error.ts';
import { ErrorAlert } from './error-alert.tsx';

export interface NameAndSlug {
  readonly slug: string;
  readonly name: string;
}

export interface NameDialogProps {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** Of something that exists. */
  readonly before?: NameAndSlug;
  /** What another slug means. */
  readonly warning?: string;
  readonly save: (named: NameAndSlug) => Promise<void>;
}

/** A slug that a name suggests: `[a-z0-9-]`, 63 at most. */
export const suggestSlug = (name: string): string =>
  name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 63);

export function NameDialog(props: NameDialogProps) {
  return (
    <Modal
      opened={props.isOpen}
      onClose={props.onClose}
      title={props.title}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {props.isOpen && <NameForm {...props} />}
    </Modal>
  );
}

function NameForm({ before, warning, save, onClose }: NameDialogProps) {
  const [name, setName] = useState(before?.name ?? '');
  const [slug, setSlug] = useState(before?.slug);
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const getFieldError = (field: string): string | undefined =>
    isApiError(error) ? error.details.find((detail) => detail.field === field)?.message : undefined;
  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      await save({ name, slug: slug ?? suggestSlug(name) });
      onClose();
    } catch (thrown) {
      setError(thrown);
    } finally {
      setBusy(false);
    }
  }
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack gap="sm">
        <TextInput
          label="Name"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={getFieldError('name')}
          data-autofocus
          required
          dir="auto"
        />
        <TextInput
          label="Slug"
          description="Used in URLs: lowercase letters, digits and hyphens"
          value={slug ?? suggestSlug(name)}
          onChange={(event) => setSlug(event.currentTarget.value)}
          error={getFieldError('slug')}
          required
        />
        {warning !== undefined && before !== undefined && slug !== undefined && slug !== before.slug && (
          <Text size="sm" role="status">
            {warning}
          </Text>
        )}
        <ErrorAlert error={error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={isBusy}>
            Save
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
