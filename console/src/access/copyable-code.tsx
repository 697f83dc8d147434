// Text with a copy button: a command or a file.
import { Button, Code, CopyButton, Group, Text } from '@mantine/core';
import classes from './access.module.css';

export function CopyableCode({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    <figure style={{ margin: 0 }}>
      <Group component="figcaption" justify="space-between" mb={4}>
        <Text size="sm" fw={500}>
          {label}
        </Text>
        <CopyButton value={text}>
          {({ copied, copy }) => (
            <Button variant="subtle" size="compact-xs" onClick={copy}>
              {copied ? 'Copied' : `Copy ${label.toLowerCase()}`}
            </Button>
          )}
        </CopyButton>
      </Group>
      <Code block className={classes.code ?? ''}>
        {text}
      </Code>
    </figure>
  );
}
