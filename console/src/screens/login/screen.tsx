// Sign-in screen: takes a key, or a one-time link with its code after the # of the address, which no log contains.
import { Alert, Center, Paper, Text, Title } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { queryClient } from '../../api/query-client.ts';
import { signIn } from '../../api/session.ts';
import { SignInForm } from '../../shell/sign-in-form.tsx';
import { findSignInProvider } from '../../shell/sign-in-provider.ts';

export function Screen() {
  const navigate = useNavigate();
  const [mistake, setMistake] = useState<string>();
  const to = new URLSearchParams(location.search).get('to');
  const target = to?.startsWith('/') && !to.startsWith('//') ? to : '/';
  function enter(): void {
    queryClient.clear();
    void navigate({ href: target, replace: true });
  }
  useEffect(() => {
    document.title = 'Sign in · Console';
    const code = location.hash.slice(1);
    if (code === '') return;
    // Removes the code from the address bar before anything else.
    history.replaceState(history.state, '', location.pathname + location.search);
    void signIn({ code }).then(
      (response) =>
        response.ok
          ? enter()
          : setMistake(
              'The link was used before or has expired. Sign in with a key, or run "npm run wda -- console" ("wda console" of the package) for another link.',
            ),
      () => setMistake('The server cannot be reached'),
    );
  }, []);
  return (
    <Center component="main" mih="100vh" p="md">
      <Paper withBorder p="lg" w={360} maw="100%">
        <Title order={1} mb="xs">
          Sign in
        </Title>
        <Text size="sm" c="dimmed" mb="sm">
          {findSignInProvider() === undefined ? 'With' : 'As a person, or with'} the operator key or an API key of a
          workspace. A key is exchanged for a cookie and not stored.
        </Text>
        {mistake !== undefined && (
          <Alert role="alert" color="red" variant="light" p="xs" mb="sm">
            {mistake}
          </Alert>
        )}
        <SignInForm returnPath={target} onSignedIn={enter} />
      </Paper>
    </Center>
  );
}
