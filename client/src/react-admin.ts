// Data provider for react-admin 5. Imports nothing of react-admin: the types here are those that it requires of a provider.
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
import { WdaError } from './error.ts';
import type { Client } from './index.ts';
import { OPERATORS } from './operators.generated.ts';
import type { ListParameters } from './parameters.generated.ts';
import type { Shape } from './shape.ts';

interface BaseParams {
  readonly meta?: (AdminMeta & Pick<ListParameters<object, never>, 'count'>) | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface ListParams extends BaseParams {
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

interface UpdateParams extends BaseParams {
  readonly id: Id;
  readonly data: object;
  readonly previousData?: object;
}

/** Value for `<Admin dataProvider>`. */
export type ReactAdminProvider = {
  getList: <R>(resource: string, params: ListParams) => Promise<List<R>>;
  getOne: <R>(resource: string, params: BaseParams & { readonly id: Id }) => Promise<One<R>>;
  getMany: <R>(resource: string, params: BaseParams & { readonly ids: readonly Id[] }) => Promise<{ data: R[] }>;
  getManyReference: <R>(
    resource: string,
    params: ListParams & { readonly target: string; readonly id: Id },
  ) => Promise<List<R>>;
  create: <R>(resource: string, params: BaseParams & { readonly data: object }) => Promise<One<R>>;
  update: <R>(resource: string, params: UpdateParams) => Promise<One<R>>;
  updateMany: (
    resource: string,
    params: BaseParams & { readonly ids: Id[]; readonly data: object },
  ) => Promise<{ data: Id[] }>;
  delete: <R>(
    resource: string,
    params: BaseParams & { readonly id: Id; readonly previousData?: object },
  ) => Promise<One<R>>;
  deleteMany: (resource: string, params: BaseParams & { readonly ids: Id[] }) => Promise<{ data: Id[] }>;
  supportAbortSignal: true;
};

/**
 * Creates the data provider of one workspace. Errors are thrown as WdaErrors whose `body.errors` has mistakes by field in the
 * form of react-admin.
 */
export function dataProvider<S extends Shape<S>>(shop: Client<S>): ReactAdminProvider {
  const calls = (resource: string) => getCalls(shop, resource);

  const getList = async (resource: string, params: ListParams): Promise<List<AnyRecord>> => {
    const { pagination, sort, filter = {}, meta: options, signal } = params;
    const { q, ...conditions } = filter;
    const query: LooseQuery = {
      ...getSelection(options),
      filter: toFilter(conditions),
      ...(q === undefined ? {} : { search: q }),
      ...(sort === undefined ? {} : { sort: `${sort.field},${sort.order.toLowerCase()}` }),
      ...(pagination === undefined ? {} : { page: pagination.page - 1, size: pagination.perPage }),
      ...(options?.count === undefined ? {} : { count: options.count }),
    };
    const { data, meta } = (await calls(resource).list(query, { signal })) as unknown as Page;
    const pageInfo = { hasNextPage: meta.nextCursor !== null, hasPreviousPage: (meta.page ?? 0) > 0 };
    return meta.totalElements === null ? { data, pageInfo } : { data, total: meta.totalElements };
  };

  const provider = {
    getList,

    getManyReference: (resource: string, { target, id, filter, ...params }: Parameters<Reference>[1]) =>
      getList(resource, { ...params, filter: { ...filter, [target]: id } }),

    getOne: async (resource: string, { id, meta, signal }: BaseParams & { readonly id: Id }) => {
      const { data } = await calls(resource).read(parseId(id), getSelection(meta), { signal });
      return { data };
    },

    getMany: async (resource: string, { ids, meta, signal }: BaseParams & { readonly ids: readonly Id[] }) => ({
      data: await readMany(calls(resource), ids, meta, signal),
    }),

    create: async (resource: string, { data, meta }: BaseParams & { readonly data: object }) => {
      const entity = calls(resource);
      return { data: await readWritten(entity, await entity.create(data), meta) };
    },

    update: async (resource: string, { id, data, previousData, meta }: UpdateParams) => {
      const entity = calls(resource);
      const changes = findChanges(data as AnyRecord, (previousData ?? {}) as AnyRecord);
      const stored =
        meta?.etag !== undefined || previousData === undefined
          ? await entity.update(parseId(id), changes, { ifMatch: meta?.etag })
          : await entity.modify(parseId(id), (now) => unlessChanged(changes, previousData as AnyRecord, now));
      return { data: await readWritten(entity, stored, meta) };
    },

    updateMany: async (resource: string, { ids, data }: { readonly ids: Id[]; readonly data: object }) => {
      for (const part of splitIds(ids)) {
        const records = part.map((id) => ({ ...data, id }));
        await calls(resource).updateMany(records, { return: 'minimal' });
      }
      return { data: ids };
    },

    delete: async (resource: string, { id, previousData, meta }: BaseParams & { id: Id; previousData?: object }) => {
      await calls(resource).delete(parseId(id), { ifMatch: meta?.etag });
      return { data: previousData ?? { id } };
    },

    deleteMany: async (resource: string, { ids }: { readonly ids: Id[] }) => {
      for (const part of splitIds(ids)) await calls(resource).deleteMany(part);
      return { data: ids };
    },
  };
  const decorated = decorateErrors(provider, ({ details }) => ({ body: { errors: groupMistakes(details) } }));
  return { ...decorated, supportAbortSignal: true } as unknown as ReactAdminProvider;
}

type Reference = ReactAdminProvider['getManyReference'];

/** Converts `{ status: 'open', 'total@gte': 20, tags: [1, 2], customer: { 'name@contains': 'a' } }` to a filter of the client. */
function toFilter(filter: AnyRecord): AnyRecord {
  const conditions = (part: AnyRecord, prefix: string): AnyRecord[] =>
    Object.entries(part).flatMap(([key, value]) => {
      const [name = '', operator] = key.split('@');
      if (operator === undefined && Object.prototype.toString.call(value) === '[object Object]')
        return conditions(value as AnyRecord, `${prefix}${name}.`);
      if (operator !== undefined && !Object.hasOwn(OPERATORS, operator))
        throw new TypeError(
          `Unknown operator ${operator} of the filter ${key}. Known: ${Object.keys(OPERATORS).join(', ')}`,
        );
      return [toCondition(prefix + name, operator ?? (Array.isArray(value) ? 'in' : 'eq'), value)];
    });
  return { $and: conditions(filter, '') };
}

/** Returns the changed members; forms submit the whole record, with generated values and expanded relations. */
const findChanges = ({ id, ...data }: AnyRecord, previous: AnyRecord): AnyRecord =>
  Object.fromEntries(Object.entries(data).filter(([name, value]) => !isSame(value, previous[name])));

/** Returns the changes; throws if the same fields have changed since the form was loaded. */
function unlessChanged(changes: AnyRecord, previous: AnyRecord, now: AnyRecord): AnyRecord {
  const lost = Object.keys(changes).filter(
    (name) => name in previous && !isSame(now[name], previous[name]) && !isSame(now[name], changes[name]),
  );
  if (lost.length === 0) return changes;
  const details = lost.map((field) => ({
    field,
    code: 'STALE_VERSION' as const,
    message: `has been changed by another user, to ${JSON.stringify(now[field])}`,
  }));
  throw new WdaError(`The record has been changed by another user: ${lost.join(', ')}`, {
    status: 412,
    code: 'PRECONDITION_FAILED',
    details,
  });
}

const isSame = (a: unknown, b: unknown): boolean => ordered(a) === ordered(b);

/** Serializes JSON with sorted members of objects, for comparisons. */
const ordered = (value: unknown): string | undefined =>
  JSON.stringify(value, (_, one) =>
    Object.prototype.toString.call(one) === '[object Object]' ? Object.fromEntries(Object.entries(one).sort()) : one,
  );
