// Alert with the warnings of a change that was made; nothing without any.
import { Alert, List, Text } from '@mantine/core';

export interface WarningsAlertProps {
  /** Such as "Saved, but:". */
  readonly title: string;
  readonly warnings: readonly string[];
}

export function WarningsAlert({ title, warnings }: WarningsAlertProps) {
  if (warnings.length === 0) return null;
  return (
    <Alert color="yellow" variant="light" p="xs" role="status">
      <Text size="sm" fw={600}>
        {title}
      </Text>
      <List size="sm">
        {warnings.map((warning) => (
          <List.Item key={warning}>{warning}</List.Item>
        ))}
      </List>
    </Alert>
  );
}
