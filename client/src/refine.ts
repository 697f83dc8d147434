// Data provider for Refine 5. Imports nothing of Refine: the types here are those that Refine requires of a provider.
import {
  type AdminMeta,
  type AnyRecord,
  decorateErrors,
  getCalls,
  getSelection,
  groupMistakes,
  type Id,
  type Page,
  parseId,
  readMany,
  readWritten,
  splitIds,
  toCondition,
} from './admin.ts';
import type { LooseQuery } from './body.ts';
import type { Client } from './index.ts';
import type { Shape } from './shape.ts';

interface BaseParams {
  readonly resource: string;
  readonly meta?: RefineMeta | undefined;
}

/** `meta` of hooks, to which Refine adds the context of the query. */
interface RefineMeta {
  readonly [name: string]: unknown;
  readonly queryContext?: { readonly signal?: AbortSignal };
}

interface QueryMeta extends AdminMeta {
  readonly search?: string;
  readonly count?: 'exact' | 'estimated';
}

interface Condition {
  readonly field?: string;
  readonly operator: string;
  readonly value: unknown;
}

interface ListParams extends BaseParams {
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

type OneParams = BaseParams & { readonly id: Id };
type ManyParams = BaseParams & { readonly ids: Id[] };

/** Value for `<Refine dataProvider>`. */
export interface RefineProvider {
  getList: <R>(params: ListParams) => Promise<{ data: R[]; total: number }>;
  /** Reads a record with its ETag, for `meta.etag` of `update` and `deleteOne`. */
  getOne: <R>(params: OneParams) => Promise<{ data: R; etag: string }>;
  getMany: <R>(params: ManyParams) => Promise<{ data: R[] }>;
  create: <R, V>(params: BaseParams & { readonly variables: V }) => Promise<{ data: R }>;
  createMany: <R, V>(params: BaseParams & { readonly variables: V[] }) => Promise<{ data: R[] }>;
  update: <R, V>(params: OneParams & { readonly variables: V }) => Promise<{ data: R }>;
  updateMany: <R, V>(params: ManyParams & { readonly variables: V }) => Promise<{ data: R[] }>;
  deleteOne: <R, V>(params: OneParams & { readonly variables?: V }) => Promise<{ data: R }>;
  deleteMany: <R, V>(params: ManyParams & { readonly variables?: V }) => Promise<{ data: R[] }>;
  getApiUrl: () => string;
  custom: <R, Q, P>(params: CustomParams & { readonly query?: Q; readonly payload?: P }) => Promise<{ data: R }>;
}

const MOST_UNPAGED = 10_000;

/**
 * Creates the data provider of one workspace. Errors are thrown as WdaErrors with `statusCode` and `errors`, mistakes by field
 * in the form of Refine.
 */
export function dataProvider<S extends Shape<S>>(shop: Client<S>): RefineProvider {
  const calls = (resource: string) => getCalls(shop, resource);

  const provider = {
    getList: async ({ resource, pagination = {}, sorters = [], filters = [], meta }: ListParams) => {
      const { search, count, ...selection } = (meta ?? {}) as QueryMeta;
      const signal = meta?.queryContext?.signal;
      const query: LooseQuery = {
        ...getSelection(selection),
        filter: { $and: filters.map(toFilter) },
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

    getOne: async ({ resource, id, meta }: OneParams) => {
      const selection = getSelection(meta as QueryMeta);
      const { data, etag } = await calls(resource).read(parseId(id), selection, { signal: meta?.queryContext?.signal });
      return { data, etag };
    },

    getMany: async ({ resource, ids, meta }: ManyParams) => ({
      data: await readMany(calls(resource), ids, meta as QueryMeta, meta?.queryContext?.signal),
    }),

    create: async ({ resource, variables, meta }: BaseParams & { readonly variables: unknown }) => {
      const entity = calls(resource);
      return { data: await readWritten(entity, await entity.create(variables), meta as QueryMeta) };
    },

    createMany: async ({ resource, variables }: BaseParams & { readonly variables: unknown[] }) => {
      const { data } = await calls(resource).createMany(variables);
      return { data };
    },

    update: async ({ resource, id, variables, meta }: OneParams & { readonly variables: unknown }) => {
      const { id: _, ...changes } = variables as AnyRecord;
      const entity = calls(resource);
      const stored = await entity.update(parseId(id), changes, { ifMatch: (meta as QueryMeta | undefined)?.etag });
      return { data: await readWritten(entity, stored, meta as QueryMeta) };
    },

    updateMany: async ({ resource, ids, variables }: ManyParams & { readonly variables: unknown }) => {
      const data: unknown[] = [];
      for (const part of splitIds(ids)) {
        const records = part.map((id) => ({ ...(variables as object), id }));
        data.push(...((await calls(resource).updateMany(records)).data as unknown[]));
      }
      return { data };
    },

    deleteOne: async ({ resource, id, meta }: OneParams) => {
      await calls(resource).delete(parseId(id), { ifMatch: (meta as QueryMeta | undefined)?.etag });
      return { data: { id } };
    },

    deleteMany: async ({ resource, ids }: ManyParams) => {
      for (const part of splitIds(ids)) await calls(resource).deleteMany(part);
      return { data: ids.map((id) => ({ id })) };
    },

    getApiUrl: () => `/api/v1/${getCalls(shop, '').workspace}`,

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
  return decorateErrors(provider, ({ status, details }) => ({
    statusCode: status,
    errors: groupMistakes(details),
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

/** Operators of the API by those of Refine; `not` in front negates, and null matches it. */
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

/** Converts a filter of Refine to one of the client. */
function toFilter({ field = '', operator, value }: Condition): AnyRecord {
  if (operator === 'and' || operator === 'or')
    return { [`$${operator}`]: (value as readonly Condition[]).map(toFilter) };
  const target = Object.hasOwn(OPERATORS, operator) ? OPERATORS[operator] : undefined;
  if (target === undefined)
    throw new TypeError(`The API has no operator ${operator} (${field}). Known: ${Object.keys(OPERATORS).join(', ')}`);
  const condition = toCondition(field, target.replace('not ', ''), value);
  return target.startsWith('not ') ? { $not: condition } : condition;
}
