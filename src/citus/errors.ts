// Errors of requests that name a node.
import { type ApiError, badRequest, hint, listNames, shorten } from '../errors.ts';

/** Error of an unknown node, with the nodes that may have workspaces. */
export const unknownNode = (name: string, suggestion: string | null, names: Iterable<string>): ApiError =>
  badRequest(
    'UNKNOWN_NODE',
    `The cluster has no node ${shorten(name)} for workspaces.${hint(suggestion)} Known: ${listNames(names)}`,
  );
