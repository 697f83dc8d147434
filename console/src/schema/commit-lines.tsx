// List of texts, one a line, that commits on blur.
import { Textarea } from '@mantine/core';
import { useEffect, useState } from 'react';
import { splitLines } from './field-values.ts';

export interface CommitLinesProps {
  readonly label: string;
  readonly value: readonly string[];
  readonly error?: string | undefined;
  readonly description?: string;
  readonly onCommit: (lines: readonly string[]) => void;
}

export function CommitLines({ label, value, error, description, onCommit }: CommitLinesProps) {
  const whole = value.join('\n');
  const [text, setText] = useState(whole);
  useEffect(() => setText(whole), [whole]);
  const commit = (): void => {
    const lines = splitLines(text);
    if (lines.join('\n') !== whole) onCommit(lines);
  };
  return (
    <Textarea
      label={label}
      description={description}
      value={text}
      error={error}
      autosize
      minRows={2}
      maxRows={12}
      spellCheck={false}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={commit}
    />
  );
}
