// Sends requests of a workspace: JSON in and out, idempotency keys of writes, streams.
import { toTexts } from './body.ts';
import { WdaError } from './error.ts';
import { parseJson, stringifyJson } from './json.ts';
import type { CallOptions, Content, Send } from './transport.ts';

/** Options of a write. */
export interface WriteOptions extends CallOptions {
  /** Idempotency key of the write; by default a new one for each call, or none if `retries` is 0. */
  readonly idempotencyKey?: string | undefined;
}

/** Options of the write of one record. */
export interface MatchOptions extends WriteOptions {
  /** ETag of the record; one that has changed since is a 412. */
  readonly ifMatch?: string | undefined;
}

export interface RequestOptions extends MatchOptions {
  readonly query?: URLSearchParams | undefined;
  /** Value that is sent as JSON. */
  readonly body?: unknown;
  /** Media type and bytes or text. */
  readonly file?: readonly [type: string, body: Content] | undefined;
  /** Whether the request changes nothing, whatever its method. */
  readonly isRead?: boolean | undefined;
}

export interface Answer {
  readonly data: unknown;
  readonly meta?: unknown;
  readonly status: number;
  readonly etag: string | undefined;
  /** Whether an earlier request with the idempotency key has done the write; also one that this call has retried. */
  readonly replayed: boolean;
}

/** Sends a request. `path`: relative to the workspace, or to the server when it starts with a slash. */
export interface Ask {
  (method: string, path: string, options?: RequestOptions): Promise<Answer>;
  /** Returns the response, whose body is a file. A `file` is sent once, whatever happens. */
  stream(
    path: string,
    query: URLSearchParams,
    options?: CallOptions & { readonly accept?: string },
    file?: readonly [type: string, body: Content],
  ): Promise<FileAnswer>;
}

export interface FileAnswer {
  readonly headers: Headers;
  readonly body: ReadableStream<Uint8Array>;
}

export function makeAsk(send: Send, workspace: string): Ask {
  const base = `/api/v1/${workspace.split('/').map(encodeURIComponent).join('/')}/`;
  const toPath = (path: string, query?: URLSearchParams): string =>
    (path.startsWith('/') ? path : base + path) + (`${query ?? ''}` && `?${query}`);

  const ask = async (method: string, path: string, options: RequestOptions = {}): Promise<Answer> => {
    const { query, body, file, isRead = method === 'GET', ifMatch, retries, signal } = options;
    const key = isRead ? undefined : (options.idempotencyKey ?? (retries === 0 ? undefined : newKey()));
    const [type, content] = file ?? (body === undefined ? [] : ['application/json', stringifyJson(body)]);
    return send(
      {
        method,
        path: toPath(path, query),
        headers: toTexts({ 'Content-Type': type, 'If-Match': ifMatch, 'Idempotency-Key': key }),
        body: content,
        isRepeatable: isRead || key !== undefined,
        retries,
        signal,
      },
      parseAnswer,
    );
  };
  const stream: Ask['stream'] = (path, query, { accept, ...options } = {}, file) => {
    const [type, body] = file ?? [];
    return send(
      {
        ...options,
        method: type ? 'POST' : 'GET',
        path: toPath(path, query),
        headers: toTexts({ 'Content-Type': type, Accept: accept }),
        body,
        isRepeatable: !type,
      },
      async (response) => response as FileAnswer,
    );
  };
  return Object.assign(ask, { stream });
}

/** Generates 128 random bits. `crypto.randomUUID` is missing in pages without TLS. */
export const newKey = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-');

async function parseAnswer(response: Response): Promise<Answer> {
  const { status, headers } = response;
  const text = await response.text();
  try {
    const { data, meta } = (text === '' ? {} : parseJson(text)) as Partial<Answer>;
    const etag = headers.get('ETag') ?? undefined;
    return { data, meta, status, etag, replayed: headers.has('Idempotent-Replayed') };
  } catch (error) {
    throw new WdaError('The answer is no JSON', { status, code: 'NO_API' }, error);
  }
}
