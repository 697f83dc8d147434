// A schema document for its checks: entities, fields and relations by name, without members that were mistaken. Takes
// the rest of a document after the check of its shape.
import type { FieldTypeName } from '../model/field-types.ts';
import type { EntityDocument, FieldDocument, RelationDocument } from './format.ts';
import type { Path, Report } from './report.ts';

/** Any member may have been removed because of its form. */
export type Loose<T> = { readonly [K in keyof T]?: T[K] | undefined };

export interface EntityView {
  readonly name: string;
  readonly path: Path;
  readonly document: Loose<EntityDocument>;
  readonly fields: ReadonlyMap<string, Loose<FieldDocument>>;
  readonly relations: ReadonlyMap<string, Loose<RelationDocument>>;
  /** Columns by name: id, fields, keys of belongsTo relations, timestamps. The type is undefined if it is mistaken. */
  readonly columns: ReadonlyMap<string, FieldTypeName | undefined>;
  /** Whether a mistake hides names of this entity, so that no name can be reported as missing in it. */
  readonly opaque: boolean;
}

export type DocumentView = ReadonlyMap<string, EntityView>;

/** Returns the column that holds the key of a belongsTo relation. */
export function getColumn(relation: string, document: Loose<RelationDocument>): string {
  return document.column ?? `${relation}Id`;
}

/** Builds a view. `document` is `original` without the members of the wrong shape. */
export function makeView(
  document: { readonly entities?: Readonly<Record<string, Loose<EntityDocument>>> | undefined },
  original: unknown,
  report: Report,
): DocumentView {
  const views = new Map<string, EntityView>();
  for (const [name, entity] of Object.entries(document.entities ?? {})) {
    const path = ['entities', name];
    const fields = new Map(Object.entries(entity.fields ?? {}));
    const relations = new Map(Object.entries(entity.relations ?? {}));
    const columns = new Map<string, FieldTypeName | undefined>([['id', 'bigint']]);
    for (const [field, { type }] of fields) columns.set(field, type);
    for (const [relation, of] of relations) {
      if (of.kind === 'belongsTo') columns.set(getColumn(relation, of), 'bigint');
    }
    if (entity.timestamps === true) for (const column of ['createdAt', 'updatedAt']) columns.set(column, 'datetime');
    views.set(name, {
      name,
      path,
      document: entity,
      fields,
      relations,
      columns,
      opaque:
        report.has(path) ||
        getMembers(getMembers(original).entities, name).some((key) => report.has([...path, key])) ||
        [...relations.values()].some((relation) => relation.kind === undefined),
    });
  }
  return views;
}

function getMembers(value: unknown): Record<string, unknown>;
function getMembers(value: unknown, name: string): string[];
function getMembers(value: unknown, name?: string): Record<string, unknown> | string[] {
  const object = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  if (name === undefined) return object;
  return Object.hasOwn(object, name) ? Object.keys(getMembers(object[name])) : [];
}
