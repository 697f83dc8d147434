// Editor of a cell: Enter saves and goes down, Tab saves and goes on, Esc restores, leaving the cell saves. A value
// that the server will likely reject is sent while the editor stays open, so that the focus stays in it.
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { type Json, stringifyExact } from '../../api/json.ts';
import type { TimeZone } from '../../format/datetime.ts';
import type { Move } from '../../grid/state.ts';
import { listChoices } from '../../records/editors.ts';
import { isLong, type RecordColumn } from '../../records/fields.ts';
import { type EntityRef, fetchRecord } from '../../records/requests.ts';
import type { Row } from '../../records/rows.ts';
import { useOpensLeftward, useOpensUpward } from '../../records/use-opens-upward.ts';
import { formatForEditing, getMember, isOutOfRange, isSameValue, parseValue } from '../../records/value.ts';
import { ValueEditor } from '../../records/value-editor.tsx';
import type { WriteResult } from '../../records/writer.ts';

// Widest message next to a cell, in pixels, as in value-editor.css.
const WIDEST_MESSAGE = 340;

export interface CellEditorProps {
  readonly entityRef: EntityRef;
  readonly row: Row;
  readonly column: RecordColumn;
  readonly zone: TimeZone;
  readonly typed: string | undefined;
  /** Rejected text of an earlier edit, and the server's message about it. */
  readonly draft: Json | undefined;
  readonly refusal: string | undefined;
  readonly onLeave: (next?: Move) => void;
  readonly onSave: (row: Row, values: ReadonlyMap<string, Json>) => Promise<WriteResult>;
  readonly onDiscard: () => void;
  /** Called when the value is rejected after the focus has left the cell. */
  readonly onRefused: () => void;
}

export function CellEditor({
  entityRef,
  row,
  column,
  zone,
  typed,
  draft,
  refusal,
  onLeave,
  onSave,
  onDiscard,
  onRefused,
}: CellEditorProps) {
  const { name, type } = column;
  const isCut = row.truncatedLengths.has(name) && draft === undefined;
  // Record at the start of the edit: a change that arrives later is a conflict, not a base.
  const [base] = useState(row);
  const stored = getMember(base.record, name);
  const [whole, setWhole] = useState<{ readonly value: Json | undefined; readonly row: Row } | undefined>(
    isCut ? undefined : { value: stored, row: base },
  );
  const first = draft === undefined ? formatForEditing(stored, type, zone) : refusedText(draft, type, zone);
  const [text, setText] = useState(startText(typed, first, column));
  const [message, setMessage] = useState(refusal);
  const [isSending, setSending] = useState(false);
  const isDone = useRef(false);
  const box = useRef<HTMLDivElement>(null);
  const isUp = useOpensUpward(box, true);
  const isLeft = useOpensLeftward(box, WIDEST_MESSAGE);
  const words = useId();
  useEffect(() => {
    if (!isCut) return;
    const controller = new AbortController();
    fetchRecord(entityRef, row.id, ['id', name], controller.signal).then(
      ({ record, version }) => {
        const value = getMember(record, name);
        setWhole({ value, row: { ...row, version } });
        if (typed === undefined) setText(formatForEditing(value, type, zone));
      },
      (error: Error) => controller.signal.aborted || setMessage(error.message),
    );
    return () => controller.abort();
  }, []);

  function leave(next?: Move): void {
    isDone.current = true;
    onLeave(next);
  }
  async function commit(input: string, next: Move | undefined, isLeaving: boolean): Promise<void> {
    if (isDone.current || whole === undefined || isSending) return;
    const before = draft === undefined ? formatForEditing(whole.value, type, zone) : refusedText(draft, type, zone);
    // Leaving the cell sends no rejected value a second time.
    if (input === before && (draft === undefined || isLeaving)) return leave(next);
    const result = parseValue(input, column, zone);
    if (result.kind === 'mistake') {
      setMessage(result.message);
      if (isLeaving) leave(next);
      return;
    }
    if (isSameValue(result.value, whole.value)) {
      onDiscard();
      return leave(next);
    }
    const saving = onSave(whole.row, new Map([[name, result.value]]));
    if (isLeaving || !(result.isDoubtful === true || isOutOfRange(result.value, column.field))) {
      leave(next);
      if ((await saving).kind === 'refused') onRefused();
      return;
    }
    setSending(true);
    const outcome = await saving;
    setSending(false);
    if (outcome.kind !== 'refused') return leave(next);
    setMessage(outcome.messages.get(name) ?? 'was refused');
  }
  function onKeyDown(event: KeyboardEvent): void {
    if (event.nativeEvent.isComposing) return;
    const isBreak = event.key === 'Enter' && isLong(type) && (event.shiftKey || event.altKey);
    if (event.key === 'Escape') {
      event.preventDefault();
      onDiscard();
      leave();
    } else if (event.key === 'Enter' && !isBreak) {
      event.preventDefault();
      void commit(text, 'down', false);
    } else if (event.key === 'Tab') {
      event.preventDefault();
      void commit(text, event.shiftKey ? 'previous' : 'next', false);
    }
    event.stopPropagation();
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: leaving the editor saves
    <div
      ref={box}
      className="cell-editor"
      data-up={isUp || undefined}
      data-left={isLeft || undefined}
      data-long={isLong(type) || undefined}
      onBlur={({ currentTarget, relatedTarget }) => {
        if (relatedTarget instanceof Node && currentTarget.contains(relatedTarget)) return;
        if (!isSending) void commit(text, undefined, true);
      }}
    >
      <ValueEditor
        workspace={entityRef}
        column={column}
        zone={zone}
        text={whole === undefined ? '' : text}
        onText={(next) => {
          setText(next);
          setMessage(undefined);
        }}
        label={`${name} of record ${row.id}`}
        isInvalid={message !== undefined}
        describedBy={message === undefined ? undefined : words}
        isDisabled={whole === undefined}
        key={whole === undefined ? 'loading' : 'there'}
        takesFocus
        selectsAll={typed === undefined}
        onChosen={(id) => void commit(id, 'down', false)}
        onKeyDown={onKeyDown}
      />
      {message !== undefined && (
        <div id={words} role="alert" className="cell-editor-words">
          <bdi>{message}</bdi>
        </div>
      )}
    </div>
  );
}

const refusedText = (value: Json, type: RecordColumn['type'], zone: TimeZone): string =>
  typeof value === 'string' && type !== 'json'
    ? formatForEditing(value, type, zone)
    : value === null
      ? ''
      : stringifyExact(value);

/**
 * Returns the initial text. A typed key replaces the value; in a select it picks the first option that begins with it.
 */
function startText(typed: string | undefined, first: string, column: RecordColumn): string {
  if (typed === undefined) return first;
  const choices = listChoices(column);
  if (choices.length === 0) return typed;
  return choices.find((one) => one.toLowerCase().startsWith(typed.toLowerCase())) ?? first;
}
