// Steps of a version in words.
import { Badge, Group, List, Text } from '@mantine/core';
import type { VersionStep } from '../api/types.ts';

export interface VersionStepsProps {
  readonly steps: readonly VersionStep[];
  readonly label: string;
  /** How many are listed; the others are counted. */
  readonly most?: number;
}

export function VersionSteps({ steps, label, most = steps.length }: VersionStepsProps) {
  if (steps.length === 0) return <Text size="sm">No steps: only the text of the document differs.</Text>;
  return (
    <>
      <List size="sm" spacing={4} aria-label={label} listStyleType="none">
        {steps.slice(0, most).map((step, index) => (
          <List.Item key={index}>
            <Step {...step} />
          </List.Item>
        ))}
      </List>
      {steps.length > most && (
        <Text size="xs" c="dimmed">
          and {steps.length - most} more
        </Text>
      )}
    </>
  );
}

const Step = ({ description, destructive, opens, grants = [] }: VersionStep) => (
  <>
    <Group gap={6}>
      <bdi>{description}</bdi>
      {destructive && (
        <Badge color="red" tt="none">
          destroys
        </Badge>
      )}
      {opens && (
        <Badge color="yellow" tt="none">
          opens to every user
        </Badge>
      )}
    </Group>
    {grants.length > 0 && (
      <List size="xs" type="ordered" withPadding>
        {grants.map((grant) => (
          <List.Item key={grant}>
            <bdi>{grant}</bdi>
          </List.Item>
        ))}
      </List>
    )}
  </>
);
