// Types of the admin API, generated from its OpenAPI document, and of requests and responses in the console.
export type * from '../../../admin-types/admin-api.d.ts';

export interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path below /console/api with its query, such as `/v1/demo/shop/orders` or `/admin/v1/session`. */
  readonly path: string;
  /** JSON body; digits keep their text. */
  readonly body?: unknown;
  /** Raw body with its type in place of `body`, for an import. */
  readonly content?: { readonly type: string; readonly bytes: Blob | string } | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** False to throw a 401 without asking for a session. */
  readonly signsInAgain?: boolean;
  /** False to throw transient errors too, for callers that show them or retry themselves. */
  readonly waits?: boolean;
}

export interface ApiResponse<T> {
  readonly status: number;
  readonly data: T;
  /** `meta` of the envelope, with plain numbers. */
  readonly meta: Readonly<Record<string, unknown>>;
  readonly etag: string | undefined;
  readonly headers: Headers;
}

/** Value of the server with its ETag. */
export interface Versioned<T> {
  readonly value: T;
  /** ETag for If-Match, or undefined if the response has none. */
  readonly etag: string | undefined;
}
