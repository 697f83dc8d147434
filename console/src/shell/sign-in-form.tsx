// Sign-in form with one field: the key, which is exchanged for a cookie and dropped.
import { Alert, Button, PasswordInput, Stack, Text } from '@mantine/core';
import { type FormEvent, useRef, useState } from 'react';
import { signIn } from '../api/session.ts';

export interface SignInFormProps {
  readonly reason?: string;
  readonly onSignedIn: () => void;
}

export function SignInForm({ reason, onSignedIn }: SignInFormProps) {
  const field = useRef<HTMLInputElement>(null);
  const [mistake, setMistake] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    setBusy(true);
    setMistake(undefined);
    try {
      const response = await signIn({ key: field.current?.value.trim() ?? '' });
      if (response.ok) {
        if (field.current !== null) field.current.value = '';
        onSignedIn();
        return;
      }
      const { error } = (await response.json()) as { readonly error?: { readonly message?: string } };
      setMistake(response.status === 401 ? 'The key is not valid' : (error?.message ?? 'The server refused the key'));
    } catch {
      setMistake('The server cannot be reached');
    } finally {
      setBusy(false);
      field.current?.focus();
    }
  }
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack gap="sm">
        {reason !== undefined && <Text size="sm">{reason}</Text>}
        <PasswordInput
          ref={field}
          label="Key"
          name="key"
          autoComplete="current-password"
          data-autofocus
          autoFocus
          required
        />
        {mistake !== undefined && (
          <Alert role="alert" color="red" variant="light" p="xs">
            {mistake}
          </Alert>
        )}
        <Button type="submit" loading={isBusy}>
          Sign in
        </Button>
      </Stack>
    </form>
  );
}
