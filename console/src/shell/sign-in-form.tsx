// Sign-in form: the OpenID provider for people, and a field for the key, which is exchanged for a cookie and dropped.
import { Alert, Button, Divider, PasswordInput, Stack, Text } from '@mantine/core';
import { type FormEvent, useRef, useState } from 'react';
import { signIn, signInAddress } from '../api/session.ts';
import { findSignInProvider } from './sign-in-provider.ts';

export interface SignInFormProps {
  readonly reason?: string;
  /** Path below /console to come back to from the provider, which is then visited in this tab, or undefined for a new tab. */
  readonly returnPath?: string;
  readonly onSignedIn: () => void;
}

export function SignInForm({ reason, returnPath, onSignedIn }: SignInFormProps) {
  const provider = findSignInProvider();
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
        {provider !== undefined && (
          <>
            <Button
              component="a"
              href={signInAddress(returnPath ?? '/')}
              {...(returnPath === undefined && { target: '_blank', rel: 'noopener' })}
            >
              <bdi>Sign in with {provider}</bdi>
            </Button>
            <Divider label="or with a key" labelPosition="center" />
          </>
        )}
        <PasswordInput
          ref={field}
          label="Key"
          name="key"
          autoComplete="current-password"
          data-autofocus
          autoFocus={provider === undefined}
          required
        />
        {mistake !== undefined && (
          <Alert role="alert" color="red" variant="light" p="xs">
            {mistake}
          </Alert>
        )}
        <Button type="submit" loading={isBusy} variant={provider === undefined ? 'filled' : 'default'}>
          Sign in
        </Button>
      </Stack>
    </form>
  );
}
