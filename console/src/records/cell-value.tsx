// A value of a record as a cell shows it. NULL, the empty text and a value that came cut are told apart by sight and by name.
import './cell-value.css';
import { Link } from '@tanstack/react-router';
import type { Json } from '../api/json.ts';
import { type Place, screenPath } from '../api/workspace.ts';
import { count } from '../format/amount.ts';
import type { ZoneName } from '../format/datetime.ts';
import type { RecordColumn } from './fields.ts';
import { shownText } from './value.ts';

export interface CellValueProps {
  readonly place: Place;
  readonly column: RecordColumn;
  /** Undefined: it was not asked for. */
  readonly value: Json | undefined;
  readonly zone: ZoneName;
  /** The whole length of a value that came cut. */
  readonly cutFrom?: number | undefined;
  /** Where a label leads: the id of the related record. */
  readonly leadsTo?: string | undefined;
}

/** Address of a record. */
export const recordPath = (place: Place, entity: string, id: string): string =>
  screenPath(place, `/data/${entity}/${id}`);

export function CellValue({ place, column, value, zone, cutFrom, leadsTo }: CellValueProps) {
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
  const text = shownText(value, type, zone);
  if (cutFrom !== undefined)
    return (
      <>
        <span className="cell-count">{count(cutFrom)} characters</span>
        <bdi dir="auto">{oneLine(text.slice(0, 80))}…</bdi>
      </>
    );
  const id = type === 'relation' ? text : leadsTo;
  if (target !== undefined && id !== undefined)
    return (
      <Link className="cell-link" tabIndex={-1} to={recordPath(place, target, id)}>
        <bdi dir="auto">{text}</bdi>
      </Link>
    );
  if (type === 'json') return <code className="cell-code">{text}</code>;
  return <bdi dir="auto">{oneLine(text)}</bdi>;
}

/** Line breaks are seen as such on one line. */
const oneLine = (text: string): string => text.replace(/\r\n|\r|\n/g, ' ↵ ');
