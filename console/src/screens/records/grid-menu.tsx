// Menu of a cell, of its record, or of a column, by right click, Shift+F10 or the menu key.
import { Menu } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { EntityDocument } from '../../api/schema.ts';
import { screenPath } from '../../api/workspace.ts';
import { moveColumn, setPinned, setVisible } from '../../grid/columns.ts';
import type { MenuPlace } from '../../grid/grid-types.ts';
import type { CellPosition, GridCommand } from '../../grid/state.ts';
import { recordScreenPath } from '../../records/cell-value.tsx';
import type { RecordColumn } from '../../records/fields.ts';
import { toChip } from '../../records/filter.ts';
import { getMember } from '../../records/value.ts';
import { Icon, type IconName } from '../../shell/icon.tsx';
import type { RecordsState } from './use-records.ts';

export interface OpenMenu {
  readonly spot: CellPosition;
  readonly place: MenuPlace;
}

export interface GridMenuProps extends OpenMenu {
  readonly state: RecordsState;
  readonly entity: EntityDocument;
  readonly onCommand: (command: GridCommand, spot: CellPosition) => void;
  readonly onDelete: (id: string) => void;
  readonly onClose: () => void;
}

export function GridMenu(props: GridMenuProps) {
  const { spot, place, state, onClose } = props;
  const name = state.columns[spot.column]?.name ?? '';
  // Names the menu as well, which refers to it.
  const title = spot.row < 0 ? `Column ${name}` : `Cell ${name}`;
  return (
    <Menu
      opened
      onChange={(isOpen) => isOpen || onClose()}
      position="bottom-start"
      offset={0}
      withinPortal
      withInitialFocusPlaceholder={false}
    >
      <Menu.Target>
        <button type="button" tabIndex={-1} aria-label={title} className="menu-place" style={place} />
      </Menu.Target>
      <Menu.Dropdown aria-label={title}>
        {spot.row >= 0 && <CellItems {...props} name={name} />}
        {spot.row >= 0 && <Menu.Divider />}
        <ColumnItems {...props} name={name} />
      </Menu.Dropdown>
    </Menu>
  );
}

interface ItemProps {
  readonly icon?: IconName;
  readonly keys?: string;
  readonly isDestructive?: boolean;
  readonly onClick: () => void;
  readonly children: ReactNode;
}

const Item = ({ icon, keys, isDestructive = false, onClick, children }: ItemProps) => (
  <Menu.Item
    leftSection={icon === undefined ? <span className="menu-blank" /> : <Icon name={icon} size={14} />}
    {...(keys === undefined ? {} : { rightSection: <kbd className="menu-keys">{keys}</kbd> })}
    {...(isDestructive ? { className: 'menu-danger' } : {})}
    onClick={onClick}
  >
    {children}
  </Menu.Item>
);

type ItemsProps = GridMenuProps & { readonly name: string };

function CellItems({ state, entity, spot, name, onCommand, onDelete }: ItemsProps) {
  const { plan, query, setQuery, entityRef, mayWrite } = state;
  const row = state.rows?.get(spot.row);
  const column = plan.column(name);
  if (row === undefined || column === undefined) return null;
  const value = getMember(row.record, name);
  const filter = (operator: 'eq' | 'ne'): void => {
    const isNull = value === null || value === undefined;
    const condition = isNull
      ? { path: name, operator: operator === 'eq' ? 'isNull' : 'notNull', value: undefined }
      : { path: name, operator, value: String(value) };
    setQuery({ chips: [...query.chips, toChip([condition])] });
  };
  // A truncated text and a json are no value to compare with.
  const isFilterable = column.type !== 'json' && !row.truncatedLengths.has(name);
  const isEditable = mayWrite && !column.isReadOnly;
  return (
    <>
      <Item icon="copy" keys="Ctrl+C" onClick={() => copyCells(state)}>
        Copy
      </Item>
      {isFilterable && (
        <Item icon="search" onClick={() => filter('eq')}>
          Filter by this value
        </Item>
      )}
      {isFilterable && <Item onClick={() => filter('ne')}>Exclude this value</Item>}
      {isEditable && !column.isRequired && (
        <Item keys="Delete" onClick={() => onCommand('clear', spot)}>
          Set to NULL
        </Item>
      )}
      {getTarget(column, value) !== undefined && (
        <Menu.Item
          component={Link}
          to={recordScreenPath(entityRef, column.target ?? '', String(value))}
          leftSection={<Icon name="right" size={14} />}
        >
          Open {column.target} {String(value)}
        </Menu.Item>
      )}
      <Menu.Divider />
      <Item icon="right" keys="Ctrl+Enter" onClick={() => onCommand('open', spot)}>
        Open record {row.id}
      </Item>
      {mayWrite && (
        <Item icon="check" keys="Space" onClick={() => onCommand('toggleRow', spot)}>
          Select or deselect the record
        </Item>
      )}
      {mayWrite && entity.operations.includes('create') && (
        <Menu.Item
          component={Link}
          to={screenPath(entityRef, `/data/${entityRef.entity}/new`)}
          search={{ from: row.id } as never}
          leftSection={<Icon name="plus" size={14} />}
        >
          Duplicate the record
        </Menu.Item>
      )}
      {mayWrite && entity.operations.includes('delete') && (
        <Item icon="trash" isDestructive onClick={() => onDelete(row.id)}>
          Delete the record
        </Item>
      )}
    </>
  );
}

const getTarget = ({ type, target }: RecordColumn, value: unknown): string | undefined =>
  type === 'relation' && value !== null && value !== undefined ? target : undefined;

function ColumnItems({ state, spot, name, onCommand }: ItemsProps) {
  const { plan, layout, setLayout, query, setQuery, names } = state;
  const column = plan.column(name);
  const path = plan.sortPath(name);
  const isSorted = query.sort.some((key) => key.split(',')[0] === path);
  const isPinned = layout.pinned.includes(name);
  const relation = column?.relation?.name;
  const title = plan.title(name);
  return (
    <>
      {column?.type !== 'json' && (
        <>
          <Item icon="up" onClick={() => setQuery({ sort: [path] })}>
            Sort by {title}, ascending
          </Item>
          <Item icon="down" onClick={() => setQuery({ sort: [`${path},desc`] })}>
            Sort by {title}, descending
          </Item>
          {isSorted && (
            <Item onClick={() => setQuery({ sort: query.sort.filter((key) => key.split(',')[0] !== path) })}>
              Do not sort by {title}
            </Item>
          )}
        </>
      )}
      {spot.row < 0 && (
        <Item icon="search" keys="Ctrl+Shift+F" onClick={() => onCommand('filter', spot)}>
          Filter
        </Item>
      )}
      <Item onClick={() => setLayout(setPinned(layout, name, !isPinned))}>{isPinned ? 'Unpin' : 'Pin'} the column</Item>
      {spot.row < 0 && (
        <>
          <Item onClick={() => setLayout(moveColumn(layout, plan.names, name, -1))}>Move left</Item>
          <Item onClick={() => setLayout(moveColumn(layout, plan.names, name, 1))}>Move right</Item>
        </>
      )}
      {relation !== undefined && plan.nameable.includes(relation) && (
        <Item onClick={() => state.setNamed(toggleNamed(state, relation))}>
          {column?.label === undefined ? 'Show names' : 'Show ids'}
        </Item>
      )}
      {names.length > 1 && (
        <Item onClick={() => setLayout(setVisible(layout, plan.names, name, false))}>Hide the column</Item>
      )}
    </>
  );
}

function toggleNamed({ plan, named }: RecordsState, relation: string): readonly string[] {
  return plan.nameable.filter((one) => (one === relation ? !named.includes(one) : named.includes(one)));
}

/** Copies as Ctrl+C does: the grid fills the clipboard once it has the focus again. */
function copyCells({ control }: RecordsState): void {
  setTimeout(() => {
    control.focusGrid();
    document.execCommand('copy');
  });
}
