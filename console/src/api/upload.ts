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

/**
 * Sends the file. After a 401 it asks for a session and sends the file once more. Throws ApiError, or the reason of the
 * signal.
 */
export async function upload<T>(one: Upload): Promise<ApiResponse<T>> {
  if (getViewAs() !== undefined)
    throw new ApiError('Nothing can be imported while you view as another user', { status: 403, code: 'VIEWING_AS' });
  for (;;) {
    const response = await sendFile(one);
    if (response.ok) {
      const { data, meta = {} } = (await response.json()) as { data: T; meta?: Record<string, unknown> };
      return { status: response.status, data, meta, etag: undefined, headers: response.headers };
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
    if (key !== undefined) request.setRequestHeader('Idempotency-Key', key);
    request.upload.onprogress = ({ loaded }) => onProgress(loaded);
    request.onload = () => {
      const headers = new Headers();
      for (const name of ['X-Request-Id', 'Retry-After']) {
        const value = request.getResponseHeader(name);
        if (value !== null) headers.set(name, value);
      }
      resolve(new Response(request.responseText, { status: request.status, headers }));
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
