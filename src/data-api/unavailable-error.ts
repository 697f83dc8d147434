// Errors of requests whose workspace lies on a node of the cluster that does not respond.
import { ApiError, workspaceUnavailable } from '../errors.ts';
import { writeUnknown } from './errors.ts';

/**
 * Translates an error that was met while the node is known to be unavailable. A timeout there was not caused by the
 * request, and a write that was sent may be applied when the node recovers. `mayBeApplied`: the write is not rolled
 * back.
 */
export function toUnavailableError(error: unknown, mayBeApplied: boolean): unknown {
  if (!(error instanceof ApiError)) return error;
  if (error.code === 'QUERY_TIMEOUT') return mayBeApplied ? writeUnknown(error) : workspaceUnavailable(error);
  return error.code === 'SERVICE_UNAVAILABLE' ? workspaceUnavailable(error) : error;
}
