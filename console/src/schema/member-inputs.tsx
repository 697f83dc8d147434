// Inputs for members of a field or a relation of the draft: each reads, checks and sets the member at its path.
import { Checkbox } from '@mantine/core';
import type { Json } from '../api/json.ts';
import { CommitInput } from './commit-input.tsx';
import { createSetter, type EntityFormState, getError, getValue } from './form-state.ts';
import { asText, type Path } from './json-value.ts';

export interface MemberInputProps {
  readonly form: EntityFormState;
  readonly path: Path;
  readonly label: string;
}

export const MemberCheckbox = ({ form, path, label }: MemberInputProps) => (
  <Checkbox
    label={label}
    checked={getValue(form, path) === true}
    error={getError(form, path)}
    onChange={(event) => createSetter(form)(path, event.currentTarget.checked ? true : undefined)}
  />
);

export interface MemberTextProps extends MemberInputProps {
  readonly placeholder?: string;
  readonly format?: (value: Json | undefined) => string;
  readonly parse?: (text: string) => Json | undefined;
}

/** Text input for a member; empty text removes it. */
export function MemberText({ form, path, label, placeholder, format = asText, parse }: MemberTextProps) {
  return (
    <CommitInput
      label={label}
      placeholder={placeholder}
      value={format(getValue(form, path))}
      error={getError(form, path)}
      onCommit={(text) => createSetter(form)(path, parse === undefined ? text || undefined : parse(text.trim()))}
    />
  );
}
