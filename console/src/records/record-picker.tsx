// Chooses a related record: the server is asked as one types, by the label of records or by their id.
import { Anchor, Combobox, Group, ScrollArea, Text, TextInput, useCombobox } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { stringifySearch } from '../address.ts';
import { askExact } from '../api/ask.ts';
import { schemaQuery } from '../api/schema.ts';
import type { Place } from '../api/workspace.ts';
import { recordPath } from './cell.tsx';
import { labelOf, type RecordColumn } from './fields.ts';
import { entityPath } from './requests.ts';
import { idOf, memberOf, type RecordValue } from './value.ts';

export interface RecordPickerProps {
  readonly place: Place;
  readonly column: RecordColumn;
  /** The id. */
  readonly text: string | null | undefined;
  readonly label: string;
  readonly placeholder: string;
  readonly isReadOnly: boolean;
  readonly mistake: string | undefined;
  readonly onChange: (id: string) => void;
}

const SHOWN = 20;
const PAUSE_MS = 200;

/** The records of an entity that fit what is typed: their labels hold it, or their id is it. */
function useCandidates(place: Place, target: string, typed: string, isOpen: boolean) {
  const schema = useQuery(schemaQuery(place));
  const label = labelOf(schema.data?.entities.get(target));
  const query = useQuery({
    queryKey: ['candidates', place.org, place.ws, target, label, typed],
    enabled: isOpen && schema.data !== undefined,
    queryFn: async ({ signal }) => {
      const isId = /^\d{1,18}$/.test(typed);
      const byLabel = label === undefined ? [] : [`${label},contains,${typed.replaceAll(';', '\\;')}`];
      const alternatives = [...(isId ? [`id,eq,${typed}`] : []), ...byLabel];
      const search = stringifySearch({
        or: typed === '' || alternatives.length === 0 ? undefined : alternatives.join(';'),
        fields: label === undefined ? 'id' : `id,${label}`,
        expand: '',
        count: 'none',
        size: String(SHOWN),
      });
      return (
        await askExact<readonly RecordValue[]>({ path: entityPath({ ...place, entity: target }, search), signal })
      ).data;
    },
  });
  return { label, ...query };
}

/** What a record is called, for people: its label, or nothing. */
function useLabelOf(place: Place, target: string, id: string | null | undefined): string | undefined {
  const schema = useQuery(schemaQuery(place));
  const label = labelOf(schema.data?.entities.get(target));
  const { data } = useQuery({
    queryKey: ['label', place.org, place.ws, target, label, id],
    enabled: label !== undefined && typeof id === 'string' && /^\d+$/.test(id),
    retry: false,
    queryFn: async ({ signal }) =>
      (
        await askExact<RecordValue>({
          path: entityPath({ ...place, entity: target }, `/${id}?fields=${label}&expand=`),
          signal,
        })
      ).data,
  });
  const value = data === undefined || label === undefined ? undefined : memberOf(data, label);
  return value === undefined || value === null ? undefined : String(value);
}

export function RecordPicker({
  place,
  column,
  text,
  label: title,
  placeholder,
  isReadOnly,
  mistake,
  onChange,
}: RecordPickerProps) {
  const target = column.target ?? '';
  const combobox = useCombobox({ onDropdownClose: () => combobox.resetSelectedOption() });
  const [typed, setTyped] = useState<string>();
  const [settled] = useDebouncedValue(typed ?? '', PAUSE_MS);
  const candidates = useCandidates(place, target, settled, combobox.dropdownOpened);
  const called = useLabelOf(place, target, text);
  const shown = typed ?? (text === null || text === undefined ? '' : text);
  return (
    <Combobox
      store={combobox}
      withinPortal
      onOptionSubmit={(id) => {
        onChange(id);
        setTyped(undefined);
        combobox.closeDropdown();
      }}
    >
      <Combobox.Target>
        <TextInput
          flex={1}
          label={title}
          placeholder={placeholder}
          value={shown}
          readOnly={isReadOnly}
          error={mistake}
          onFocus={() => !isReadOnly && combobox.openDropdown()}
          onBlur={() => {
            combobox.closeDropdown();
            if (typed !== undefined && typed.trim() !== '') onChange(typed.trim());
            setTyped(undefined);
          }}
          onChange={(event) => {
            setTyped(event.currentTarget.value);
            combobox.openDropdown();
            combobox.updateSelectedOptionIndex();
          }}
          rightSectionWidth="auto"
          rightSection={
            typeof text === 'string' && text !== '' ? (
              <Anchor component={Link} to={recordPath(place, target, text)} size="xs" px="xs" maw={200} truncate>
                <bdi>{called ?? 'Open'}</bdi>
              </Anchor>
            ) : null
          }
        />
      </Combobox.Target>
      <Combobox.Dropdown>
        <Combobox.Options aria-label={`Records of ${target}`}>
          <ScrollArea.Autosize mah={240} type="scroll">
            {candidates.data?.map((record) => (
              <Combobox.Option key={idOf(record)} value={idOf(record)}>
                <Group justify="space-between" wrap="nowrap">
                  <Text size="sm" truncate dir="auto">
                    {candidates.label === undefined ? '' : String(memberOf(record, candidates.label) ?? '')}
                  </Text>
                  <Text size="xs" c="dimmed">
                    {idOf(record)}
                  </Text>
                </Group>
              </Combobox.Option>
            ))}
            {candidates.data?.length === 0 && <Combobox.Empty>No record is called so</Combobox.Empty>}
            {candidates.error !== null && candidates.error !== undefined && (
              <Combobox.Empty>{String(candidates.error.message)}</Combobox.Empty>
            )}
          </ScrollArea.Autosize>
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  );
}
