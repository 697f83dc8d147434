// Text input that commits on Enter or blur, not on each letter; Esc restores the text.
import { TextInput, type TextInputProps } from '@mantine/core';
import { type KeyboardEvent, useEffect, useState } from 'react';
import { useFocusWhenAdded } from '../shell/use-focus-when-added.ts';
import { useInvalidName } from './invalid-names.ts';

export interface CommitInputProps extends Omit<TextInputProps, 'value' | 'onChange'> {
  readonly value: string;
  /** Returns why the text is invalid, or undefined if it is valid. */
  readonly refuse?: (text: string) => string | undefined;
  readonly onCommit: (text: string) => void;
  /** Whether it was just added, so that it takes the focus. */
  readonly isAdded?: boolean;
}

export function CommitInput({ value, refuse, onCommit, error, isAdded = false, ...rest }: CommitInputProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const reason = text === value ? undefined : refuse?.(text);
  useInvalidName(reason === undefined ? undefined : `“${text}” is no name: ${reason}`);
  const input = useFocusWhenAdded(isAdded);
  const commit = (): void => {
    if (text !== value && reason === undefined) onCommit(text);
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'Enter') commit();
    if (event.key === 'Escape') setText(value);
  };
  return (
    <TextInput
      {...rest}
      ref={input}
      value={text}
      error={reason ?? error}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={commit}
      onKeyDown={onKey}
      spellCheck={false}
      autoComplete="off"
    />
  );
}
