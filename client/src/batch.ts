// Batches: several operations on entities of a workspace in one transaction.
import { newKey, type WriteOptions } from './ask.ts';
import type { LooseQuery } from './body.ts';
import type { ConflictOptions, Entity, ListQuery, Meta, RecordQuery } from './entity.ts';
import type { Client } from './index.ts';
import { toReadQuery } from './requests.ts';
import type { Answered, Create, Expand, Name, None, Result, Shape, Update } from './shape.ts';

/** Reference to a field of the record that an earlier operation returns. */
export interface Ref {
  readonly $ref: string;
}

/** Creates a reference; `order.id` is the id of the record of the operation whose `ref` is `order`. */
export const ref = (path: string): Ref => ({ $ref: path });

const queryText = (query: object): string => String(toReadQuery(query as LooseQuery));

type Referring<T> = { readonly [K in keyof T]: T[K] | Ref | ReferringIds<T[K]> };

/** Ids of a many-to-many relation, some of which are references. */
type ReferringIds<V> = [Extract<V, readonly number[]>] extends [never] ? never : readonly (number | Ref)[];

/** Operation of a batch; `T` is its result. */
export interface Step<T> {
  readonly method: string;
  readonly entity: string;
  readonly id?: number | Ref;
  readonly body?: unknown;
  readonly query?: string;
  readonly ifMatch?: string;
  readonly ref?: string;
  /** Carrier of the type, without a value. */
  readonly '~answer'?: T;
}

export interface StepOptions {
  /** Name by which later operations refer to this one. */
  readonly ref?: string;
}

/** Returns the operations on an entity, as steps of a batch. */
export function steps<S extends Shape<S>, E extends keyof S>(entity: Entity<S, E>) {
  const step = <T>(method: string, rest: object): Step<T> => ({ method, entity: String(entity.name), ...rest });
  return {
    create: (body: Referring<Create<S, E>>, options?: StepOptions) =>
      step<{ data: Result<S, E> }>('POST', { body, ...options }),
    upsert: (body: Referring<Create<S, E>>, { onConflict, ...options }: ConflictOptions<Name<S, E>> & StepOptions) =>
      step<{ data: Result<S, E> }>('POST', { body, onConflict: String(onConflict), ...options }),
    update: (id: number | Ref, body: Referring<Update<S, E>>, options?: StepOptions & { readonly ifMatch?: string }) =>
      step<{ data: Result<S, E> }>('PATCH', { id, body, ...options }),
    delete: (id: number | Ref, options?: { readonly ifMatch?: string }) => step<unknown>('DELETE', { id, ...options }),
    read: <const F extends readonly Name<S, E>[] | undefined = undefined, const X extends Expand<S, E> = None>(
      id: number | Ref,
      query: RecordQuery<S, E, F, X> = {},
    ) => step<{ data: Answered<S, E, F, X> }>('GET', { id, query: queryText(query) }),
    list: <const F extends readonly Name<S, E>[] | undefined = undefined, const X extends Expand<S, E> = None>(
      query: ListQuery<S, E, F, X> = {},
    ) => step<{ data: Answered<S, E, F, X>[]; meta: Meta }>('GET', { query: queryText(query) }),
  };
}

/** Results of the steps, in their order. */
export type StepAnswers<T extends readonly Step<unknown>[]> = {
  -readonly [I in keyof T]: T[I] extends Step<infer A> ? A & { readonly status: number } : never;
};

/**
 * Executes up to 100 steps in their order. The first failure rolls back all and is thrown, with its index as `operation`.
 * `dryRun`: executes everything and rolls it back.
 */
export async function batch<S extends Shape<S>, const T extends readonly Step<unknown>[]>(
  client: Client<S>,
  operations: T,
  { dryRun, ...options }: WriteOptions & { readonly dryRun?: boolean } = {},
): Promise<StepAnswers<T>> {
  const { data } = await client.request('POST', '_batch', {
    ...(dryRun === true ? { query: { dryRun: 'true' } } : { idempotencyKey: newKey() }),
    ...options,
    body: { operations },
  });
  return data as StepAnswers<T>;
}
