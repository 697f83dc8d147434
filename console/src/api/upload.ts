// Upload of a file with its progress, which `fetch` does not report.

import { ApiError } from './api-error.ts';
import { CONSOLE_API, readError, signInAgain } from './request.ts';
import type { ApiResponse } from './types.ts';
import { getViewAs } from './view-as.ts';

export interface Upload {
  /** Path below /console/api, with its query. */
  readonly path: string;
  readonly type: 'text/csv' | 'application/x-ndjson';
  readonly file: Blob;
  /** Idempotency key, or undefined for a dry run. */
  readonly key: string | undefined;
  readonly onProgress: (bytes: number) => void;
  readonly signal: AbortSignal;
}

export interface UploadResponse<T> extends ApiResponse<T> {
  /** File of the answer, if it is one in place of JSON: then `data` is its counts. */
  readonly rejects: Blob | undefined;
}

const COUNTS = ['Inserted', 'Updated', 'Skipped', 'Rejected'] as const;
const HEADERS = ['Content-Type', 'X-Request-Id', 'Retry-After', ...COUNTS.map((name) => `Import-${name}`)] as const;

/**
 * Sends the file. After a 401 it asks for a session and sends the file once more. Throws ApiError, or the reason of the
 * signal.
 */
export async function upload<T>(one: Upload): Promise<UploadResponse<T>> {
  if (getViewAs() !== undefined)
    throw new ApiError('Nothing can be imported while you view as another user', { status: 403, code: 'VIEWING_AS' });
  for (;;) {
    const response = await sendFile(one);
    if (response.ok) {
      const { status, headers } = response;
      if (!headers.get('Content-Type')?.startsWith('application/json')) {
        const counts = COUNTS.map((name) => [name.toLowerCase(), Number(headers.get(`Import-${name}`))]);
        const data = Object.fromEntries(counts) as T;
        return { status, data, meta: {}, etag: undefined, headers, rejects: await response.blob() };
      }
      const { data, meta = {} } = (await response.json()) as { data: T; meta?: Record<string, unknown> };
      return { status, data, meta, etag: undefined, headers, rejects: undefined };
    }
    const refusal = await readError(response);
    if (refusal.status !== 401) throw refusal;
    await signInAgain();
    one.signal.throwIfAborted();
  }
}

function sendFile({ path, type, file, key, onProgress, signal }: Upload): Promise<Response> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', CONSOLE_API + path);
    request.setRequestHeader('Content-Type', type);
    request.setRequestHeader('X-Console', '1');
    // A blob of rejected rows need not fit into the page.
    request.responseType = 'blob';
    if (key !== undefined) request.setRequestHeader('Idempotency-Key', key);
    request.upload.onprogress = ({ loaded }) => onProgress(loaded);
    request.onload = () => {
      const headers = new Headers();
      for (const name of HEADERS) {
        const value = request.getResponseHeader(name);
        if (value !== null) headers.set(name, value);
      }
      resolve(new Response(request.response as Blob, { status: request.status, headers }));
    };
    request.onerror = () => reject(new ApiError('The server cannot be reached', { status: 0, code: 'UNREACHABLE' }));
    const stop = (): void => {
      request.abort();
      reject(signal.reason);
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop);
    request.send(file);
  });
}
