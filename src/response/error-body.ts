// ApiError -> reply in the spec's body. Anything else is a 500 that tells nothing.
import { ApiError, internalError } from '../errors.ts';
import { json, type Reply } from './reply.ts';

export function toApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : internalError(error);
}

export function errorReply(error: ApiError): Reply {
  const { code, message, details, beside, headers } = error;
  return json(
    error.status,
    { error: { code, message, ...(details === undefined ? {} : { details }) }, ...beside },
    headers,
  );
}
