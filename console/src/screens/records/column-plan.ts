// Columns of a list with their widths and the fields to request. Keys of relations show the names of the related records
// unless their numbers are chosen.
import type { EntityDocument, WorkspaceSchema } from '../../api/schema.ts';
import type { ColumnLayout } from '../../grid/columns.ts';
import type { GridColumn } from '../../grid/grid-types.ts';
import { type ColumnType, isNumeric, listBelongsTo, listColumns, type RecordColumn } from '../../records/fields.ts';
import { getSortDirection } from '../../records/list-query.ts';
import { getLabel, listLabelPaths } from '../../records/record-label.ts';

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
};
// Width of names of related records.
const NAMED = 180;
// Most relations whose names are shown without being chosen: a request follows 60, those of its filters and sorts among them.
const MOST_NAMED = 20;

export interface ColumnPlan {
  readonly names: readonly string[];
  /** Columns of the entity itself. */
  readonly own: readonly RecordColumn[];
  /** Relations that can show names. */
  readonly nameable: readonly string[];
  readonly column: (name: string) => RecordColumn | undefined;
  /** Returns the heading of a column: the relation where names stand in place of ids. */
  readonly title: (name: string) => string;
  /** Returns the path that sorts by the values as they are shown. */
  readonly sortPath: (name: string) => string;
  /** Returns a column of the grid; `longestId` is the length of the longest id in characters. */
  readonly gridColumn: (name: string, layout: ColumnLayout, sort: readonly string[], longestId: number) => GridColumn;
  /** Returns `fields` of a request for these columns. */
  readonly toFieldNames: (names: readonly string[]) => readonly string[];
  /** Returns `expand` of a request for these columns. */
  readonly toExpand: (names: readonly string[]) => readonly string[];
}

/** Returns the plan. `chosen`: relations that show names; undefined for all that can. */
export function createColumnPlan(
  schema: WorkspaceSchema,
  entity: EntityDocument,
  chosen: readonly string[] | undefined,
): ColumnPlan {
  const labels = listNameable(schema, entity);
  const named = new Set(chosen ?? [...labels.keys()].slice(0, MOST_NAMED));
  const own = listColumns(entity).map((column): RecordColumn => {
    const relation = column.relation?.name ?? '';
    const label = named.has(relation) ? labels.get(relation) : undefined;
    return label === undefined ? column : { ...column, label };
  });
  const byName = new Map(own.map((column) => [column.name, column]));
  const getNamed = (name: string) => {
    const column = byName.get(name);
    return column?.label === undefined || column.relation === undefined ? undefined : column.relation.name;
  };
  const title = (name: string): string => getNamed(name) ?? name;
  const sortPath = (name: string): string => {
    const relation = getNamed(name);
    return relation === undefined ? name : (listLabelPaths(byName.get(name)?.label, relation)[0] ?? name);
  };
  return {
    names: own.map(({ name }) => name),
    own,
    nameable: [...labels.keys()],
    column: (name) => byName.get(name),
    title,
    sortPath,
    gridColumn(name, { widths }, sort, longestId) {
      const column = byName.get(name);
      const type = column?.type ?? 'string';
      return {
        name,
        title: title(name),
        width: widths.get(name) ?? getDefaultWidth(column, title(name), longestId),
        isEditable: column !== undefined && !column.isReadOnly,
        isNumeric: isNumeric(type),
        sort: getSortDirection(sort, sortPath(name)),
        description: column?.description ?? (title(name) === name ? undefined : name),
      };
    },
    toFieldNames(names) {
      const paths = names.flatMap((name) => {
        const relation = getNamed(name);
        return relation === undefined
          ? [name]
          : [name, `${relation}.id`, ...listLabelPaths(byName.get(name)?.label, relation)];
      });
      return [...new Set(['id', ...paths])];
    },
    toExpand: (names) => names.flatMap((name) => getNamed(name) ?? []),
  };
}

/** Returns the labels of the relations that may be expanded and whose records have one. */
function listNameable(schema: WorkspaceSchema, entity: EntityDocument): ReadonlyMap<string, string> {
  const allowed = entity.settings?.expandable ?? null;
  return new Map(
    listBelongsTo(entity).flatMap(({ name, entity: target }): [string, string][] => {
      const label = getLabel(schema.entities.get(target));
      return label === undefined || allowed?.includes(name) === false ? [] : [[name, label]];
    }),
  );
}

// A digit is 7.5 px wide at most, and the button that opens the record stands before the id.
const DIGIT = 8;
const OPEN_BUTTON = 40;

/** Returns a width in pixels with room for the title, and for the longest id in the column of ids. */
function getDefaultWidth(column: RecordColumn | undefined, title: string, longestId: number): number {
  const type = column?.type ?? 'string';
  const usual = column?.label === undefined ? WIDTHS[type] : NAMED;
  const value = type === 'id' ? OPEN_BUTTON + longestId * DIGIT : 0;
  return Math.min(400, Math.max(usual, value, title.length * 8 + 34));
}
