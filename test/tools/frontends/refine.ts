// The data provider in Refine's own core.
import './page.ts';
import assert from 'node:assert/strict';
import { type DataProvider, Refine, useDeleteMany, useForm, useList, useOne, useUpdate } from '@refinedev/core';
import { createElement, type ReactElement } from 'react';
import { dataProvider } from '../../../client/src/refine.ts';
import { QUERY_DEFAULTS, withHook } from './page.ts';
import { heldFetch, type MakeClient, type Scenarios } from './scenario.ts';

const provided = (client: ReturnType<MakeClient>): DataProvider => dataProvider(client);

const within = (client: ReturnType<MakeClient>) => (child: ReactElement) =>
  createElement(
    Refine,
    {
      dataProvider: provided(client),
      resources: [{ name: 'orders' }, { name: 'products' }],
      options: {
        disableTelemetry: true,
        reactQuery: {
          clientConfig: { defaultOptions: QUERY_DEFAULTS },
        },
      },
    },
    child,
  );

const ids = (records: readonly { readonly id?: unknown }[]) => records.map(({ id }) => id);

export const scenarios: Scenarios = {
  'useList: pages, sorters, filters, expanded relations': async (client) => {
    const useOrders = () =>
      useList({
        resource: 'orders',
        pagination: { currentPage: 2, pageSize: 2 },
        sorters: [{ field: 'placedAt', order: 'desc' }],
        filters: [
          {
            operator: 'or',
            value: [
              { field: 'status', operator: 'in', value: ['open', 'paid'] },
              { field: 'customer.country', operator: 'eq', value: 'SE' },
            ],
          },
        ],
        meta: { expand: { customer: true } },
      });
    await withHook(within(client()), useOrders, async (list) => {
      const { result } = await list.until('the page', ({ query }) => query.isSuccess);
      assert.deepEqual([ids(result.data), result.total], [[3, 2], 5]);
      assert.equal(result.data[0]?.customer.country, 'SE');
    });
  },

  'what a filter says, and which operators are refused by name': async (client) => {
    const { getList, getMany } = provided(client());
    const found = async (field: string, operator: string, value: unknown) => {
      const filters = [{ field, operator, value } as never];
      return ids((await getList({ resource: 'orders', filters })).data);
    };
    assert.deepEqual(await found('note', 'nnull', true), [1]);
    assert.deepEqual(await found('note', 'ncontains', 'WRAP'), [2, 3, 4, 5, 6]);
    assert.deepEqual(await found('total', 'nbetween', [20, 50]), [4, 6]);
    assert.deepEqual(await found('customer.name', 'startswith', 'ada'), [1, 2]);
    for (const operator of [
      'containss',
      'ncontainss',
      'eqs',
      'nes',
      'startswiths',
      'endswiths',
      'ina',
      'constructor',
    ]) {
      const words = new RegExp(`^The API has no operator ${operator} \\(note\\)\\. Known: eq, ne, .*nnull$`);
      await assert.rejects(found('note', operator, 'x'), { name: 'TypeError', message: words });
    }
    const all = await getList({ resource: 'orders', pagination: { mode: 'off' } });
    assert.deepEqual([ids(all.data), all.total], [[1, 2, 3, 4, 5, 6], 6]);
    assert.deepEqual(ids((await getMany?.({ resource: 'orders', ids: ['4', 1] }))?.data ?? []), [1, 4]);
    await assert.rejects(getList({ resource: 'orders', meta: { search: 'tea' } }), {
      statusCode: 400,
      message: /no searchable field/,
    });
  },

  'useForm: creates, edits, and is told what is wrong with which field': async (client) => {
    const orders = client().entity('orders');
    const useCreateForm = () => useForm({ resource: 'orders', action: 'create', redirect: false });
    let made = 0;
    await withHook(within(client()), useCreateForm, async (form) => {
      const wrong = form.now().onFinish({ customerId: 99, total: -1 });
      await assert.rejects(Promise.resolve(wrong), (error: { statusCode: number; errors: Record<string, string> }) => {
        assert.equal(error.statusCode, 400);
        assert.match(error.errors.total ?? '', /must be at least 0/);
        assert.deepEqual(Object.keys(error.errors), ['total', 'customerId']);
        return true;
      });
      await form.until('the mistakes are known', ({ mutation }) => mutation.error?.errors?.total !== undefined);
      const answer = await form.now().onFinish({ customerId: 1, total: 10 });
      made = Number((answer as { data: { id: number } }).data.id);
    });
    // The ETag of what the form shows goes with the change.
    const useEditForm = () => {
      const one = useOne({ resource: 'orders', id: made });
      return useForm({
        resource: 'orders',
        action: 'edit',
        id: made,
        redirect: false,
        mutationMeta: { etag: (one.query.data as { etag?: string } | undefined)?.etag },
      });
    };
    let requests = 0;
    const counted: typeof fetch = (...given) => {
      requests += 1;
      return fetch(...given);
    };
    await withHook(within(client({ fetch: counted })), useEditForm, async (form) => {
      await form.until('the order', ({ query }) => query?.data?.data.total === 10);
      assert.equal(requests, 1);
      await orders.update(made, { note: 'theirs' });
      await assert.rejects(Promise.resolve(form.now().onFinish({ note: 'mine' })), { statusCode: 412 });
      await form.now().query?.refetch();
      await form.until('the newer one', ({ query }) => query?.data?.data.note === 'theirs');
      await form.now().onFinish({ note: 'mine' });
      assert.equal((await orders.read(made)).data.note, 'mine');
    });
    const { deleteOne } = provided(client());
    await assert.rejects(deleteOne({ resource: 'orders', id: made, meta: { etag: '"1.x"' } }), { statusCode: 412 });
    await deleteOne({ resource: 'orders', id: made });
    await assert.rejects(orders.read(made), { code: 'NOT_FOUND' });
  },

  'an optimistic update is shown before the server has it': async (client) => {
    const { fetch, letGo } = heldFetch();
    const orders = client().entity('orders');
    const { id } = (await orders.create({ customerId: 1, note: 'Ring twice' })).data;
    const useOrder = () => ({ one: useOne({ resource: 'orders', id }), update: useUpdate() });
    await withHook(within(client({ fetch })), useOrder, async (hook) => {
      await hook.until('the order', ({ one }) => one.query.isSuccess);
      const values = { note: 'At the door' };
      const stored = hook.now().update.mutateAsync({ resource: 'orders', id, values, mutationMode: 'optimistic' });
      await hook.until('it is shown', ({ one }) => one.result?.note === values.note);
      assert.equal((await orders.read(id)).data.note, 'Ring twice');
      letGo();
      await stored;
      assert.equal((await orders.read(id)).data.note, values.note);
    });
    await orders.delete(id);
  },

  'many are created, updated and deleted, all of them or none': async (client) => {
    const shop = client();
    const { createMany, updateMany, custom, getApiUrl } = provided(shop);
    const variables = [
      { sku: 'RF-1', title: 'One', price: 1 },
      { sku: 'RF-2', title: 'Two', price: 2 },
    ];
    const made = ids((await createMany?.({ resource: 'products', variables }))?.data ?? []) as number[];
    const updated = await updateMany?.({ resource: 'products', ids: made, variables: { price: 3 } });
    assert.deepEqual(
      updated?.data.map((one) => one.price),
      [3, 3],
    );
    const url = `${getApiUrl()}/products/_aggregate`;
    const query = { select: 'count', filter: 'sku,startsWith,RF-' };
    assert.deepEqual((await custom?.({ url, method: 'get', query }))?.data, [{ count: 2 }]);
    await assert.rejects(custom?.({ url, method: 'get', headers: { accept: 'x' } }) ?? Promise.resolve(), /no headers/);
    await withHook(within(shop), useDeleteMany, async (hook) => {
      await assert.rejects(hook.now().mutateAsync({ resource: 'products', ids: [...made, 999] }), { statusCode: 404 });
      await hook.now().mutateAsync({ resource: 'products', ids: made });
    });
    assert.equal((await shop.entity('products').list({ filter: { id: { in: made } } })).data.length, 0);
  },

  'more than one request takes': async (client) => {
    const shop = client();
    const tags = shop.entity('tags');
    const made: number[] = [];
    for (let part = 0; part < 10; part++) {
      const names = Array.from({ length: 1000 }, (_, index) => ({ name: `${part}-${index}` }));
      made.push(...(ids((await tags.createMany(names, { return: 'minimal' })).data) as number[]));
    }
    const { getList, getMany, updateMany, deleteMany } = provided(shop);
    const unpaged = getList({ resource: 'tags', pagination: { mode: 'off' } });
    await assert.rejects(unpaged, /tags has more than 10000 records: pagination\.mode must be "server"/);
    const some = made.slice(0, 1001);
    assert.equal((await getMany?.({ resource: 'tags', ids: some }))?.data.length, 1001);
    assert.equal((await updateMany?.({ resource: 'tags', ids: some, variables: {} }))?.data.length, 1001);
    await deleteMany?.({ resource: 'tags', ids: made });
    assert.equal((await getList({ resource: 'tags' })).total, 3);
  },
};
