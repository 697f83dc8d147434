// Option objects for TanStack Query, whatever the framework. Nothing of it is imported: they are plain values.
import type { Entity, ListQuery, Meta, RecordQuery, Stored } from './entity.ts';
import type { Answered, Expand, Name, None, Shape } from './shape.ts';
import type { CallOptions } from './transport.ts';

interface Options<T> {
  readonly queryKey: readonly unknown[];
  readonly queryFn: (context: CallOptions) => Promise<T>;
}

interface Page<T> {
  readonly data: T[];
  readonly meta: Meta;
}

/** `['wda', 'demo/shop', 'orders', 'list', query]`: the first three invalidate all that was read of an entity. */
const keyOf = (entity: { readonly workspace: string; readonly name: unknown }, ...rest: readonly unknown[]) =>
  ['wda', entity.workspace, entity.name, ...rest] as const;

/** A page, for `useQuery`. */
export const listOptions = <
  S extends Shape<S>,
  E extends keyof S,
  const F extends readonly Name<S, E>[] | undefined = undefined,
  const X extends Expand<S, E> = None,
>(
  entity: Entity<S, E>,
  query: ListQuery<S, E, F, X> = {},
): Options<Page<Answered<S, E, F, X>>> => ({
  queryKey: keyOf(entity, 'list', query),
  queryFn: ({ signal }) => entity.list(query, { signal }),
});

/** One record with its ETag, for `useQuery`. */
export const readOptions = <
  S extends Shape<S>,
  E extends keyof S,
  const F extends readonly Name<S, E>[] | undefined = undefined,
  const X extends Expand<S, E> = None,
>(
  entity: Entity<S, E>,
  id: number,
  query: RecordQuery<S, E, F, X> = {},
): Options<Stored<Answered<S, E, F, X>>> => ({
  queryKey: keyOf(entity, 'read', id, query),
  queryFn: ({ signal }) => entity.read(id, query, { signal }),
});

/** Page after page by cursor, for `useInfiniteQuery`. */
export const infiniteOptions = <
  S extends Shape<S>,
  E extends keyof S,
  const F extends readonly Name<S, E>[] | undefined = undefined,
  const X extends Expand<S, E> = None,
>(
  entity: Entity<S, E>,
  query: Omit<ListQuery<S, E, F, X>, 'page' | 'after'> = {},
) => ({
  queryKey: keyOf(entity, 'infinite', query) as readonly unknown[],
  queryFn: ({
    signal,
    pageParam,
  }: CallOptions & { readonly pageParam: string | null }): Promise<Page<Answered<S, E, F, X>>> =>
    entity.list({ ...query, ...(pageParam === null ? {} : { after: pageParam }) } as ListQuery<S, E, F, X>, { signal }),
  initialPageParam: null as string | null,
  getNextPageParam: (page: Page<unknown>): string | null => page.meta.nextCursor,
});
