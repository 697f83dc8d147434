// The option objects in TanStack Query's own hooks.
import './page.ts';
import assert from 'node:assert/strict';
import { QueryClient, QueryClientProvider, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { createElement, type ReactElement } from 'react';
import { infiniteOptions, listOptions, readOptions } from '../../../client/src/query.ts';
import type { Shop } from '../../client/shop.ts';
import { QUERY_DEFAULTS, withHook } from './page.ts';
import type { Scenarios } from './scenario.ts';

type Eq<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Compiles only when both types are the same. */
const same = <A, B>(..._: Eq<A, B> extends true ? [] : [never]): void => undefined;

const within = (child: ReactElement) => {
  const client = new QueryClient({ defaultOptions: QUERY_DEFAULTS });
  return createElement(QueryClientProvider, { client }, child);
};

export const scenarios: Scenarios = {
  'useQuery gives what fields and expand say': async (client) => {
    const orders = client().entity('orders');
    const usePage = () => ({
      page: useQuery(listOptions(orders, { filter: { status: 'open' }, fields: ['id'], expand: { customer: true } })),
      one: useQuery(readOptions(orders, 1)),
      queries: useQueryClient(),
    });
    await withHook(within, usePage, async (hook) => {
      const { page, one, queries } = await hook.until('both', (now) => now.page.isSuccess && now.one.isSuccess);
      same<NonNullable<typeof page.data>['data'], { id: number; customer: Shop['customers']['row'] }[]>();
      same<NonNullable<typeof one.data>['data'], Shop['orders']['row']>();
      assert.deepEqual(
        page.data?.data.map(({ id, customer }) => [id, customer.country]),
        [
          [2, 'GB'],
          [5, 'FR'],
        ],
      );
      await orders.update(1, { note: 'No wrapping' }, { ifMatch: one.data?.etag });
      await queries.invalidateQueries({ queryKey: ['wda', 'demo/shop', 'orders'] });
      await hook.until('the newer one', (now) => now.one.data?.data.note === 'No wrapping');
    });
  },

  'useInfiniteQuery walks by cursor to the end': async (client) => {
    const orders = client().entity('orders');
    const useFeed = () =>
      useInfiniteQuery(infiniteOptions(orders, { sort: 'placedAt,desc', size: 4, fields: ['id', 'placedAt'] }));
    await withHook(within, useFeed, async (hook) => {
      await hook.until('the first page', ({ isSuccess }) => isSuccess);
      assert.equal(hook.now().hasNextPage, true);
      // A newer record does not move the pages that follow.
      const { data: newer } = await orders.create({ customerId: 1, placedAt: '2026-12-01T00:00:00Z' });
      await hook.now().fetchNextPage();
      const { data } = await hook.until('the last page', ({ hasNextPage }) => !hasNextPage);
      const found = data?.pages.flatMap((page) => page.data) ?? [];
      same<typeof found, { id: number; placedAt: string | null }[]>();
      assert.deepEqual(
        found.map(({ id }) => id),
        [6, 5, 4, 3, 2, 1],
      );
      await orders.delete(newer.id);
    });
  },
};
