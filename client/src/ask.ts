// Requests below a workspace: JSON in and out, the key under which a write is done once, streams.
import { given } from './body.ts';
import { WdaError } from './error.ts';
import { parseJson, stringifyJson } from './json.ts';
import type { CallOptions, Content, Send } from './transport.ts';

/** What a write takes. */
export interface WriteOptions extends CallOptions {
  /** A write is done once under its key; without one each call has a key of its own, unless `retries` is 0. */
  readonly idempotencyKey?: string | undefined;
}

/** What the write of one record takes, too. */
export interface MatchOptions extends WriteOptions {
  /** The ETag of the record that is meant: one that has changed since is a 412. */
  readonly ifMatch?: string | undefined;
}

export interface Asked extends MatchOptions {
  readonly query?: URLSearchParams | undefined;
  /** A value, sent as JSON. */
  readonly body?: unknown;
  /** Bytes or text, with their type. */
  readonly file?: readonly [type: string, body: Content] | undefined;
  /** It changes nothing, whatever its method. */
  readonly isRead?: boolean | undefined;
}

export interface Answer {
  readonly data: unknown;
  readonly meta?: unknown;
  readonly status: number;
  readonly etag: string | undefined;
}

/** `path`: below the workspace, or from the root of the server when it begins with a slash. */
export interface Ask {
  (method: string, path: string, asked?: Asked): Promise<Answer>;
  stream(path: string, query: URLSearchParams, options?: CallOptions): Promise<ReadableStream<Uint8Array>>;
}

export function makeAsk(send: Send, workspace: string): Ask {
  const base = `/api/v1/${workspace.split('/').map(encodeURIComponent).join('/')}/`;
  const pathOf = (path: string, query?: URLSearchParams): string =>
    (path.startsWith('/') ? path : base + path) + (`${query ?? ''}` && `?${query}`);

  const ask = async (method: string, path: string, asked: Asked = {}): Promise<Answer> => {
    const { query, body, file, isRead = method === 'GET', ifMatch, retries, signal } = asked;
    const key = isRead ? undefined : (asked.idempotencyKey ?? (retries === 0 ? undefined : newKey()));
    const [type, content] = file ?? (body === undefined ? [] : ['application/json', stringifyJson(body)]);
    return send(
      {
        method,
        path: pathOf(path, query),
        headers: given({ 'Content-Type': type, 'If-Match': ifMatch, 'Idempotency-Key': key }),
        body: content,
        isRepeatable: isRead || key !== undefined,
        retries,
        signal,
      },
      answerOf,
    );
  };
  const stream: Ask['stream'] = (path, query, options) =>
    send(
      { ...options, method: 'GET', path: pathOf(path, query), isRepeatable: true },
      async ({ body }) => body as ReadableStream<Uint8Array>,
    );
  return Object.assign(ask, { stream });
}

/** 128 random bits. `crypto.randomUUID` is missing in pages that came without TLS. */
export const newKey = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-');

async function answerOf(response: Response): Promise<Answer> {
  const { status, headers } = response;
  const text = await response.text();
  try {
    const { data, meta } = (text === '' ? {} : parseJson(text)) as Partial<Answer>;
    return { data, meta, status, etag: headers.get('ETag') ?? undefined };
  } catch (error) {
    throw new WdaError('The answer is no JSON', { status, code: 'NO_API' }, error);
  }
}
