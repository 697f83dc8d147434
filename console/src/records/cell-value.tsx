// Display of a value in a cell. NULL, the empty text and a truncated value differ by sight and by accessible name.
import './cell-value.css';
import { Link } from '@tanstack/react-router';
import type { Json } from '../api/json.ts';
import { screenPath, type WorkspaceRef } from '../api/workspace.ts';
import { formatCount } from '../format/amount.ts';
import type { TimeZone } from '../format/datetime.ts';
import { Icon } from '../shell/icon.tsx';
import type { RecordColumn } from './fields.ts';
import { formatValue } from './value.ts';

export interface CellValueProps {
  readonly workspace: WorkspaceRef;
  readonly column: RecordColumn;
  /** Value, or undefined if it was not requested. */
  readonly value: Json | undefined;
  readonly zone: TimeZone;
  /** Full length of a truncated value. */
  readonly fullLength?: number | undefined;
  /** Name of the related record, in place of its id. */
  readonly relatedName?: string | undefined;
  /** Whether a button opens the related record, as a click on the text has another meaning. */
  readonly hasOpenButton?: boolean;
}

/** Returns the address of a record. */
export const recordScreenPath = (workspace: WorkspaceRef, entity: string, id: string): string =>
  screenPath(workspace, `/data/${entity}/${id}`);

export function CellValue({ workspace, column, value, zone, fullLength, relatedName, hasOpenButton }: CellValueProps) {
  const { type, target } = column;
  if (value === undefined) return <span className="cell-quiet">…</span>;
  if (value === null) return <span className="cell-null">NULL</span>;
  if (value === '')
    return (
      <span className="cell-null">
        <span aria-hidden="true">""</span>
        <span className="visually-hidden">empty text</span>
      </span>
    );
  const text = formatValue(value, type, zone);
  if (fullLength !== undefined)
    return (
      <>
        <span className="cell-count">{formatCount(fullLength)} characters</span>
        <bdi dir="auto">{oneLine(text.slice(0, 80))}…</bdi>
      </>
    );
  if (type === 'relation' && target !== undefined) {
    const name = <bdi dir="auto">{relatedName === undefined ? text : oneLine(relatedName)}</bdi>;
    const to = recordScreenPath(workspace, target, text);
    if (hasOpenButton !== true)
      return (
        <Link className="cell-link" tabIndex={-1} to={to}>
          {name}
        </Link>
      );
    const words = `Open ${target} ${text}`;
    return (
      <>
        {name}
        <Link className="cell-open" tabIndex={-1} to={to} aria-label={words} title={words}>
          <Icon name="right" size={14} />
        </Link>
      </>
    );
  }
  if (type === 'json') return <code className="cell-code">{text}</code>;
  return <bdi dir="auto">{oneLine(text)}</bdi>;
}

/** Shows line breaks as a sign on one line. */
const oneLine = (text: string): string => text.replace(/\r\n|\r|\n/g, ' ↵ ');
