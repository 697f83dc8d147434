// Picker for a related record: the server searches texts and ids, so that every record is available (the combobox
// pattern of WAI-ARIA). By hand, as Enter and Tab of a cell editor must wait for the response, which Mantine's Combobox
// does not know.
import { ActionIcon, Anchor } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQueries, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ComponentProps, type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { requestExact } from '../api/request.ts';
import { type EntityDocument, schemaQuery } from '../api/schema.ts';
import type { WorkspaceRef } from '../api/workspace.ts';
import { Icon } from '../shell/icon.tsx';
import { recordScreenPath } from './cell-value.tsx';
import { findRecordLabel, getLabel, getRecordLabel, listLabelPaths } from './record-label.ts';
import { isId, listHintColumns, printRecordSearch } from './record-search.ts';
import { entityPath } from './requests.ts';
import { useOpensUpward } from './use-opens-upward.ts';
import { formatValue, getId, getMember, type RecordValue } from './value.ts';

/** Milliseconds after the last key before the request. */
const PAUSE_MS = 150;

function useTarget(workspace: WorkspaceRef, target: string): EntityDocument | undefined {
  const schema = useQuery(schemaQuery(workspace));
  return schema.data?.entities.get(target);
}

function useCandidates(workspace: WorkspaceRef, target: string, text: string, isOn: boolean) {
  const entity = useTarget(workspace, target);
  const search = printRecordSearch(entity, text);
  const path = entityPath({ ...workspace, entity: target }, search);
  const query = useQuery({
    queryKey: ['candidates', path],
    queryFn: async ({ signal }) => (await requestExact<readonly RecordValue[]>({ path, signal })).data,
    enabled: isOn && search !== undefined,
    placeholderData: (before) => before,
  });
  const records = search === undefined ? [] : (query.data ?? []);
  return {
    label: getLabel(entity),
    hints: listHintColumns(entity),
    records,
    error: query.error,
    isFetching: query.isFetching,
  };
}

const getLabelKey = ({ org, ws }: WorkspaceRef, target: string, label: string | undefined, id: string) => [
  'label',
  ...[org, ws, target, label, id],
];

const labelQuery = (workspace: WorkspaceRef, target: string, label: string | undefined, id: string) => ({
  queryKey: getLabelKey(workspace, target, label, id),
  enabled: label !== undefined && isId(id),
  retry: false,
  queryFn: async ({ signal }: { readonly signal: AbortSignal }) => {
    const fields = ['id', ...listLabelPaths(label)].join();
    const path = entityPath({ ...workspace, entity: target }, `/${id}?fields=${fields}&expand=`);
    return (await requestExact<RecordValue>({ path, signal })).data;
  },
});

/** Returns the label of a record, or undefined until it is fetched, or if it has none. */
function useRecordLabel(workspace: WorkspaceRef, target: string, id: string): string | undefined {
  const label = getLabel(useTarget(workspace, target));
  const { data } = useQuery(labelQuery(workspace, target, label, id));
  return data === undefined || !isId(id) ? undefined : findRecordLabel(data, label);
}

export interface RecordOf {
  readonly target: string;
  readonly id: string;
}

/** Returns a function with the labels of these records, as far as they are fetched. */
export function useRecordLabels(workspace: WorkspaceRef, records: readonly RecordOf[]) {
  const entities = useQuery(schemaQuery(workspace)).data?.entities;
  const queries = records.map(({ target, id }) => labelQuery(workspace, target, getLabel(entities?.get(target)), id));
  const results = useQueries({ queries });
  return (target: string, id: string): string | undefined => {
    const record = results[records.findIndex((one) => one.target === target && one.id === id)]?.data;
    return record === undefined ? undefined : findRecordLabel(record, getLabel(entities?.get(target)));
  };
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
  /** Whether the initial text was typed, and is no id that is stored. */
  readonly startsTyped?: boolean;
  readonly onKeyDown?: ((event: KeyboardEvent) => void) | undefined;
}

export function RecordPicker(props: RecordPickerProps) {
  const { workspace, target, text, onText, onChosen, takesFocus, startsTyped = false, ...rest } = props;
  const [isOpen, setOpen] = useState(takesFocus);
  const [active, setActive] = useState(0);
  // The initial text is the current id, whose label is shown, and which needs no search until the user types.
  const [isTyped, setTyped] = useState(startsTyped);
  const searchText = isTyped ? text : '';
  const [debounced] = useDebouncedValue(searchText, PAUSE_MS);
  const debouncedText = searchText === '' ? '' : debounced;
  const { label, hints, records, error, isFetching } = useCandidates(workspace, target, debouncedText, isOpen);
  const current = useRecordLabel(workspace, target, isTyped ? '' : text);
  const client = useQueryClient();
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const isUp = useOpensUpward(input, isOpen);
  const isEditable = rest.readOnly !== true && rest.disabled !== true;
  useEffect(() => {
    if (!takesFocus) return;
    input.current?.focus({ preventScroll: true });
    if (!startsTyped) input.current?.select();
  }, [takesFocus, startsTyped]);
  // A label that arrives late replaces the id, and is selected as the id was.
  useEffect(() => {
    if (current !== undefined && input.current === document.activeElement) input.current?.select();
  }, [current]);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  });
  function choose(record: RecordValue): void {
    client.setQueryData(getLabelKey(workspace, target, label, getId(record)), record);
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
        value={current ?? text}
        onFocus={({ currentTarget }) => isTyped || currentTarget.select()}
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
              {hints.map(({ name, type }) => (
                <small key={name} title={name}>
                  <bdi dir="auto">{formatValue(getMember(record, name), type, 'UTC')}</bdi>
                </small>
              ))}
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

interface RecordLinkProps {
  readonly workspace: WorkspaceRef;
  readonly target: string;
  readonly id: string;
}

/** Link to a record with its label. */
export function RecordLink({ workspace, target, id }: RecordLinkProps) {
  const label = useRecordLabel(workspace, target, id);
  if (!isId(id)) return null;
  return (
    <Anchor component={Link} to={recordScreenPath(workspace, target, id)} size="xs" maw={220} truncate>
      <bdi>{label ?? `record ${id}`}</bdi>
    </Anchor>
  );
}

/** Button that opens a record, next to a field with its name. */
export function OpenRecord({ workspace, target, id }: RecordLinkProps) {
  if (!isId(id)) return null;
  return (
    <ActionIcon
      component={Link}
      to={recordScreenPath(workspace, target, id)}
      variant="subtle"
      mt={1}
      aria-label={`Open ${target} ${id}`}
      title={`Open ${target} ${id}`}
    >
      <Icon name="right" size={14} />
    </ActionIcon>
  );
}
