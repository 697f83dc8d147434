// Screens for unknown addresses and for errors.
import { Anchor, Box, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { ErrorAlert } from './error-alert.tsx';
import { ScreenFrame } from './screen-frame.tsx';

export function NotFoundScreen() {
  return (
    <Box p="md">
      <ScreenFrame title="Page not found">
        <Text>
          There is no page at this address.{' '}
          <Anchor component={Link} to="/">
            Back to the start
          </Anchor>
        </Text>
      </ScreenFrame>
    </Box>
  );
}

export function ErrorScreen({ error, reset }: { readonly error: unknown; readonly reset: () => void }) {
  return (
    <ScreenFrame title="This screen failed">
      <ErrorAlert error={error} onRetry={reset} />
    </ScreenFrame>
  );
}
