// A data provider for react-admin 5. Nothing of it is imported: the types are those that it asks of a provider.
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
import { WdaError } from './error.ts';
import type { Client } from './index.ts';
import { OPERATORS } from './operators.generated.ts';
import type { ListParameters } from './parameters.generated.ts';
import type { Shape } from './shape.ts';

interface Asked {
  readonly meta?: (AdminMeta & Pick<ListParameters<object, never>, 'count'>) | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface ListParams extends Asked {
  readonly pagination?: { readonly page: number; readonly perPage: number };
  readonly sort?: { readonly field: string; readonly order: 'ASC' | 'DESC' };
  readonly filter?: AnyRecord;
}

interface List<R> {
  data: R[];
  total?: number;
  pageInfo?: { hasNextPage: boolean; hasPreviousPage: boolean };
}

interface One<R> {
  data: R;
}

interface UpdateParams extends Asked {
  readonly id: Id;
  readonly data: object;
  readonly previousData?: object;
}

/** What `<Admin dataProvider>` takes. */
export type ReactAdminProvider = {
  getList: <R>(resource: string, params: ListParams) => Promise<List<R>>;
  getOne: <R>(resource: string, params: Asked & { readonly id: Id }) => Promise<One<R>>;
  getMany: <R>(resource: string, params: Asked & { readonly ids: readonly Id[] }) => Promise<{ data: R[] }>;
  getManyReference: <R>(
    resource: string,
    params: ListParams & { readonly target: string; readonly id: Id },
  ) => Promise<List<R>>;
  create: <R>(resource: string, params: Asked & { readonly data: object }) => Promise<One<R>>;
  update: <R>(resource: string, params: UpdateParams) => Promise<One<R>>;
  updateMany: (
    resource: string,
    params: Asked & { readonly ids: Id[]; readonly data: object },
  ) => Promise<{ data: Id[] }>;
  delete: <R>(resource: string, params: Asked & { readonly id: Id; readonly previousData?: object }) => Promise<One<R>>;
  deleteMany: (resource: string, params: Asked & { readonly ids: Id[] }) => Promise<{ data: Id[] }>;
  supportAbortSignal: true;
};

/**
 * The data provider of one workspace. Refusals are thrown as WdaErrors whose `body.errors` says what is wrong with each
 * field, as forms of react-admin read it.
 */
export function dataProvider<S extends Shape<S>>(shop: Client<S>): ReactAdminProvider {
  const calls = (resource: string) => callsOf(shop, resource);

  const getList = async (resource: string, params: ListParams): Promise<List<AnyRecord>> => {
    const { pagination, sort, filter = {}, meta: wanted, signal } = params;
    const { q, ...conditions } = filter;
    const query: LooseQuery = {
      ...selectionOf(wanted),
      filter: filterOf(conditions),
      ...(q === undefined ? {} : { search: q }),
      ...(sort === undefined ? {} : { sort: `${sort.field},${sort.order.toLowerCase()}` }),
      ...(pagination === undefined ? {} : { page: pagination.page - 1, size: pagination.perPage }),
      ...(wanted?.count === undefined ? {} : { count: wanted.count }),
    };
    const { data, meta } = (await calls(resource).list(query, { signal })) as unknown as Page;
    const pageInfo = { hasNextPage: meta.nextCursor !== null, hasPreviousPage: (meta.page ?? 0) > 0 };
    return meta.totalElements === null ? { data, pageInfo } : { data, total: meta.totalElements };
  };

  const provider = {
    getList,

    getManyReference: (resource: string, { target, id, filter, ...params }: Parameters<Reference>[1]) =>
      getList(resource, { ...params, filter: { ...filter, [target]: id } }),

    getOne: async (resource: string, { id, meta, signal }: Asked & { readonly id: Id }) => {
      const { data } = await calls(resource).read(idOf(id), selectionOf(meta), { signal });
      return { data };
    },

    getMany: async (resource: string, { ids, meta, signal }: Asked & { readonly ids: readonly Id[] }) => ({
      data: await readMany(calls(resource), ids, meta, signal),
    }),

    create: async (resource: string, { data, meta }: Asked & { readonly data: object }) => {
      const entity = calls(resource);
      return { data: await answered(entity, await entity.create(data), meta) };
    },

    update: async (resource: string, { id, data, previousData, meta }: UpdateParams) => {
      const entity = calls(resource);
      const changes = changesOf(data as AnyRecord, (previousData ?? {}) as AnyRecord);
      const stored =
        meta?.etag !== undefined || previousData === undefined
          ? await entity.update(idOf(id), changes, { ifMatch: meta?.etag })
          : await entity.modify(idOf(id), (now) => unlessChanged(changes, previousData as AnyRecord, now));
      return { data: await answered(entity, stored, meta) };
    },

    updateMany: async (resource: string, { ids, data }: { readonly ids: Id[]; readonly data: object }) => {
      for (const part of partsOf(ids)) {
        const records = part.map((id) => ({ ...data, id }));
        await calls(resource).updateMany(records, { return: 'minimal' });
      }
      return { data: ids };
    },

    delete: async (resource: string, { id, previousData, meta }: Asked & { id: Id; previousData?: object }) => {
      await calls(resource).delete(idOf(id), { ifMatch: meta?.etag });
      return { data: previousData ?? { id } };
    },

    deleteMany: async (resource: string, { ids }: { readonly ids: Id[] }) => {
      for (const part of partsOf(ids)) await calls(resource).deleteMany(part);
      return { data: ids };
    },
  };
  const told = telling(provider, ({ details }) => ({ body: { errors: mistakesOf(details) } }));
  return { ...told, supportAbortSignal: true } as unknown as ReactAdminProvider;
}

type Reference = ReactAdminProvider['getManyReference'];

/** `{ status: 'open', 'total@gte': 20, tags: [1, 2], customer: { 'name@contains': 'a' } }` as the client takes it. */
function filterOf(filter: AnyRecord): AnyRecord {
  const conditions = (part: AnyRecord, prefix: string): AnyRecord[] =>
    Object.entries(part).flatMap(([key, value]) => {
      const [name = '', operator] = key.split('@');
      if (operator === undefined && Object.prototype.toString.call(value) === '[object Object]')
        return conditions(value as AnyRecord, `${prefix}${name}.`);
      if (operator !== undefined && !Object.hasOwn(OPERATORS, operator))
        throw new TypeError(
          `Unknown operator ${operator} of the filter ${key}. Known: ${Object.keys(OPERATORS).join(', ')}`,
        );
      return [conditionOf(prefix + name, operator ?? (Array.isArray(value) ? 'in' : 'eq'), value)];
    });
  return { $and: conditions(filter, '') };
}

/** Forms give the whole record, with what the server sets and what is expanded; what has not changed is not sent. */
const changesOf = ({ id, ...data }: AnyRecord, previous: AnyRecord): AnyRecord =>
  Object.fromEntries(Object.entries(data).filter(([name, value]) => !isSame(value, previous[name])));

/** The changes, if nobody has changed the same fields since the form was filled. */
function unlessChanged(changes: AnyRecord, previous: AnyRecord, now: AnyRecord): AnyRecord {
  const lost = Object.keys(changes).filter(
    (name) => name in previous && !isSame(now[name], previous[name]) && !isSame(now[name], changes[name]),
  );
  if (lost.length === 0) return changes;
  const details = lost.map((field) => ({
    field,
    code: 'STALE_VERSION' as const,
    message: `has been changed by somebody else, to ${JSON.stringify(now[field])}`,
  }));
  throw new WdaError(`The record has been changed by somebody else: ${lost.join(', ')}`, {
    status: 412,
    code: 'PRECONDITION_FAILED',
    details,
  });
}

const isSame = (a: unknown, b: unknown): boolean => ordered(a) === ordered(b);

/** JSON with the members of objects in order. */
const ordered = (value: unknown): string | undefined =>
  JSON.stringify(value, (_, one) =>
    Object.prototype.toString.call(one) === '[object Object]' ? Object.fromEntries(Object.entries(one).sort()) : one,
  );
