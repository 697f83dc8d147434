// A field of a record in a form, by its type. Three things are told apart: a value, NULL, and, in a new record, the default.
import { Button, Group, Input, Select, Textarea, TextInput } from '@mantine/core';
import type { Place } from '../api/workspace.ts';
import { isLong, type RecordColumn } from './fields.ts';
import type { ZoneName } from './instant.ts';
import { RecordPicker } from './record-picker.tsx';
import { enumValues } from './value.ts';

/** Null: NULL; undefined: not given, so the default is stored. */
export type FieldText = string | null | undefined;

export interface FieldInputProps {
  readonly place: Place;
  readonly column: RecordColumn;
  readonly zone: ZoneName;
  readonly text: FieldText;
  readonly isReadOnly: boolean;
  readonly mistake: string | undefined;
  readonly onChange: (text: FieldText) => void;
}

export function FieldInput(props: FieldInputProps) {
  const { column, zone, text, isReadOnly, mistake, onChange } = props;
  const { name, type, description, isRequired } = column;
  const state = text === null ? 'NULL' : text === undefined ? placeholderOf(column) : '';
  const common = {
    label: type === 'datetime' ? `${name} (${zone})` : name,
    ...(description === undefined ? {} : { description }),
    error: mistake,
    withAsterisk: isRequired && !isReadOnly,
    name,
  };
  const typed = {
    value: text ?? '',
    placeholder: state,
    readOnly: isReadOnly,
    spellCheck: type === 'text',
    dir: 'auto',
  } as const;
  const input =
    type === 'boolean' || type === 'enum' ? (
      <Select
        {...common}
        searchable={type === 'enum'}
        disabled={isReadOnly}
        placeholder={state}
        data={type === 'boolean' ? ['true', 'false'] : [...enumValues(column.field)]}
        value={text ?? null}
        onChange={(next) => next !== null && onChange(next)}
        allowDeselect={false}
        flex={1}
      />
    ) : type === 'relation' ? (
      <RecordPicker {...props} label={common.label} placeholder={state} />
    ) : isLong(type) ? (
      <Textarea
        {...common}
        {...typed}
        autosize
        minRows={2}
        maxRows={16}
        flex={1}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    ) : (
      <TextInput {...common} {...typed} flex={1} onChange={(event) => onChange(event.currentTarget.value)} />
    );
  const mayBeNull = !isReadOnly && !isRequired && text !== null;
  return (
    <Group align="end" gap="xs" wrap="nowrap">
      <Input.Wrapper flex={1} miw={0}>
        {input}
      </Input.Wrapper>
      {mayBeNull && (
        <Button
          variant="subtle"
          color="gray"
          size="compact-xs"
          mb={6}
          aria-label={`Set ${name} to NULL`}
          onClick={() => onChange(null)}
        >
          NULL
        </Button>
      )}
    </Group>
  );
}

function placeholderOf({ field, isRequired }: RecordColumn): string {
  if (field?.default !== undefined && field.default !== null) return `default: ${JSON.stringify(field.default)}`;
  return isRequired ? '' : 'NULL';
}
