// Chooses a related record: the server is asked for those whose label has what is typed, or whose id it is, so that any
// record is found, however many there are (the combobox pattern of WAI-ARIA's authoring practices, with a list).
import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { stringifySearch } from '../address.ts';
import { askExact } from '../api/ask.ts';
import type { WorkspaceSchema } from '../api/schema.ts';
import type { Place } from '../api/workspace.ts';
import { labelOf, type RecordColumn } from './fields.ts';
import { entityPath } from './requests.ts';
import { idOf, memberOf, type RecordValue } from './value.ts';

export interface RelationPickerProps {
  readonly place: Place;
  readonly schema: WorkspaceSchema;
  readonly column: RecordColumn;
  /** The id, or what is typed to find one. */
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly onChosen?: ((id: string) => void) | undefined;
  readonly takesFocus: boolean;
  readonly onKeyDown?: ((event: KeyboardEvent) => void) | undefined;
  readonly disabled?: boolean | undefined;
  readonly className: string;
}

const MOST = 20;

/** Records of an entity by a part of their label or by their id; all of them, in the order of the label, for no text. */
function useFound(
  at: { readonly place: Place; readonly target: string; readonly label: string | undefined },
  text: string,
  isOn: boolean,
) {
  const { place, target, label } = at;
  const typed = text.trim();
  const isId = /^\d{1,15}$/.test(typed);
  const conditions = [
    ...(isId ? [`id,eq,${typed}`] : []),
    ...(label === undefined || typed === '' ? [] : [`${label},contains,${typed}`]),
  ];
  const search = stringifySearch({
    or:
      typed === '' || conditions.length === 0
        ? undefined
        : conditions.map((one) => one.replaceAll(';', '\\;')).join(';'),
    // Its own id comes first, and the beginning of the list is not searched for a label.
    sort: isId || label === undefined ? 'id' : label,
    fields: label === undefined ? 'id' : `id,${label}`,
    expand: '',
    count: 'none',
    preview: '100',
    size: String(MOST),
  });
  const path = entityPath({ ...place, entity: target }, search);
  return useQuery({
    queryKey: ['picker', path],
    queryFn: async ({ signal }) => (await askExact<readonly RecordValue[]>({ path, signal })).data,
    enabled: isOn && (typed === '' || conditions.length > 0),
    placeholderData: (before) => before,
  });
}

export function RelationPicker({
  place,
  schema,
  column,
  text,
  onText,
  onChosen,
  takesFocus,
  ...rest
}: RelationPickerProps) {
  const target = column.target ?? '';
  const label = labelOf(schema.entities.get(target));
  const [isOpen, setOpen] = useState(takesFocus);
  const [active, setActive] = useState(0);
  // What stands there at first is the id of now; it is not searched for until something is typed.
  const [isTyped, setTyped] = useState(false);
  const asked = useDelayed(isTyped ? text : '', 150);
  const found = useFound({ place, target, label }, asked, isOpen);
  const records = found.data ?? [];
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const isUp = useUp(input, isOpen);
  useEffect(() => {
    if (!takesFocus) return;
    input.current?.focus({ preventScroll: true });
    input.current?.select();
  }, [takesFocus]);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  });
  function choose(record: RecordValue): void {
    onText(idOf(record));
    setTyped(false);
    setOpen(false);
    onChosen?.(idOf(record));
  }
  function onKeyDown(event: KeyboardEvent): void {
    const chosen = isOpen && (isTyped || active > 0) ? records[active] : undefined;
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      if (!isOpen) setOpen(true);
      else setActive(Math.max(0, Math.min(active + (event.key === 'ArrowDown' ? 1 : -1), records.length - 1)));
      return;
    }
    if (event.key === 'Enter' && chosen !== undefined && asked === text) {
      event.preventDefault();
      event.stopPropagation();
      choose(chosen);
      return;
    }
    rest.onKeyDown?.(event);
  }
  return (
    <div className="picker">
      <input
        {...rest}
        ref={input}
        type="text"
        role="combobox"
        autoComplete="off"
        dir="auto"
        aria-expanded={isOpen}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={isOpen && records[active] !== undefined ? `${id}-${active}` : undefined}
        value={text}
        onChange={(event) => {
          onText(event.currentTarget.value);
          setTyped(true);
          setOpen(true);
          setActive(0);
        }}
        onClick={() => setOpen(true)}
        onKeyDown={onKeyDown}
        onBlur={() => setOpen(false)}
      />
      {isOpen && (
        <div
          ref={list}
          id={`${id}-list`}
          role="listbox"
          aria-label={`Records of ${target}`}
          className="picker-list"
          data-up={isUp || undefined}
        >
          {records.map((record, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field
            <div
              key={idOf(record)}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === active}
              // The field keeps the focus.
              onPointerDown={(event) => event.preventDefault()}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => choose(record)}
            >
              <bdi dir="auto">{labelText(record, label)}</bdi>
              <small>{idOf(record)}</small>
            </div>
          ))}
          {records.length === 0 && (
            <div role="presentation">
              {found.error === null ? (found.isFetching ? '…' : 'No record matches') : found.error.message}
            </div>
          )}
        </div>
      )}
    </div>
  );
}

function labelText(record: RecordValue, label: string | undefined): string {
  const value = label === undefined ? undefined : memberOf(record, label);
  return typeof value === 'string' && value !== '' ? value : `record ${idOf(record)}`;
}

/** A value once it has stood for a while; the empty text at once. */
function useDelayed(value: string, milliseconds: number): string {
  const [late, setLate] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setLate(value), value === '' ? 0 : milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return late;
}

/** Whether there is more room above an element than below it, in what is scrolled around it. */
export function useUp(element: { readonly current: HTMLElement | null }, isOn: boolean): boolean {
  const [isUp, setUp] = useState(false);
  useEffect(() => {
    if (!isOn || element.current === null) return;
    const around = element.current.closest('.grid')?.getBoundingClientRect();
    const { top, bottom } = element.current.getBoundingClientRect();
    const below = (around?.bottom ?? innerHeight) - bottom;
    setUp(below < 230 && top - (around?.top ?? 0) > below);
  }, [element, isOn]);
  return isUp;
}
