// The data provider in react-admin's own core.
import './page.ts';
import assert from 'node:assert/strict';
import { QueryClient } from '@tanstack/react-query';
import * as ra from 'ra-core';
import { createElement, type ReactElement } from 'react';
import { dataProvider } from '../../../client/src/react-admin.ts';
import { until } from '../../support/wait-until.ts';
import { QUERY_DEFAULTS, submit, type, withHook, withPage } from './page.ts';
import { heldFetch, type MakeClient, type Scenarios } from './scenario.ts';

const provided = (client: ReturnType<MakeClient>): ra.DataProvider => dataProvider(client);

const within = (client: ReturnType<MakeClient>) => (child: ReactElement) =>
  createElement(
    ra.CoreAdminContext,
    {
      dataProvider: provided(client),
      store: ra.memoryStore(),
      queryClient: new QueryClient({ defaultOptions: QUERY_DEFAULTS }),
    },
    child,
  );

const ids = (records: readonly { readonly id: number }[] | undefined) => records?.map(({ id }) => id);

const Field = ({ source }: { readonly source: string }) => {
  const { field, fieldState } = ra.useInput({ source });
  return createElement(
    'p',
    { id: source },
    createElement('input', { ...field, value: field.value ?? '' }),
    fieldState.error?.message,
  );
};

/** The form of an order, and the messages of the page. */
const orderForm = (id: number) =>
  createElement(ra.EditBase, {
    resource: 'orders',
    id,
    mutationMode: 'pessimistic',
    redirect: false,
    children: createElement(
      ra.Form,
      null,
      createElement(Field, { source: 'note' }),
      createElement(Field, { source: 'total' }),
      createElement('button', { type: 'submit' }),
    ),
  });

const isFilled = (page: HTMLElement, name: string, value: string) => (): boolean =>
  page.querySelector<HTMLInputElement>(`input[name="${name}"]`)?.value === value;

export const scenarios: Scenarios = {
  'a list: pages, sort, filters, expanded relations': async (client) => {
    const useList = () =>
      ra.useListController({
        resource: 'orders',
        perPage: 2,
        sort: { field: 'placedAt', order: 'DESC' },
        disableSyncWithLocation: true,
        queryOptions: { meta: { expand: { customer: true } } },
      });
    await withHook(within(client()), useList, async (list) => {
      const first = await list.until('the first page', ({ data }) => data !== undefined);
      assert.deepEqual([ids(first.data), first.total, first.hasNextPage], [[6, 5], 6, true]);
      assert.equal(first.data?.[0].customer.name, 'Özge Yılmaz');
      first.setPage(3);
      await list.until('the last page', ({ data }) => ids(data)?.join() === '2,1');
      list.now().setSort({ field: 'customer.name', order: 'ASC' });
      await list.until('another order', ({ data, isFetching }) => !isFetching && ids(data)?.join() === '1,2');
      list.now().setFilters({ 'total@gte': 30, customer: { 'country@in': ['SE', 'US'] } });
      await list.until('some of them', ({ data, total }) => total === 2 && ids(data)?.join() === '4,3');
    });
  },

  'what a filter says': async (client) => {
    const provider = provided(client());
    const found = async (filter: object) => ids((await provider.getList('orders', { filter })).data);
    assert.deepEqual(await found({ id: [1, 3] }), [1, 3]);
    assert.deepEqual(await found({ 'note@notNull': true }), [1]);
    assert.deepEqual(await found({ 'note@isNull': false }), [1]);
    assert.deepEqual(await found({ note: null, status: 'paid' }), [4]);
    assert.deepEqual(await found({ 'total@between': [20, 30] }), [1, 5]);
    assert.deepEqual(await found({ 'customer.name@contains': 'ada' }), [1, 2]);
    await assert.rejects(
      found({ 'total@greater': 1 }),
      /Unknown operator greater of the filter total@greater\. Known: eq,/,
    );
    await assert.rejects(found({ q: 'tea' }), /orders has no searchable field/);
    await assert.rejects(found({ nope: 1 }), { code: 'BAD_REQUEST', message: /nope/ });
    const related = await provider.getManyReference('orderItems', {
      target: 'orderId',
      id: 3,
      pagination: { page: 1, perPage: 1 },
      sort: { field: 'id', order: 'DESC' },
      filter: {},
    });
    assert.deepEqual([ids(related.data), related.total], [[5], 2]);
    assert.deepEqual(ids((await provider.getMany('orders', { ids: ['2', 5, 99] })).data), [2, 5]);
    const uncounted = await provider.getList('orders', {
      pagination: { page: 2, perPage: 4 },
      meta: { count: 'none' },
    });
    assert.deepEqual(uncounted.pageInfo, { hasNextPage: false, hasPreviousPage: true });
  },

  'a form sends what was changed, and mistakes reach their fields': async (client) => {
    const { data: order } = await client().entity('orders').create({ customerId: 1, total: 10, note: 'old' });
    await withPage(within(client())(orderForm(order.id)), async (page) => {
      await until('the form is filled', isFilled(page, 'note', 'old'));
      type(page, 'total', '-1');
      submit(page);
      await until('the mistake is told', () =>
        /must be at least 0/.test(page.querySelector('#total')?.textContent ?? ''),
      );
      assert.equal(page.querySelector('#note')?.textContent, '');
      type(page, 'total', '11.50');
      submit(page);
      await until('it is stored', async () => (await client().entity('orders').read(order.id)).data.total === 11.5);
    });
    await client().entity('orders').delete(order.id);
  },

  'a lost update is told at its field, and other fields are kept': async (client) => {
    const orders = client().entity('orders');
    const { data: order } = await orders.create({ customerId: 1, total: 10, note: 'old' });
    await withPage(within(client())(orderForm(order.id)), async (page) => {
      await until('the form is filled', isFilled(page, 'note', 'old'));
      await orders.update(order.id, { note: 'theirs', status: 'paid' });
      type(page, 'note', 'mine');
      submit(page);
      await until('the lost update is told', () =>
        /has been changed by another user, to "theirs"/.test(page.querySelector('#note')?.textContent ?? ''),
      );
      assert.equal((await orders.read(order.id)).data.note, 'theirs');
      type(page, 'note', 'old');
      type(page, 'total', '12');
      submit(page);
      await until('the rest is stored', async () => (await orders.read(order.id)).data.total === 12);
      const { data } = await orders.read(order.id);
      assert.deepEqual([data.note, data.status], ['theirs', 'paid']);
    });
    const { data: now, etag } = await orders.read(order.id);
    await orders.update(order.id, { note: 'newer' });
    const provider = provided(client());
    await assert.rejects(
      provider.update('orders', { id: order.id, data: { total: 1 }, previousData: now, meta: { etag } }),
      { status: 412 },
    );
    await assert.rejects(provider.delete('orders', { id: order.id, meta: { etag } }), { status: 412 });
    await provider.delete('orders', { id: order.id });
  },

  'an optimistic update is shown before the server has it': async (client) => {
    const { fetch, letGo } = heldFetch();
    const orders = client().entity('orders');
    const { id } = (await orders.create({ customerId: 1, note: 'Ring twice' })).data;
    const useOrder = () => ({ one: ra.useGetOne('orders', { id }), update: ra.useUpdate()[0] });
    await withHook(within(client({ fetch })), useOrder, async (hook) => {
      const { one, update } = await hook.until('the order', (now) => now.one.data !== undefined);
      const params = { id, data: { note: 'At the door' }, previousData: one.data };
      void update('orders', params, { mutationMode: 'optimistic' });
      await hook.until('it is shown', (now) => now.one.data?.note === 'At the door');
      assert.equal((await orders.read(id)).data.note, 'Ring twice');
      letGo();
      await until('it is stored', async () => (await orders.read(id)).data.note === 'At the door');
    });
    await orders.delete(id);
  },

  'many are updated and deleted, all of them or none': async (client) => {
    const shop = client();
    const { data } = await shop.entity('products').createMany([
      { sku: 'RA-1', title: 'One', price: 1 },
      { sku: 'RA-2', title: 'Two', price: 2 },
    ]);
    const made = data.map(({ id }) => id);
    const useMany = () => ({
      list: ra.useGetList('products', { filter: { 'sku@startsWith': 'RA-' } }),
      update: ra.useUpdateMany('products')[0],
      remove: ra.useDeleteMany('products')[0],
    });
    await withHook(within(shop), useMany, async (hook) => {
      await hook.until('the products', ({ list }) => list.total === 2);
      await hook.now().update('products', { ids: made, data: { price: 3 } }, { returnPromise: true });
      const prices = (await shop.entity('products').list({ filter: { id: { in: made } } })).data.map(
        (one) => one.price,
      );
      assert.deepEqual(prices, [3, 3]);
      await assert.rejects(provided(shop).deleteMany('products', { ids: [...made, 999] }), /Records not found: 999/);
      hook.now().remove('products', { ids: made });
      await hook.until('they are gone', ({ list }) => !list.isFetching && list.total === 0);
      assert.equal((await shop.entity('products').list({ filter: { id: { in: made } } })).data.length, 0);
    });
  },
};
