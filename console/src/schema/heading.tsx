// Heading of a section of a form.
import { Button, Group, Text } from '@mantine/core';

interface HeadingProps {
  readonly title: string;
  readonly action: string;
  readonly onAct: () => void;
}

export function Heading({ title, action, onAct }: HeadingProps) {
  return (
    <Group justify="space-between" mb={4}>
      <Text component="h2" size="sm" fw={600}>
        {title}
      </Text>
      <Button size="compact-xs" variant="default" onClick={onAct}>
        {action}
      </Button>
    </Group>
  );
}

export const EmptyNote = ({ of }: { readonly of: string }) => (
  <Text size="xs" c="dimmed">
    No {of}.
  </Text>
);
