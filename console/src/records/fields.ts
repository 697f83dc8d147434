// Columns of a record: id, fields, keys of its relations and time stamps, in the order of the API.
import type { EntityDocument, FieldDocument, RelationDocument } from '../api/schema.ts';

/** Types of the schema document, of ids, and of keys of relations. */
export type ColumnType =
  | 'string'
  | 'text'
  | 'integer'
  | 'bigint'
  | 'decimal'
  | 'float'
  | 'boolean'
  | 'date'
  | 'datetime'
  | 'time'
  | 'uuid'
  | 'json'
  | 'enum'
  | 'id'
  | 'relation';

export interface RecordColumn {
  /** Unique name in a list, for filters and sorts. */
  readonly name: string;
  readonly type: ColumnType;
  readonly isReadOnly: boolean;
  readonly isRequired: boolean;
  readonly field?: FieldDocument;
  /** Relation of a key, with its target entity. */
  readonly relation?: RelationDocument;
  readonly target?: string;
  /** Label of the related record that stands in place of its id in a list. */
  readonly label?: string;
  readonly description?: string | undefined;
}

const systemColumn = (name: string, type: ColumnType): RecordColumn => ({
  name,
  type,
  isReadOnly: true,
  isRequired: true,
});

/** Lists the relations whose key is a column of the entity. */
export const listBelongsTo = (entity: EntityDocument): readonly RelationDocument[] =>
  [...entity.relations.values()].filter(({ kind }) => (kind ?? 'belongsTo') === 'belongsTo');

/** Returns the column that stores a relation. */
export const getKeyColumn = (relation: RelationDocument): string =>
  typeof relation.column === 'string' ? relation.column : `${relation.name}Id`;

export function listColumns(entity: EntityDocument): readonly RecordColumn[] {
  const fields = [...entity.fields.values()].map(
    (field): RecordColumn => ({
      name: field.name,
      type: field.type as ColumnType,
      isReadOnly: false,
      isRequired: field.required === true,
      field,
      description: field.description,
    }),
  );
  const keys = listBelongsTo(entity).map(
    (relation): RecordColumn => ({
      name: getKeyColumn(relation),
      type: 'relation',
      isReadOnly: false,
      isRequired: relation.required === true,
      relation,
      ...(relation.entity === undefined ? {} : { target: relation.entity }),
    }),
  );
  const stamps =
    entity.timestamps === true ? [systemColumn('createdAt', 'datetime'), systemColumn('updatedAt', 'datetime')] : [];
  return [systemColumn('id', 'id'), ...fields, ...keys, ...stamps];
}

export const isNumeric = (type: ColumnType): boolean =>
  type === 'integer' || type === 'bigint' || type === 'decimal' || type === 'float' || type === 'id';

export const isLong = (type: ColumnType): boolean => type === 'text' || type === 'json';
