// Form input for a field of a record: label, editor and error. It distinguishes a value, NULL and, in a new record, the
// default.
import './field-input.css';
import { ActionIcon, Group, Input } from '@mantine/core';
import { useId } from 'react';
import type { WorkspaceRef } from '../api/workspace.ts';
import type { TimeZone } from '../format/datetime.ts';
import { Icon } from '../shell/icon.tsx';
import type { RecordColumn } from './fields.ts';
import { OpenRecord } from './record-picker.tsx';
import { ValueEditor } from './value-editor.tsx';

/** Text of a field; null for NULL, undefined to store the default. */
export type FieldText = string | null | undefined;

export interface FieldInputProps {
  readonly workspace: WorkspaceRef;
  readonly column: RecordColumn;
  readonly zone: TimeZone;
  readonly text: FieldText;
  readonly isReadOnly: boolean;
  readonly mistake: string | undefined;
  readonly onChange: (text: FieldText) => void;
}

export function FieldInput({ workspace, column, zone, text, isReadOnly, mistake, onChange }: FieldInputProps) {
  const { name, type, description, isRequired, target } = column;
  const id = useId();
  // Only these types have an empty value.
  const isText = type === 'string' || type === 'text';
  const descriptionIds = [description && `${id}-description`, mistake && `${id}-error`].filter(Boolean).join(' ');
  const mayBeNull = !isReadOnly && !isRequired && text !== null;
  return (
    <Input.Wrapper
      className="field-input"
      id={id}
      label={<bdi>{name}</bdi>}
      description={description}
      error={mistake}
      withAsterisk={isRequired && !isReadOnly}
    >
      <Group gap="xs" wrap="nowrap" align="start">
        <div className="field-editor">
          <ValueEditor
            workspace={workspace}
            column={column}
            zone={zone}
            id={id}
            text={text ?? ''}
            onText={(next) => onChange(next === '' && !isText ? null : next)}
            isReadOnly={isReadOnly}
            isInvalid={mistake !== undefined}
            describedBy={descriptionIds === '' ? undefined : descriptionIds}
            nothing={text === null ? 'NULL' : text === undefined ? defaultWords(column) : ''}
          />
        </div>
        {type === 'relation' && target !== undefined && typeof text === 'string' && (
          <OpenRecord workspace={workspace} target={target} id={text} />
        )}
        {mayBeNull && (
          <ActionIcon
            variant="subtle"
            color="gray"
            mt={1}
            aria-label={`Set ${name} to NULL`}
            title={`Clear ${name}: it becomes NULL`}
            onClick={() => onChange(null)}
          >
            <Icon name="close" size={14} />
          </ActionIcon>
        )}
      </Group>
    </Input.Wrapper>
  );
}

function defaultWords({ field, isRequired }: RecordColumn): string {
  if (field?.default !== undefined && field.default !== null) return `default: ${JSON.stringify(field.default)}`;
  return isRequired ? '' : 'NULL';
}
