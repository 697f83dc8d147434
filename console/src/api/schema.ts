// The schema of a workspace, as far as the credential reaches: one request, kept, compared by its ETag every ten seconds. Names
// of entities and fields may be `constructor` or `toString`: they are looked up in Maps alone.
import { queryOptions } from '@tanstack/react-query';
import { ask } from './ask.ts';
import { dataPath, type Place } from './workspace.ts';

/** As in the schema document (docs/reference/schema-document.md). */
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
  readonly kind?: string;
  readonly entity?: string;
  readonly required?: boolean;
  readonly [more: string]: unknown;
}

export interface EntityDocument {
  readonly name: string;
  readonly description?: string;
  /** Which field names a record; null: none does. */
  readonly label?: string | null;
  readonly operations: readonly string[];
  readonly fields: ReadonlyMap<string, FieldDocument>;
  readonly relations: ReadonlyMap<string, RelationDocument>;
  readonly [more: string]: unknown;
}

export interface WorkspaceSchema {
  readonly organization: string;
  readonly workspace: string;
  readonly name?: string;
  readonly entities: ReadonlyMap<string, EntityDocument>;
}

type Listed<T> = readonly T[];

interface Sent extends Omit<WorkspaceSchema, 'entities'> {
  readonly entities: Listed<
    Omit<EntityDocument, 'fields' | 'relations'> & {
      readonly fields?: Listed<FieldDocument>;
      readonly relations?: Listed<RelationDocument>;
    }
  >;
}

const byName = <T extends { readonly name: string }>(all: readonly T[] = []): ReadonlyMap<string, T> =>
  new Map(all.map((one) => [one.name, one]));

export const schemaQuery = (place: Place) =>
  queryOptions({
    queryKey: ['schema', place.org, place.ws],
    queryFn: async ({ signal }): Promise<WorkspaceSchema> => {
      const { data } = await ask<Sent>({ path: dataPath(place, '/_schema'), signal });
      const entities = data.entities.map(
        (entity) =>
          ({ ...entity, fields: byName(entity.fields), relations: byName(entity.relations) }) as EntityDocument,
      );
      return { ...data, entities: byName(entities) };
    },
    staleTime: 10_000,
    refetchInterval: 10_000,
  });
