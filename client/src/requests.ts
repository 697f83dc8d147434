// Implements the calls of an entity: requests and results. Has no types of a schema; entity.ts has them.
import type { Answer, Ask, MatchOptions, RequestOptions, WriteOptions } from './ask.ts';
import { inUrl, type LooseQuery, toBody, toList, toListQuery, toQuery, toTexts } from './body.ts';
import { isWdaError } from './error.ts';
import { makeFeed } from './feed.ts';
import { type Job, waitForJob } from './job.ts';
import { type CallOptions, type Content, pause } from './transport.ts';

/** Options of writes: parameters, and those of every write. */
type LooseWrite = WriteOptions & Readonly<Record<string, unknown>>;

type LooseMatching = LooseWrite & { readonly wait?: boolean; readonly onProgress?: (job: Job) => void };

type LooseHistory = CallOptions & Readonly<Record<string, unknown>>;

const LONGEST_QUERY = 4000;
const TRIES = 5;

function toImport({ format, map = {}, ...options }: LooseWrite): readonly [type: string, parameters: LooseWrite] {
  const pairs = Object.entries(map as object).map(([header, to]) => `${header.replaceAll(',', '\\,')}:${to ?? ''}`);
  const type = format === 'csv' ? 'text/csv' : 'application/x-ndjson';
  return [type, pairs.length === 0 ? options : { ...options, map: pairs.join() }];
}

/** Builds the query string of one record. */
export const toReadQuery = (query: LooseQuery): URLSearchParams => inUrl(toQuery(toBody(query)));

/** Creates the calls of an entity. `path`: path of the entity below the workspace. */
export function makeRequests(ask: Ask, path: string) {
  // Callers without types may pass strings of users as ids.
  const toPath = (id: number): string => `${path}/${encodeURIComponent(id)}`;

  const query = async (input: LooseQuery = {}, options?: CallOptions): Promise<Answer> =>
    ask('POST', `${path}/_query`, { ...options, body: toBody(input), isRead: true });

  const list = async (input: LooseQuery = {}, options?: CallOptions): Promise<Answer> => {
    const short = toQuery(toBody(input));
    return short === undefined || String(short).length > LONGEST_QUERY
      ? query(input, options)
      : ask('GET', path, { ...options, query: short });
  };

  async function* all(input: LooseQuery = {}, options?: CallOptions): AsyncGenerator<unknown, void, undefined> {
    for (let after: string | null | undefined; after !== null; ) {
      const { data, meta } = await list({ size: 500, ...input, count: 'none', after }, options);
      yield* data as unknown[];
      after = (meta as { nextCursor: string | null }).nextCursor;
    }
  }

  const read = async (id: number, input: LooseQuery = {}, options?: CallOptions): Promise<Answer> =>
    ask('GET', toPath(id), { ...options, query: toReadQuery(input) });

  const update = (id: number, body: unknown, options?: MatchOptions): Promise<Answer> =>
    ask('PATCH', toPath(id), { ...options, body });

  async function modify(id: number, change: (now: never) => unknown, options?: CallOptions): Promise<Answer> {
    for (let tries = 1; ; tries++) {
      const { data, etag } = await read(id, {}, options);
      // If a proxy has removed the ETag, the change would overwrite changes of others.
      if (etag === undefined) throw new TypeError('The answer has no ETag');
      const changes = await change(data as never);
      try {
        return await update(id, changes, { ...options, ifMatch: etag });
      } catch (error) {
        if (tries === TRIES || !isWdaError(error, 'PRECONDITION_FAILED')) throw error;
        // Jitter separates clients that change one record at once.
        await pause((Math.random() * 2 ** tries) / 20, options?.signal);
      }
    }
  }

  /** Sends a write, with everything but request options in the URL. */
  const write = (
    method: string,
    to: string,
    content: RequestOptions,
    { idempotencyKey, retries, signal, ...parameters }: LooseWrite,
  ): Promise<Answer> =>
    ask(method, to, {
      idempotencyKey,
      retries,
      signal,
      ...content,
      query: new URLSearchParams(toTexts(parameters)),
      // A dry run has no idempotency key.
      isRead: parameters.dryRun === true,
    });

  /** Returns the filter of a write: an empty one is left out, and so refused. */
  const toMatching = (filter: unknown) =>
    filter === 'all' ? { filter: { all: true } } : toList({ filter } as LooseQuery);

  /** Sends a write by filter, and waits for its job if it is one. */
  async function writeWhere(to: string, body: unknown, { wait, onProgress, ...options }: LooseMatching) {
    const answer = await write('POST', `${path}/${to}`, { body }, options);
    if (answer.status !== 202 || wait === false) return answer;
    const { retries, signal } = options;
    return { ...answer, data: await waitForJob(ask, (answer.data as Job).id, onProgress, { retries, signal }) };
  }

  return {
    // Without `fields` the setting of the workspace would decide.
    ...makeFeed(ask, `${path}/_changes`, { fields: [] }),
    list,
    query,
    all,
    read,
    update,
    modify,
    history: async (id: number, { retries, signal, ...parameters }: LooseHistory = {}) =>
      ask('GET', `${toPath(id)}/_history`, { retries, signal, query: new URLSearchParams(toTexts(parameters)) }),
    historyEntry: async (id: number, event: string, options?: CallOptions) =>
      ask('GET', `${toPath(id)}/_history/${encodeURIComponent(event)}`, options),
    restore: async (id: number, event: string, options?: MatchOptions) => {
      const answer = await ask('POST', `${toPath(id)}/_restore`, { ...options, body: { event } });
      return { ...answer, created: answer.status === 201 };
    },
    create: (body: unknown, options?: WriteOptions) => ask('POST', path, { ...options, body }),
    upsert: async (body: unknown, options: LooseWrite) => {
      const answer = await write('POST', path, { body }, options);
      return { ...answer, created: answer.status === 201 };
    },
    delete: async (id: number, options?: MatchOptions): Promise<void> => {
      await ask('DELETE', toPath(id), options);
    },
    createMany: (data: unknown, options: LooseWrite = {}) =>
      write('POST', `${path}/_bulk`, { body: { data } }, options),
    updateMany: (data: unknown, options: LooseWrite = {}) =>
      write('PATCH', `${path}/_bulk`, { body: { data } }, options),
    deleteMany: async (ids: unknown, { versions, ...options }: LooseWrite = {}): Promise<void> => {
      await write('POST', `${path}/_bulk/delete`, { body: { ids, versions } }, options);
    },
    updateWhere: (filter: unknown, set: unknown, { max, ...options }: LooseMatching) =>
      writeWhere('_update', { ...toMatching(filter), set, max }, options),
    deleteWhere: (filter: unknown, { max, ...options }: LooseMatching) =>
      writeWhere('_delete', { ...toMatching(filter), max }, options),
    aggregate: async ({ filter, sort, ...rest }: LooseQuery, options?: CallOptions) =>
      ask('POST', `${path}/_aggregate`, {
        ...options,
        body: { ...rest, ...toList({ filter, sort }) },
        isRead: true,
      }),
    export: async ({ fields, ...input }: LooseQuery = {}, options?: CallOptions) => {
      const parameters = inUrl(toListQuery(toList(input)));
      if (fields !== undefined) parameters.append('fields', fields.join());
      return (await ask.stream(`${path}/_export`, parameters, options)).body;
    },
    import: async (file: Content, options: LooseWrite) => {
      const [type, parameters] = toImport(options);
      const { data, meta } = await write('POST', `${path}/_import`, { file: [type, file] }, parameters);
      return { ...(data as object), notes: (meta as { notes?: unknown } | undefined)?.notes };
    },
    importWithRejects: async (file: Content, { signal, retries, ...options }: LooseWrite) => {
      const [type, parameters] = toImport({ ...options, rejects: true });
      const query = new URLSearchParams(toTexts(parameters));
      const { headers, body } = await ask.stream(`${path}/_import`, query, { signal, retries }, [type, file]);
      const count = (name: string): number => Number(headers.get(`Import-${name}`));
      return {
        inserted: count('inserted'),
        updated: count('updated'),
        skipped: count('skipped'),
        rejected: count('rejected'),
        rejects: body,
      };
    },
  };
}
