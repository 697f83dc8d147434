// An editor for a value of a field, as fits its type: in cells and in forms alike. What is typed is text (`typedValue` says
// what it means); what stands beside it, such as labels and messages, is the matter of who shows it.
import './value-editor.css';
import { type KeyboardEvent, useEffect, useRef } from 'react';
import type { WorkspaceSchema } from '../api/schema.ts';
import type { Place } from '../api/workspace.ts';
import { isLong, type RecordColumn } from './fields.ts';
import { momentOf, type ZoneName, zoneText } from './instant.ts';
import { RelationPicker } from './relation-picker.tsx';
import { enumValues } from './value.ts';

export interface ValueEditorProps {
  readonly place: Place;
  readonly schema: WorkspaceSchema;
  readonly column: RecordColumn;
  readonly zone: ZoneName;
  readonly text: string;
  readonly onText: (text: string) => void;
  /** Accessible name; or `id`, for a label of the form. */
  readonly label?: string;
  readonly id?: string;
  readonly isInvalid: boolean;
  readonly describedBy?: string | undefined;
  readonly isDisabled?: boolean;
  readonly takesFocus?: boolean;
  /** False: what was typed to begin stays as it is, the caret behind it. */
  readonly selectsAll?: boolean;
  /** Of a picker: a record was chosen. */
  readonly onChosen?: (id: string) => void;
  readonly onKeyDown?: (event: KeyboardEvent) => void;
}

const HINTS: ReadonlyMap<string, string> = new Map([
  ['date', 'yyyy-mm-dd'],
  ['time', 'hh:mm:ss'],
  ['datetime', 'yyyy-mm-dd hh:mm:ss'],
  ['uuid', '00000000-0000-0000-0000-000000000000'],
  ['json', '{}'],
]);

export function ValueEditor(props: ValueEditorProps) {
  const { place, schema, column, zone, text, onText, label, id, isInvalid, describedBy, isDisabled } = props;
  const element = useRef<HTMLInputElement & HTMLTextAreaElement & HTMLSelectElement>(null);
  const { takesFocus, selectsAll = true } = props;
  useEffect(() => {
    if (takesFocus !== true) return;
    const field = element.current;
    field?.focus({ preventScroll: true });
    if (field === null || !('setSelectionRange' in field)) return;
    const end = field.value.length;
    field.setSelectionRange(selectsAll && !isLong(column.type) ? 0 : end, end);
  }, [takesFocus, selectsAll, column.type]);
  const common = {
    id,
    'aria-label': label,
    'aria-invalid': isInvalid || undefined,
    'aria-describedby': describedBy,
    'aria-required': column.isRequired || undefined,
    disabled: isDisabled,
    className: 'value-editor',
    onKeyDown: props.onKeyDown,
  };
  const { type } = column;
  if (type === 'relation')
    return (
      <RelationPicker
        {...common}
        place={place}
        schema={schema}
        column={column}
        text={text}
        onText={onText}
        onChosen={props.onChosen}
        takesFocus={takesFocus === true}
      />
    );
  const values = type === 'boolean' ? ['true', 'false'] : enumValues(column.field);
  if (type === 'boolean' || (type === 'enum' && values.length > 0))
    return (
      <select {...common} ref={element} value={text} onChange={(event) => onText(event.currentTarget.value)}>
        {(!column.isRequired || !values.includes(text)) && (
          <option value={values.includes(text) ? '' : text}>
            {values.includes(text) || text === '' ? 'NULL' : text}
          </option>
        )}
        {values.map((value) => (
          <option key={value} value={value}>
            {value}
          </option>
        ))}
      </select>
    );
  if (isLong(type))
    return (
      <textarea
        {...common}
        ref={element}
        dir="auto"
        rows={5}
        spellCheck={type === 'text'}
        data-type={type}
        value={text}
        onChange={(event) => onText(event.currentTarget.value)}
      />
    );
  const input = (
    <input
      {...common}
      ref={element}
      dir="auto"
      type="text"
      autoComplete="off"
      inputMode={type === 'integer' || type === 'bigint' ? 'numeric' : undefined}
      placeholder={HINTS.get(type)}
      value={text}
      onChange={(event) => onText(event.currentTarget.value)}
    />
  );
  if (type !== 'datetime') return input;
  return (
    <span className="value-zoned">
      {input}
      <span className="value-zone">
        {zoneText(momentOf(text, zone) ?? '', zone) === 'UTC' && zone === 'local'
          ? 'local'
          : zoneText(momentOf(text, zone) ?? '', zone)}
      </span>
    </span>
  );
}
