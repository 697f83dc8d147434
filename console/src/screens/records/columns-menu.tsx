// Menu of the columns: visibility, order, width and pins, all by keyboard.
import { Button, Group, Popover, ScrollArea, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import {
  type ColumnLayout,
  DEFAULT_LAYOUT,
  moveColumn,
  orderColumns,
  setPinned,
  setVisible,
  setWidth,
} from '../../grid/columns.ts';
import { Icon } from '../../shell/icon.tsx';

export interface ColumnsMenuProps {
  readonly layout: ColumnLayout;
  /** All names, in the order of the schema. */
  readonly all: readonly string[];
  readonly getWidth: (name: string) => number;
  readonly onLayout: (layout: ColumnLayout) => void;
  readonly getTitle: (name: string) => string;
  /** Relations that can show names in place of ids. */
  readonly relations: readonly string[];
  readonly named: readonly string[];
  readonly onNamed: (names: readonly string[]) => void;
}

export function ColumnsMenu(props: ColumnsMenuProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <Popover opened={isOpen} onChange={setOpen} position="bottom-end" withinPortal trapFocus width={340} shadow="md">
      <Popover.Target>
        <Button
          variant="default"
          leftSection={<Icon name="table" />}
          onClick={() => setOpen(!isOpen)}
          aria-haspopup="dialog"
        >
          Columns
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Columns" p="xs">
        <Columns {...props} />
      </Popover.Dropdown>
    </Popover>
  );
}

function Columns({ layout, all, getWidth, getTitle, onLayout, relations, named, onNamed }: ColumnsMenuProps) {
  const [typed, setTyped] = useState('');
  const visibleNames = orderColumns(layout, all);
  const hidden = all.filter((name) => !visibleNames.includes(name));
  const fits = (name: string): boolean =>
    `${name} ${getTitle(name)}`.toLowerCase().includes(typed.trim().toLowerCase());
  return (
    <Stack gap={6}>
      <TextInput
        aria-label="Find a column"
        placeholder="Find a column"
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
        data-autofocus
      />
      <ScrollArea.Autosize mah={320} type="auto">
        <ul className="columns-list">
          {[...visibleNames, ...hidden].filter(fits).map((name) => {
            const isShown = !hidden.includes(name);
            const isPinned = layout.pinned.includes(name);
            const width = getWidth(name);
            return (
              <li key={name}>
                <label>
                  <input
                    type="checkbox"
                    checked={isShown}
                    onChange={() => onLayout(setVisible(layout, all, name, !isShown))}
                  />
                  <bdi>{getTitle(name)}</bdi>
                </label>
                {isShown && (
                  <span className="columns-tools">
                    <Tool
                      name={`Move ${name} left`}
                      sign="←"
                      onClick={() => onLayout(moveColumn(layout, all, name, -1))}
                    />
                    <Tool
                      name={`Move ${name} right`}
                      sign="→"
                      onClick={() => onLayout(moveColumn(layout, all, name, 1))}
                    />
                    <Tool
                      name={`Make ${name} narrower`}
                      sign="−"
                      onClick={() => onLayout(setWidth(layout, name, width - 24))}
                    />
                    <Tool
                      name={`Make ${name} wider`}
                      sign="+"
                      onClick={() => onLayout(setWidth(layout, name, width + 24))}
                    />
                    <Tool
                      name={`Pin ${name}`}
                      sign="⇤"
                      isPressed={isPinned}
                      onClick={() => onLayout(setPinned(layout, name, !isPinned))}
                    />
                  </span>
                )}
              </li>
            );
          })}
        </ul>
      </ScrollArea.Autosize>
      {relations.length > 0 && (
        <fieldset className="columns-labels">
          <legend>
            <Text size="xs" c="dimmed">
              Names of related records, not their numbers
            </Text>
          </legend>
          {relations.map((name) => (
            <label key={name}>
              <input
                type="checkbox"
                checked={named.includes(name)}
                onChange={() =>
                  onNamed(relations.filter((one) => (one === name ? !named.includes(name) : named.includes(one))))
                }
              />
              <bdi>{name}</bdi>
            </label>
          ))}
        </fieldset>
      )}
      <Group justify="flex-end">
        <Button variant="subtle" onClick={() => onLayout(DEFAULT_LAYOUT)}>
          Reset columns
        </Button>
      </Group>
    </Stack>
  );
}

interface ToolProps {
  readonly name: string;
  readonly sign: string;
  readonly isPressed?: boolean;
  readonly onClick: () => void;
}

function Tool({ name, sign, isPressed, onClick }: ToolProps) {
  return (
    <button type="button" aria-label={name} title={name} aria-pressed={isPressed} onClick={onClick}>
      {sign}
    </button>
  );
}
