// Columns of a list: those of the entity and expanded labels, with their widths and the fields to request.
import type { EntityDocument, WorkspaceSchema } from '../../api/schema.ts';
import type { ColumnLayout } from '../../grid/columns.ts';
import type { GridColumn } from '../../grid/grid-types.ts';
import {
  type ColumnType,
  isNumeric,
  listBelongsTo,
  listColumns,
  listLabelColumns,
  type RecordColumn,
} from '../../records/fields.ts';
import { getSortDirection } from '../../records/list-query.ts';

const WIDTHS: Readonly<Record<ColumnType, number>> = {
  id: 92,
  integer: 96,
  bigint: 190,
  decimal: 110,
  float: 110,
  boolean: 84,
  date: 104,
  time: 92,
  datetime: 190,
  uuid: 292,
  enum: 112,
  string: 190,
  text: 260,
  json: 220,
  relation: 112,
  label: 180,
};

export interface ColumnPlan {
  readonly names: readonly string[];
  /** Columns of the entity itself. */
  readonly own: readonly RecordColumn[];
  /** Relations whose labels can be columns. */
  readonly expandable: readonly string[];
  readonly column: (name: string) => RecordColumn | undefined;
  /** Returns a column of the grid; `longestId` is the length of the longest id in characters. */
  readonly gridColumn: (name: string, layout: ColumnLayout, sort: readonly string[], longestId: number) => GridColumn;
  /** Returns `fields` of a request for these columns. */
  readonly toFieldNames: (names: readonly string[]) => readonly string[];
}

export function createColumnPlan(
  schema: WorkspaceSchema,
  entity: EntityDocument,
  expand: readonly string[],
): ColumnPlan {
  const own = listColumns(entity);
  const labels = listLabelColumns(schema, entity, expand);
  const all = own.flatMap((column) => [
    column,
    ...(column.type === 'relation' ? labels.filter(({ relation }) => relation?.name === column.relation?.name) : []),
  ]);
  const byName = new Map(all.map((column) => [column.name, column]));
  return {
    names: all.map(({ name }) => name),
    own,
    expandable: listExpandable(entity),
    column: (name) => byName.get(name),
    gridColumn: (name, { widths }, sort, longestId) =>
      toGridColumn(
        byName.get(name),
        name,
        widths.get(name) ?? getDefaultWidth(byName.get(name), name, longestId),
        sort,
      ),
    toFieldNames: (names) => {
      const paths = names.flatMap((name) => {
        const column = byName.get(name);
        return column?.type === 'label' ? [`${column.relation?.name}.id`, name] : [name];
      });
      return [...new Set(['id', ...paths])];
    },
  };
}

function listExpandable(entity: EntityDocument): readonly string[] {
  const allowed = entity.settings?.expandable ?? null;
  return listBelongsTo(entity)
    .map(({ name }) => name)
    .filter((name) => allowed === null || allowed.includes(name));
}

// A digit is 7.5 px wide at most, and the button that opens the record stands before the id.
const DIGIT = 8;
const OPEN_BUTTON = 40;

/** Returns a width in pixels with room for the name, and for the longest id in the column of ids. */
function getDefaultWidth(column: RecordColumn | undefined, name: string, longestId: number): number {
  const type = column?.type ?? 'string';
  const value = type === 'id' ? OPEN_BUTTON + longestId * DIGIT : 0;
  return Math.min(400, Math.max(WIDTHS[type], value, name.length * 8 + 34));
}

function toGridColumn(
  column: RecordColumn | undefined,
  name: string,
  width: number,
  sort: readonly string[],
): GridColumn {
  const type = column?.type ?? 'string';
  return {
    name,
    title: name,
    width,
    isEditable: column !== undefined && !column.isReadOnly,
    isNumeric: isNumeric(type),
    sort: getSortDirection(sort, name),
    description: column?.description,
  };
}
