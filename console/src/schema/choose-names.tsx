// List of names that are chosen from those that exist; names that are gone stay until they are taken away.
import { MultiSelect } from '@mantine/core';

export interface ChooseNamesProps {
  readonly label: string;
  readonly description?: string;
  readonly value: readonly string[];
  readonly names: readonly string[];
  readonly error?: string | undefined;
  readonly onChange: (names: readonly string[]) => void;
}

export const ChooseNames = ({ value, names, onChange, ...rest }: ChooseNamesProps) => (
  <MultiSelect
    {...rest}
    size="xs"
    data={[...new Set([...names, ...value])]}
    value={[...value]}
    onChange={onChange}
    searchable
    clearable
    hidePickedOptions
    limit={100}
    nothingFoundMessage="No such name"
  />
);
