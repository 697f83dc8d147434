// Picker for a related record: the server searches labels and ids, so that every record is available (the combobox
// pattern of WAI-ARIA). By hand, as Enter and Tab of a cell editor must wait for the response, which Mantine's Combobox
// does not know.
import { Anchor } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ComponentProps, type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { requestExact } from '../api/request.ts';
import { schemaQuery } from '../api/schema.ts';
import type { WorkspaceRef } from '../api/workspace.ts';
import { recordScreenPath } from './cell-value.tsx';
import { getLabelField } from './fields.ts';
import { getRecordLabel, isId, printRecordSearch } from './record-search.ts';
import { entityPath } from './requests.ts';
import { useOpensUpward } from './use-opens-upward.ts';
import { getId, type RecordValue } from './value.ts';

/** Milliseconds after the last key before the request. */
const PAUSE_MS = 150;

function useLabel(workspace: WorkspaceRef, target: string): string | undefined {
  const schema = useQuery(schemaQuery(workspace));
  return getLabelField(schema.data?.entities.get(target));
}

function useCandidates(workspace: WorkspaceRef, target: string, text: string, isOn: boolean) {
  const label = useLabel(workspace, target);
  const search = printRecordSearch(label, text);
  const path = entityPath({ ...workspace, entity: target }, search);
  const query = useQuery({
    queryKey: ['candidates', path],
    queryFn: async ({ signal }) => (await requestExact<readonly RecordValue[]>({ path, signal })).data,
    enabled: isOn && search !== undefined,
    placeholderData: (before) => before,
  });
  const records = search === undefined ? [] : (query.data ?? []);
  return { label, records, error: query.error, isFetching: query.isFetching };
}

export interface RecordPickerProps extends Omit<ComponentProps<'input'>, 'onChange' | 'value' | 'ref' | 'onKeyDown'> {
  readonly workspace: WorkspaceRef;
  /** Entity whose records are candidates. */
  readonly target: string;
  /** Id, or the search text. */
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly onChosen?: ((id: string) => void) | undefined;
  readonly takesFocus: boolean;
  readonly onKeyDown?: ((event: KeyboardEvent) => void) | undefined;
}

export function RecordPicker({ workspace, target, text, onText, onChosen, takesFocus, ...rest }: RecordPickerProps) {
  const [isOpen, setOpen] = useState(takesFocus);
  const [active, setActive] = useState(0);
  // The initial text is the current id, which needs no search until the user types.
  const [isTyped, setTyped] = useState(false);
  const searchText = isTyped ? text : '';
  const [debounced] = useDebouncedValue(searchText, PAUSE_MS);
  const debouncedText = searchText === '' ? '' : debounced;
  const { label, records, error, isFetching } = useCandidates(workspace, target, debouncedText, isOpen);
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const isUp = useOpensUpward(input, isOpen);
  const isEditable = rest.readOnly !== true && rest.disabled !== true;
  useEffect(() => {
    if (!takesFocus) return;
    input.current?.focus({ preventScroll: true });
    input.current?.select();
  }, [takesFocus]);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  });
  function choose(record: RecordValue): void {
    onText(getId(record));
    setTyped(false);
    setOpen(false);
    onChosen?.(getId(record));
  }
  function onKeyDown(event: KeyboardEvent): void {
    const activeRecord = isOpen && (isTyped || active > 0) ? records[active] : undefined;
    if (isEditable && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
      event.preventDefault();
      if (!isOpen) setOpen(true);
      else setActive(Math.max(0, Math.min(active + (event.key === 'ArrowDown' ? 1 : -1), records.length - 1)));
      return;
    }
    // Until the response for the typed text has arrived, the first candidate is that of another text.
    if (event.key === 'Enter' && activeRecord !== undefined && debouncedText === searchText && !isFetching) {
      event.preventDefault();
      event.stopPropagation();
      choose(activeRecord);
      return;
    }
    if (event.key === 'Escape' && isOpen) setOpen(false);
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
        onClick={() => setOpen(isEditable)}
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
              key={getId(record)}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === active}
              // Keeps the focus in the input.
              onPointerDown={(event) => event.preventDefault()}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => choose(record)}
            >
              <bdi dir="auto">{getRecordLabel(record, label)}</bdi>
              <small>{getId(record)}</small>
            </div>
          ))}
          {records.length === 0 && (
            <div role="presentation">{error === null ? (isFetching ? '…' : 'No record matches') : error.message}</div>
          )}
        </div>
      )}
    </div>
  );
}

/** Link to a record with its label. */
export function RecordLink({
  workspace,
  target,
  id,
}: {
  readonly workspace: WorkspaceRef;
  readonly target: string;
  readonly id: string;
}) {
  const label = useLabel(workspace, target);
  const { data } = useQuery({
    queryKey: ['label', workspace.org, workspace.ws, target, label, id],
    enabled: label !== undefined && isId(id),
    retry: false,
    queryFn: async ({ signal }) => {
      const path = entityPath({ ...workspace, entity: target }, `/${id}?fields=id,${label}&expand=`);
      return (await requestExact<RecordValue>({ path, signal })).data;
    },
  });
  if (!isId(id)) return null;
  return (
    <Anchor component={Link} to={recordScreenPath(workspace, target, id)} size="xs" maw={220} truncate>
      <bdi>{data === undefined ? 'Open' : getRecordLabel(data, label)}</bdi>
    </Anchor>
  );
}
