// Card of a record in a board or a calendar: opened by its link, dragged, or moved by its menu and by keys.
import { ActionIcon, Button, Menu } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { type DragEvent, type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import type { TimeZone } from '../format/datetime.ts';
import { CellValue, recordScreenPath } from '../records/cell-value.tsx';
import { findRelatedName, getRecordLabel } from '../records/record-label.ts';
import type { EntityRef } from '../records/requests.ts';
import type { Row } from '../records/rows.ts';
import { getId, getMember } from '../records/value.ts';
import { ErrorAlert } from '../shell/error-alert.tsx';
import { Icon } from '../shell/icon.tsx';
import type { CardFields, Moves } from './layout-records.ts';

export interface CardProps {
  readonly entityRef: EntityRef;
  readonly row: Row;
  readonly fields: CardFields;
  readonly zone: TimeZone;
  /** Items of the menu that moves the record; undefined where it cannot be moved. */
  readonly menu: ReactNode;
  readonly onMoveKey: (event: KeyboardEvent) => void;
  readonly onDrag: () => void;
  /** Whether it takes the focus, after a move by keyboard. */
  readonly takesFocus: boolean;
}

export function Card({ entityRef, row, fields, zone, menu, onMoveKey, onDrag, takesFocus }: CardProps) {
  const link = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    if (takesFocus) link.current?.focus();
  }, [takesFocus]);
  const { record } = row;
  const title = getRecordLabel(record, fields.label);
  const isMovable = menu !== undefined;
  return (
    <li
      className="card"
      draggable={isMovable}
      onDragStart={(event) => {
        event.dataTransfer.setData('text/plain', title);
        event.dataTransfer.effectAllowed = 'move';
        onDrag();
      }}
    >
      <span className="card-head">
        <Link
          ref={link}
          to={recordScreenPath(entityRef, entityRef.entity, getId(record))}
          draggable={false}
          {...(isMovable && { onKeyDown: onMoveKey, 'aria-keyshortcuts': 'Shift+ArrowLeft Shift+ArrowRight' })}
        >
          <bdi dir="auto">{title}</bdi>
        </Link>
        {isMovable && (
          <Menu position="bottom-end" withinPortal>
            <Menu.Target>
              <ActionIcon size={24} aria-label={`Move ${title}`} title="Move">
                <Icon name="dots" size={14} />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>{menu}</Menu.Dropdown>
          </Menu>
        )}
      </span>
      {fields.columns.map((column) => (
        <span key={column.name} className="card-field">
          <span className="card-name">
            {(column.label === undefined ? undefined : column.relation?.name) ?? column.name}
          </span>{' '}
          <CellValue
            workspace={entityRef}
            column={column}
            value={getMember(record, column.name)}
            zone={zone}
            relatedName={findRelatedName(record, column)}
          />
        </span>
      ))}
    </li>
  );
}

/** Returns the properties of an element that cards are dropped on. */
export function useDropTarget(isEnabled: boolean, onDrop: () => void) {
  const [isOver, setOver] = useState(false);
  if (!isEnabled) return {};
  return {
    'data-over': isOver || undefined,
    onDragOver: (event: DragEvent) => {
      event.preventDefault();
      setOver(true);
    },
    onDragLeave: () => setOver(false),
    onDrop: (event: DragEvent) => {
      event.preventDefault();
      setOver(false);
      onDrop();
    },
  };
}

export interface MoveNoticeProps {
  readonly moves: Moves;
  readonly onUndo: () => void;
}

/** Notice of the last move, with its undo, or of the error of one. */
export const MoveNotice = ({ moves: { error, last, dismiss }, onUndo }: MoveNoticeProps) => (
  <>
    <ErrorAlert error={error} />
    {last !== undefined && (
      <div className="records-line records-notice">
        <span>{last.words}.</span>
        <Button variant="default" size="compact-xs" onClick={onUndo}>
          Undo the move
        </Button>
        <ActionIcon size={24} aria-label="Close the notice" onClick={dismiss}>
          <Icon name="close" size={12} />
        </ActionIcon>
      </div>
    )}
  </>
);
