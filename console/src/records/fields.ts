// Columns of a record: id, fields, keys of its relations and time stamps, in the order of the API.
import type { EntityDocument, FieldDocument, RelationDocument, WorkspaceSchema } from '../api/schema.ts';

/** Types of the schema document, and those that only a list has. */
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
  | 'relation'
  /** Label of an expanded related record. */
  | 'label';

export interface RecordColumn {
  /** Unique name in a list, for filters and sorts. */
  readonly name: string;
  readonly type: ColumnType;
  readonly isReadOnly: boolean;
  readonly isRequired: boolean;
  readonly field?: FieldDocument;
  /** Relation of a key or a label, with its target entity. */
  readonly relation?: RelationDocument;
  readonly target?: string;
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

const LABEL_FIELDS = ['name', 'title', 'label', 'email'] as const;

/**
 * Returns the field that names a record: the schema's, else one with a usual name, else the first text; often
 * undefined.
 */
export function getLabelField(entity: EntityDocument | undefined): string | undefined {
  if (entity === undefined || entity.label === null) return undefined;
  if (typeof entity.label === 'string' && entity.fields.has(entity.label)) return entity.label;
  const isText = (name: string): boolean => {
    const type = entity.fields.get(name)?.type;
    return type === 'string' || type === 'text';
  };
  return LABEL_FIELDS.find(isText) ?? [...entity.fields.keys()].find(isText);
}

/** Lists the label columns that `expand=customer,product` adds: `customer.name`. Unknown names add none. */
export function listLabelColumns(
  schema: WorkspaceSchema,
  entity: EntityDocument,
  expand: readonly string[],
): readonly RecordColumn[] {
  return expand.flatMap((name) => {
    const relation = entity.relations.get(name);
    if (relation?.entity === undefined || !listBelongsTo(entity).includes(relation)) return [];
    const label = getLabelField(schema.entities.get(relation.entity)) ?? 'id';
    return [
      {
        name: `${name}.${label}`,
        type: 'label',
        isReadOnly: true,
        isRequired: false,
        relation,
        target: relation.entity,
      },
    ];
  });
}

export const isNumeric = (type: ColumnType): boolean =>
  type === 'integer' || type === 'bigint' || type === 'decimal' || type === 'float' || type === 'id';

export const isLong = (type: ColumnType): boolean => type === 'text' || type === 'json';
