// Option objects for TanStack Query of any framework. Imports nothing of it: they are plain values.
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

/** Returns a key such as `['wda', 'demo/shop', 'orders', 'list', query]`; the first three invalidate all reads of an entity. */
const buildKey = (entity: { readonly workspace: string; readonly name: unknown }, ...rest: readonly unknown[]) =>
  ['wda', entity.workspace, entity.name, ...rest] as const;

/** Returns options of a page, for `useQuery`. */
export const listOptions = <
  S extends Shape<S>,
  E extends keyof S,
  const F extends readonly Name<S, E>[] | undefined = undefined,
  const X extends Expand<S, E> = None,
>(
  entity: Entity<S, E>,
  query: ListQuery<S, E, F, X> = {},
): Options<Page<Answered<S, E, F, X>>> => ({
  queryKey: buildKey(entity, 'list', query),
  queryFn: ({ signal }) => entity.list(query, { signal }),
});

/** Returns options of one record with its ETag, for `useQuery`. */
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
  queryKey: buildKey(entity, 'read', id, query),
  queryFn: ({ signal }) => entity.read(id, query, { signal }),
});

/** Returns options of pages by cursor, for `useInfiniteQuery`. */
export const infiniteOptions = <
  S extends Shape<S>,
  E extends keyof S,
  const F extends readonly Name<S, E>[] | undefined = undefined,
  const X extends Expand<S, E> = None,
>(
  entity: Entity<S, E>,
  query: Omit<ListQuery<S, E, F, X>, 'page' | 'after'> = {},
) => ({
  queryKey: buildKey(entity, 'infinite', query) as readonly unknown[],
  queryFn: ({
    signal,
    pageParam,
  }: CallOptions & { readonly pageParam: string | null }): Promise<Page<Answered<S, E, F, X>>> =>
    entity.list({ ...query, ...(pageParam === null ? {} : { after: pageParam }) } as ListQuery<S, E, F, X>, { signal }),
  initialPageParam: null as string | null,
  getNextPageParam: (page: Page<unknown>): string | null => page.meta.nextCursor,
});
