// ApiError -> reply in the spec's body. Anything else becomes a 500 without any details.
import { ApiError, internalError } from '../errors.ts';
import { jsonText, type Reply } from './reply.ts';

export function toApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : internalError(error);
}

export function errorReply(error: ApiError): Reply {
  return jsonText(error.status, errorText(error), error.headers);
}

/** Returns the JSON text of a refusal. */
export function errorText({ code, message, reason, operation, details, members }: ApiError): string {
  const error = {
    code,
    message,
    reason,
    ...(operation === undefined ? {} : { operation }),
    ...(details === undefined ? {} : { details }),
  };
  return JSON.stringify({ error, ...members });
}
