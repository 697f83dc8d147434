// Types of the admin API, generated from its OpenAPI document, and those of requests and responses as the console has them.
export type * from '../../../admin-types/admin-api.d.ts';

export interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below /console/api, such as `/v1/demo/shop/orders` or `/admin/v1/session`, with its query. */
  readonly path: string;
  /** Written as JSON; digits keep their text. */
  readonly body?: unknown;
  /** Sent as it is, with its type, in place of `body`: an import. */
  readonly content?: { readonly type: string; readonly bytes: Blob | string } | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** False: a 401 is thrown, and no session is asked for. */
  readonly signsInAgain?: boolean;
  /** False: a refusal that passes is thrown too, by who says so in another place or shows the answer itself. */
  readonly waits?: boolean;
}

export interface ApiResponse<T> {
  readonly status: number;
  readonly data: T;
  /** `meta` of the envelope; its numbers are numbers. */
  readonly meta: Readonly<Record<string, unknown>>;
  readonly etag: string | undefined;
  readonly headers: Headers;
}

/** A value of the server with the version that a change of it is based on. */
export interface Versioned<T> {
  readonly value: T;
  /** For If-Match; undefined where the server tells none. */
  readonly etag: string | undefined;
}
