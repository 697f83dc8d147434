// Links between entities as values, in both directions, already resolved to the columns that carry them.

export type OnDelete = 'restrict' | 'cascade' | 'setNull';

/** Relation whose key is in this entity's field `column`; `key` is the name of that column in PostgreSQL. */
export interface BelongsTo {
  readonly kind: 'belongsTo';
  readonly name: string;
  readonly entity: string;
  readonly column: string;
  readonly key: string;
  readonly required: boolean;
  readonly unique: boolean;
  readonly onDelete: OnDelete;
}

/** Inverse of the other entity's belongsTo `inverse` in its column `key`; hasOne if at most one record points here. */
export interface HasRelation {
  readonly kind: 'hasMany' | 'hasOne';
  readonly name: string;
  readonly entity: string;
  readonly inverse: string;
  readonly key: string;
}

/** Relation through an ordinary entity with two belongsTo relations: `from` to this entity, `to` to the other. */
export interface ManyToMany {
  readonly kind: 'manyToMany';
  readonly name: string;
  readonly entity: string;
  readonly through: string;
  readonly from: string;
  readonly to: string;
  readonly fromKey: string;
  readonly toKey: string;
}

export type Relation = BelongsTo | HasRelation | ManyToMany;

/** Returns whether following the relation leads to at most one record. */
export function isToOne(relation: Relation): relation is BelongsTo | (HasRelation & { readonly kind: 'hasOne' }) {
  return relation.kind === 'belongsTo' || relation.kind === 'hasOne';
}
