// A data provider for Refine 5. Nothing of it is imported: the types are those that it asks of a provider.
import {
  type AdminMeta,
  type AnyRecord,
  answered,
  callsOf,
  conditionOf,
  type Id,
  idOf,
  mistakesOf,
  type Page,
  partsOf,
  readMany,
  selectionOf,
  telling,
} from './admin.ts';
import type { LooseQuery } from './body.ts';
import type { Client } from './index.ts';
import type { Shape } from './shape.ts';

interface Asked {
  readonly resource: string;
  readonly meta?: RefineMeta | undefined;
}

/** `meta` of hooks; Refine adds the context of the query. */
interface RefineMeta {
  readonly [name: string]: unknown;
  readonly queryContext?: { readonly signal?: AbortSignal };
}

interface Wanted extends AdminMeta {
  readonly search?: string;
  readonly count?: 'exact' | 'estimated';
}

interface Condition {
  readonly field?: string;
  readonly operator: string;
  readonly value: unknown;
}

interface ListParams extends Asked {
  readonly pagination?: {
    readonly currentPage?: number;
    readonly pageSize?: number;
    readonly mode?: 'client' | 'server' | 'off';
  };
  readonly sorters?: readonly { readonly field: string; readonly order: 'asc' | 'desc' }[];
  readonly filters?: readonly Condition[];
}

interface CustomParams {
  readonly url: string;
  readonly method: string;
  readonly payload?: unknown;
  readonly query?: unknown;
  readonly sorters?: readonly unknown[];
  readonly filters?: readonly unknown[];
  readonly headers?: object;
}

type Of = Asked & { readonly id: Id };
type OfMany = Asked & { readonly ids: Id[] };

/** What `<Refine dataProvider>` takes. */
export interface RefineProvider {
  getList: <R>(params: ListParams) => Promise<{ data: R[]; total: number }>;
  /** With the ETag of the record, for `meta.etag` of `update` and `deleteOne`. */
  getOne: <R>(params: Of) => Promise<{ data: R; etag: string }>;
  getMany: <R>(params: OfMany) => Promise<{ data: R[] }>;
  create: <R, V>(params: Asked & { readonly variables: V }) => Promise<{ data: R }>;
  createMany: <R, V>(params: Asked & { readonly variables: V[] }) => Promise<{ data: R[] }>;
  update: <R, V>(params: Of & { readonly variables: V }) => Promise<{ data: R }>;
  updateMany: <R, V>(params: OfMany & { readonly variables: V }) => Promise<{ data: R[] }>;
  deleteOne: <R, V>(params: Of & { readonly variables?: V }) => Promise<{ data: R }>;
  deleteMany: <R, V>(params: OfMany & { readonly variables?: V }) => Promise<{ data: R[] }>;
  getApiUrl: () => string;
  custom: <R, Q, P>(params: CustomParams & { readonly query?: Q; readonly payload?: P }) => Promise<{ data: R }>;
}

const MOST_UNPAGED = 10_000;

/**
 * The data provider of one workspace. Refusals are thrown as WdaErrors with `statusCode` and `errors`, the mistakes by
 * field, as forms of Refine read them.
 */
export function dataProvider<S extends Shape<S>>(shop: Client<S>): RefineProvider {
  const calls = (resource: string) => callsOf(shop, resource);

  const provider = {
    getList: async ({ resource, pagination = {}, sorters = [], filters = [], meta }: ListParams) => {
      const { search, count, ...selection } = (meta ?? {}) as Wanted;
      const signal = meta?.queryContext?.signal;
      const query: LooseQuery = {
        ...selectionOf(selection),
        filter: { $and: filters.map(treeOf) },
        sort: sorters.map(({ field, order }) => `${field},${order}`),
        ...(search === undefined ? {} : { search }),
      };
      const { currentPage = 1, pageSize = 10, mode = 'server' } = pagination;
      if (mode !== 'server') {
        const data = await everything(calls(resource).all(query, { signal }), resource);
        return { data, total: data.length };
      }
      const paged = { ...query, page: currentPage - 1, size: pageSize, ...(count === undefined ? {} : { count }) };
      const answer = (await calls(resource).list(paged, { signal })) as unknown as Page;
      return { data: answer.data, total: answer.meta.totalElements };
    },

    getOne: async ({ resource, id, meta }: Of) => {
      const selection = selectionOf(meta as Wanted);
      const { data, etag } = await calls(resource).read(idOf(id), selection, { signal: meta?.queryContext?.signal });
      return { data, etag };
    },

    getMany: async ({ resource, ids, meta }: OfMany) => ({
      data: await readMany(calls(resource), ids, meta as Wanted, meta?.queryContext?.signal),
    }),

    create: async ({ resource, variables, meta }: Asked & { readonly variables: unknown }) => {
      const entity = calls(resource);
      return { data: await answered(entity, await entity.create(variables), meta as Wanted) };
    },

    createMany: async ({ resource, variables }: Asked & { readonly variables: unknown[] }) => {
      const { data } = await calls(resource).createMany(variables);
      return { data };
    },

    update: async ({ resource, id, variables, meta }: Of & { readonly variables: unknown }) => {
      const { id: _, ...changes } = variables as AnyRecord;
      const entity = calls(resource);
      const stored = await entity.update(idOf(id), changes, { ifMatch: (meta as Wanted | undefined)?.etag });
      return { data: await answered(entity, stored, meta as Wanted) };
    },

    updateMany: async ({ resource, ids, variables }: OfMany & { readonly variables: unknown }) => {
      const data: unknown[] = [];
      for (const part of partsOf(ids)) {
        const records = part.map((id) => ({ ...(variables as object), id }));
        data.push(...((await calls(resource).updateMany(records)).data as unknown[]));
      }
      return { data };
    },

    deleteOne: async ({ resource, id, meta }: Of) => {
      await calls(resource).delete(idOf(id), { ifMatch: (meta as Wanted | undefined)?.etag });
      return { data: { id } };
    },

    deleteMany: async ({ resource, ids }: OfMany) => {
      for (const part of partsOf(ids)) await calls(resource).deleteMany(part);
      return { data: ids.map((id) => ({ id })) };
    },

    getApiUrl: () => `/api/v1/${callsOf(shop, '').workspace}`,

    custom: async ({ url, method, payload, query, ...others }: CustomParams) => {
      for (const [name, value] of Object.entries(others)) {
        if (name !== 'meta' && Object.keys(value ?? {}).length > 0)
          throw new TypeError(`custom takes no ${name}: known are url, method, payload and query`);
      }
      const { data } = await shop.request(method.toUpperCase(), url, {
        ...(payload === undefined ? {} : { body: payload }),
        ...(query === undefined ? {} : { query: query as Record<string, string> }),
      });
      return { data };
    },
  };
  return telling(provider, ({ status, details }) => ({
    statusCode: status,
    errors: mistakesOf(details),
  })) as unknown as RefineProvider;
}

async function everything(records: AsyncIterable<unknown>, resource: string): Promise<unknown[]> {
  const data: unknown[] = [];
  for await (const record of records) {
    if (data.length === MOST_UNPAGED)
      throw new TypeError(`${resource} has more than ${MOST_UNPAGED} records: pagination.mode must be "server"`);
    data.push(record);
  }
  return data;
}

/** Operators of Refine by those of the API; a `not` in front is the other way round, and null matches it. */
const OPERATORS: Readonly<Record<string, string>> = {
  eq: 'eq',
  ne: 'ne',
  lt: 'lt',
  lte: 'lte',
  gt: 'gt',
  gte: 'gte',
  in: 'in',
  nin: 'nin',
  between: 'between',
  nbetween: 'not between',
  contains: 'contains',
  ncontains: 'not contains',
  startswith: 'startsWith',
  nstartswith: 'not startsWith',
  endswith: 'endsWith',
  nendswith: 'not endsWith',
  null: 'isNull',
  nnull: 'notNull',
};

/** A filter of Refine in the form of the client. */
function treeOf({ field = '', operator, value }: Condition): AnyRecord {
  if (operator === 'and' || operator === 'or') return { [`$${operator}`]: (value as readonly Condition[]).map(treeOf) };
  const known = Object.hasOwn(OPERATORS, operator) ? OPERATORS[operator] : undefined;
  if (known === undefined)
    throw new TypeError(`The API has no operator ${operator} (${field}). Known: ${Object.keys(OPERATORS).join(', ')}`);
  const condition = conditionOf(field, known.replace('not ', ''), value);
  return known.startsWith('not ') ? { $not: condition } : condition;
}
