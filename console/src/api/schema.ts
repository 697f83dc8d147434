// Schema of a workspace as far as the credential may see it: one cached request, revalidated by its ETag every ten
// seconds. Names of entities and fields may be `constructor` or `toString`, so lookups use Maps.
import { queryOptions } from '@tanstack/react-query';
import { request } from './request.ts';
import { dataPath, type WorkspaceRef } from './workspace.ts';

/** Field of the schema document (docs/reference/schema-document.md). */
export interface FieldDocument {
  readonly name: string;
  readonly type: string;
  readonly required?: boolean;
  readonly unique?: boolean;
  readonly default?: unknown;
  readonly description?: string;
  readonly [more: string]: unknown;
}

export interface RelationDocument {
  readonly name: string;
  readonly kind: 'belongsTo' | 'hasOne' | 'hasMany' | 'manyToMany';
  readonly entity: string;
  /** Column of a belongsTo that stores the id. */
  readonly column?: string;
  readonly required?: boolean;
  readonly inverse?: string;
  readonly [more: string]: unknown;
}

export interface EntitySettings {
  readonly defaultExpand: readonly string[];
  readonly expandable: readonly string[] | null;
  readonly maxExpandDepth: number | null;
  readonly defaultFields: readonly string[] | null;
}

export interface EntityDocument {
  readonly name: string;
  readonly description?: string;
  /** Field that names a record; null or absent if there is none. */
  readonly label?: string | null;
  /** Whether records have createdAt and updatedAt, which are not among the fields. */
  readonly timestamps: boolean;
  /** Operations that the credential may use, such as `list`, `create`, `update`. */
  readonly operations: readonly string[];
  readonly settings: EntitySettings;
  /** Fields by name, without `id`. */
  readonly fields: ReadonlyMap<string, FieldDocument>;
  readonly relations: ReadonlyMap<string, RelationDocument>;
  readonly [more: string]: unknown;
}

export interface WorkspaceSchema {
  readonly organization: string;
  readonly workspace: string;
  readonly name: string;
  readonly entities: ReadonlyMap<string, EntityDocument>;
}

type Unnamed<T> = Readonly<Record<string, Omit<T, 'name'>>>;

interface SentEntity extends Record<string, unknown> {
  readonly fields: Unnamed<FieldDocument>;
  readonly relations: Unnamed<RelationDocument>;
}

interface Sent extends Omit<WorkspaceSchema, 'entities'> {
  readonly entities: Readonly<Record<string, SentEntity>>;
}

const toMap = <T extends { readonly name: string }>(all: Unnamed<T>): ReadonlyMap<string, T> =>
  new Map(Object.entries(all).map(([name, one]) => [name, { ...one, name } as T]));

/** Converts the schema to Maps by name. */
export function parseSchema({ entities, ...rest }: Sent): WorkspaceSchema {
  const all = Object.entries(entities).map(([name, entity]): [string, EntityDocument] => {
    const { fields, relations } = entity;
    return [name, { ...entity, name, fields: toMap(fields), relations: toMap(relations) } as unknown as EntityDocument];
  });
  return { ...rest, entities: new Map(all) };
}

export const schemaQuery = (workspace: WorkspaceRef) =>
  queryOptions({
    queryKey: ['schema', workspace.org, workspace.ws],
    queryFn: async ({ signal }): Promise<WorkspaceSchema> =>
      parseSchema((await request<Sent>({ path: dataPath(workspace, '/_schema'), signal })).data),
    staleTime: 10_000,
    refetchInterval: 10_000,
  });
