// Every call of an entity: what is sent, and what is made of the answer. Knows no schema; entity.ts has the types.
import type { Answer, Ask, Asked, MatchOptions, WriteOptions } from './ask.ts';
import { bodyOf, given, type LooseQuery, listOf, listQueryOf, queryOf } from './body.ts';
import { isWdaError } from './error.ts';
import { type CallOptions, type Content, pause } from './transport.ts';

/** Options of writes: parameters, and those of every write. */
type LooseWrite = WriteOptions & Readonly<Record<string, unknown>>;

const LONGEST_QUERY = 4000;
const TRIES = 5;

function inUrl(query: URLSearchParams | undefined): URLSearchParams {
  if (query !== undefined) return query;
  throw new TypeError('This filter does not fit into a URL: conditions do, and one $or');
}

/** The query string of one record. */
export const readQueryOf = (query: LooseQuery): URLSearchParams => inUrl(queryOf(bodyOf(query)));

/** The calls of an entity, whose path below the workspace is `path`. */
export function makeRequests(ask: Ask, path: string) {
  // Callers without types give texts of others as ids.
  const recordOf = (id: number): string => `${path}/${encodeURIComponent(id)}`;

  const query = async (wanted: LooseQuery = {}, options?: CallOptions): Promise<Answer> =>
    ask('POST', `${path}/_query`, { ...options, body: bodyOf(wanted), isRead: true });

  const list = async (wanted: LooseQuery = {}, options?: CallOptions): Promise<Answer> => {
    const short = queryOf(bodyOf(wanted));
    return short === undefined || String(short).length > LONGEST_QUERY
      ? query(wanted, options)
      : ask('GET', path, { ...options, query: short });
  };

  async function* all(wanted: LooseQuery = {}, options?: CallOptions): AsyncGenerator<unknown, void, undefined> {
    for (let after: string | null | undefined; after !== null; ) {
      const { data, meta } = await list({ size: 500, ...wanted, count: 'none', after }, options);
      yield* data as unknown[];
      after = (meta as { nextCursor: string | null }).nextCursor;
    }
  }

  const read = async (id: number, wanted: LooseQuery = {}, options?: CallOptions): Promise<Answer> =>
    ask('GET', recordOf(id), { ...options, query: readQueryOf(wanted) });

  const update = (id: number, body: unknown, options?: MatchOptions): Promise<Answer> =>
    ask('PATCH', recordOf(id), { ...options, body });

  async function modify(id: number, change: (now: never) => unknown, options?: CallOptions): Promise<Answer> {
    for (let tries = 1; ; tries++) {
      const { data, etag } = await read(id, {}, options);
      // A proxy has taken it away: the change would be made whatever others have done.
      if (etag === undefined) throw new TypeError('The answer has no ETag');
      const changes = await change(data as never);
      try {
        return await update(id, changes, { ...options, ifMatch: etag });
      } catch (error) {
        if (tries === TRIES || !isWdaError(error, 'PRECONDITION_FAILED')) throw error;
        // Clients that change one record at once come apart.
        await pause((Math.random() * 2 ** tries) / 20, options?.signal);
      }
    }
  }

  /** Of a write, everything that is not an option of requests goes into the URL. */
  const write = (
    method: string,
    to: string,
    content: Asked,
    { idempotencyKey, retries, signal, ...parameters }: LooseWrite,
  ): Promise<Answer> =>
    ask(method, to, {
      idempotencyKey,
      retries,
      signal,
      ...content,
      query: new URLSearchParams(given(parameters)),
      // A dry run takes no key.
      isRead: parameters.dryRun === true,
    });

  return {
    list,
    query,
    all,
    read,
    update,
    modify,
    create: (body: unknown, options?: WriteOptions) => ask('POST', path, { ...options, body }),
    upsert: async (body: unknown, options: LooseWrite) => {
      const answer = await write('POST', path, { body }, options);
      return { ...answer, created: answer.status === 201 };
    },
    delete: async (id: number, options?: MatchOptions): Promise<void> => {
      await ask('DELETE', recordOf(id), options);
    },
    createMany: (data: unknown, options: LooseWrite = {}) =>
      write('POST', `${path}/_bulk`, { body: { data } }, options),
    updateMany: (data: unknown, options: LooseWrite = {}) =>
      write('PATCH', `${path}/_bulk`, { body: { data } }, options),
    deleteMany: async (ids: unknown, { versions, ...options }: LooseWrite = {}): Promise<void> => {
      await write('POST', `${path}/_bulk/delete`, { body: { ids, versions } }, options);
    },
    aggregate: async ({ filter, sort, ...rest }: LooseQuery, options?: CallOptions) =>
      ask('POST', `${path}/_aggregate`, { ...options, body: { ...rest, ...listOf({ filter, sort }) }, isRead: true }),
    export: async ({ fields, ...wanted }: LooseQuery = {}, options?: CallOptions) => {
      const parameters = inUrl(listQueryOf(listOf(wanted)));
      if (fields !== undefined) parameters.append('fields', fields.join());
      return ask.stream(`${path}/_export`, parameters, options);
    },
    import: async (file: Content, { format, map = {}, ...options }: LooseWrite) => {
      const pairs = Object.entries(map as object).map(([header, to]) => `${header.replaceAll(',', '\\,')}:${to ?? ''}`);
      const type = format === 'csv' ? 'text/csv' : 'application/x-ndjson';
      const parameters = pairs.length === 0 ? options : { ...options, map: pairs.join() };
      return (await write('POST', `${path}/_import`, { file: [type, file] }, parameters)).data;
    },
  };
}
