// Errors of requests to configured URLs, in words that follow the URL: what this server refuses, and what fails on the way.

/** Bytes that a document may have. */
export const MAX_DOCUMENT_BYTES = 1_048_576;

export type HttpClientErrorCode =
  | 'TIMEOUT'
  | 'DNS_FAILED'
  | 'CONNECTION_FAILED'
  | 'TLS_FAILED'
  | 'ADDRESS_REFUSED'
  | 'BAD_RESPONSE';

/** Error of a request. `refused`: this server does not connect to the URL or address; `failed`: anything that may pass. */
export class HttpClientError extends Error {
  readonly kind: 'refused' | 'failed';
  readonly code: HttpClientErrorCode;
  constructor(code: HttpClientErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'HttpClientError';
    this.kind = code === 'ADDRESS_REFUSED' ? 'refused' : 'failed';
    this.code = code;
  }
}

export const tooLarge = (): HttpClientError =>
  new HttpClientError('BAD_RESPONSE', `answered more than ${MAX_DOCUMENT_BYTES} bytes`);

/** Translates an error into words that follow the URL: "… did not answer in time". */
export function toHttpClientError(error: unknown): HttpClientError {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof HttpClientError) return cause;
  }
  const { code = '', name } = error as { code?: string; name?: string };
  const fail = (reason: HttpClientErrorCode, message: string): HttpClientError =>
    new HttpClientError(reason, message, error);
  if (name === 'TimeoutError' || name === 'AbortError' || /TIMEOUT|ETIMEDOUT/.test(code)) {
    return fail('TIMEOUT', 'did not answer in time');
  }
  if (/^(ENOTFOUND|EAI_)/.test(code)) return fail('DNS_FAILED', 'has a host whose name cannot be resolved');
  if (code === 'ECONNREFUSED') return fail('CONNECTION_FAILED', 'refused the connection');
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return tooLarge();
  if (name === 'HTTPParserError' || code === 'UND_ERR_HEADERS_OVERFLOW')
    return fail('BAD_RESPONSE', 'answered something that is not HTTP');
  return /^(CERT_|ERR_TLS|ERR_SSL|EPROTO|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(code)
    ? fail('TLS_FAILED', `has a certificate that is not valid here (${code})`)
    : fail('CONNECTION_FAILED', 'could not be reached');
}
