// Refusals about the nodes of a cluster and moves between them; errors.ts gives them out.
import { ApiError, listed, shown } from './api-error.ts';

export const noCluster = (): ApiError =>
  new ApiError(
    'CONFLICT',
    'The database is not a Citus cluster: all workspaces lie in one PostgreSQL, and there are no nodes to move them between',
  );

/** `known`: the nodes that may have workspaces. */
export const unknownNode = (name: string, suggestion: string | null, known: Iterable<string>): ApiError =>
  new ApiError(
    'BAD_REQUEST',
    `The cluster has no node ${shown(name)} for workspaces.${suggestion === null ? '' : ` Did you mean ${suggestion}?`} Known: ${listed(known)}`,
  );

export const nodesAway = (names: Iterable<string>, _cause?: unknown): ApiError =>
  new ApiError(
    'SERVICE_UNAVAILABLE',
    `A node of the cluster does not answer: ${listed(names)}; retry when it is back`,
    {
      beside: { retryAfterSeconds: 5 },
      headers: { 'Retry-After': '5' },
    },
  );

/** Of requests for records: the node that has them does not answer. Which one it is concerns the operator alone. */
export const workspaceAway = (cause?: unknown): ApiError =>
  new ApiError('SERVICE_UNAVAILABLE', 'The part of the database that has this workspace is not reachable; retry', {
    beside: { retryAfterSeconds: 2 },
    headers: { 'Retry-After': '2' },
    ...(cause === undefined ? {} : { cause }),
  });

/** A change of the schema, or another move, while the workspace is moved: the same code, as the schema is held. */
export const workspaceMoves = (): ApiError =>
  new ApiError(
    'SCHEMA_MIGRATION_IN_PROGRESS',
    'The workspace is being moved to another node of the cluster; retry after that has ended',
    { status: 409 },
  );
