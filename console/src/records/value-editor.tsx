// Editor for a value by the type of its field, in cells, forms and dialogs alike. The typed value is text (`parseValue`
// converts it); labels and messages are rendered by the caller.
import './value-editor.css';
import { type KeyboardEvent, useEffect, useRef } from 'react';
import type { WorkspaceRef } from '../api/workspace.ts';
import { formatOffset, parseDateTime, readDay, replaceDay, type TimeZone } from '../format/datetime.ts';
import { Icon } from '../shell/icon.tsx';
import { getEditor } from './editors.ts';
import { isLong, type RecordColumn } from './fields.ts';
import { RecordPicker } from './record-picker.tsx';

export interface ValueEditorProps {
  readonly workspace: WorkspaceRef;
  readonly column: RecordColumn;
  readonly zone: TimeZone;
  readonly text: string;
  readonly onText: (text: string) => void;
  /** Accessible name; or `id`, for a label of the form. */
  readonly label?: string;
  readonly id?: string;
  readonly isInvalid: boolean;
  readonly describedBy?: string | undefined;
  readonly isDisabled?: boolean;
  readonly isReadOnly?: boolean;
  /** Placeholder for empty text; `NULL` by default. */
  readonly nothing?: string;
  readonly takesFocus?: boolean;
  /** False to keep the initial text, with the caret at its end. */
  readonly selectsAll?: boolean;
  /** Called when the user chooses a record in a picker. */
  readonly onChosen?: (id: string) => void;
  readonly onKeyDown?: (event: KeyboardEvent) => void;
}

export function ValueEditor(props: ValueEditorProps) {
  const { workspace, column, zone, text, onText, isDisabled, isReadOnly = false, nothing } = props;
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
    id: props.id,
    name: column.name,
    'aria-label': props.label,
    'aria-invalid': props.isInvalid || undefined,
    'aria-describedby': props.describedBy,
    'aria-required': (column.isRequired && !isReadOnly) || undefined,
    disabled: isDisabled,
    className: 'value-editor',
    onKeyDown: props.onKeyDown,
  };
  const typed = {
    dir: 'auto',
    readOnly: isReadOnly,
    value: text,
    onChange: (event: { readonly currentTarget: { readonly value: string } }) => onText(event.currentTarget.value),
  } as const;
  const editor = getEditor(column);
  switch (editor.kind) {
    case 'record':
      return (
        <RecordPicker
          {...common}
          workspace={workspace}
          target={column.target ?? ''}
          text={text}
          onText={onText}
          onChosen={props.onChosen}
          takesFocus={takesFocus === true}
          startsTyped={!selectsAll}
          readOnly={isReadOnly}
          placeholder={nothing}
        />
      );
    case 'choice': {
      const { values } = editor;
      const isKnown = values.includes(text);
      return (
        <select {...common} ref={element} value={text} onChange={typed.onChange} disabled={isDisabled || isReadOnly}>
          {(!column.isRequired || !isKnown) && (
            <option value={isKnown ? '' : text}>{isKnown || text === '' ? (nothing ?? 'NULL') : text}</option>
          )}
          {values.map((value) => (
            <option key={value} value={value}>
              {value}
            </option>
          ))}
        </select>
      );
    }
    case 'lines':
      return (
        <textarea
          {...common}
          {...typed}
          ref={element}
          rows={5}
          spellCheck={column.type === 'text'}
          data-type={column.type}
          placeholder={nothing}
        />
      );
    case 'line': {
      const input = (
        <input
          {...common}
          {...typed}
          ref={element}
          type="text"
          autoComplete="off"
          inputMode={editor.isInteger ? 'numeric' : undefined}
          placeholder={nothing || editor.hint}
        />
      );
      if (editor.calendar === undefined) return input;
      const kind = editor.calendar;
      return (
        <span className="value-dated">
          {input}
          {kind === 'datetime' && <span className="value-zone">{zoneWords(text, zone)}</span>}
          {!isReadOnly && isDisabled !== true && (
            <Calendar
              name={column.name}
              day={readDay(text)}
              isTabbed={takesFocus !== true}
              onDay={(day) => {
                onText(replaceDay(text, day, kind));
                element.current?.focus({ preventScroll: true });
              }}
            />
          )}
        </span>
      );
    }
    default:
      return editor satisfies never;
  }
}

/** Returns the offset of the typed time, or the zone of the page before there is one. */
function zoneWords(text: string, zone: TimeZone): string {
  const moment = parseDateTime(text, zone);
  return zone === 'UTC' ? 'UTC' : moment === undefined ? 'local' : formatOffset(moment, zone);
}

interface CalendarProps {
  readonly name: string;
  readonly day: string;
  /** Whether Tab stops here: in a cell it saves, so only the mouse opens the calendar. */
  readonly isTabbed: boolean;
  readonly onDay: (day: string) => void;
}

/** Calendar of the browser, which replaces the day and keeps all other digits of the text. */
function Calendar({ name, day, isTabbed, onDay }: CalendarProps) {
  const picker = useRef<HTMLInputElement>(null);
  return (
    <span className="value-calendar">
      <button
        type="button"
        tabIndex={isTabbed ? 0 : -1}
        aria-label={`Choose the day of ${name}`}
        title="Calendar"
        // Keeps the focus in the text.
        onMouseDown={(event) => event.preventDefault()}
        onClick={() => picker.current?.showPicker()}
      >
        <Icon name="calendar" />
      </button>
      <input
        ref={picker}
        type="date"
        tabIndex={-1}
        aria-hidden="true"
        value={day}
        onChange={({ currentTarget: { value } }) => value !== '' && onDay(value)}
      />
    </span>
  );
}
