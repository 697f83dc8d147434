// What is told of a request whose workspace lies on a node of the cluster that does not answer.
import { ApiError, workspaceUnavailable } from '../errors.ts';
import { writeUnknown } from './errors.ts';

/**
 * An error that was met while the node is known to be away. What took too long there was no question of what was asked, and
 * a write that was sent may be done when the node goes on. `mayBeDone`: nothing undoes the write.
 */
export function toUnavailableError(error: unknown, mayBeApplied: boolean): unknown {
  if (!(error instanceof ApiError)) return error;
  if (error.code === 'QUERY_TIMEOUT') return mayBeApplied ? writeUnknown(error) : workspaceUnavailable(error);
  return error.code === 'SERVICE_UNAVAILABLE' ? workspaceUnavailable(error) : error;
}
