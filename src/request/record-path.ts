// The path of a data API request -> its segments and its name for metrics. Syntax only.
import { isStorable } from '../model/exact-json.ts';
import {
  findOperation,
  findWorkspaceOperation,
  parseRecordTail,
  parseTail,
  TAILS,
  WORKSPACE_OPERATIONS,
} from './operations.ts';
import { decodePart } from './query-string.ts';

export const PREFIX = '/api/v1/';

/** Prefix of the paths of the admin API. */
export const ADMIN_PREFIX = '/api/admin/v1';

/** Returns the path of the MCP endpoint of a workspace. */
export const agentsPath = (organization: string, workspace: string): string =>
  `${PREFIX}${encodeURIComponent(organization)}/${encodeURIComponent(workspace)}/${WORKSPACE_OPERATIONS.mcp.name}`;

/** Path of the metadata of a protected resource (RFC 9728 section 3.1), before the path of the resource. */
export const RESOURCE_METADATA = '/.well-known/oauth-protected-resource';

/**
 * Decodes the segments of a path below /api/v1/; a trailing slash adds none. A segment that cannot be decoded, or whose
 * text PostgreSQL cannot store, stays as it is and so names nothing.
 */
export function splitSegments(path: string): string[] {
  const parts = path.slice(PREFIX.length).split('/');
  if (parts.at(-1) === '') parts.pop();
  // Node's parser accepts only ASCII, so without an escape there is nothing to decode.
  if (!path.includes('%')) return parts;
  return parts.map((part) => {
    const decoded = decodePart(part);
    return decoded !== undefined && isStorable(decoded) ? decoded : part;
  });
}

/** Returns the path after the entity: a segment, or both segments of an operation that has two; '' for none. */
function getTail(url: string): string {
  let at = PREFIX.length - 1;
  for (let segment = 0; segment < 3; segment++) {
    at = url.indexOf('/', at + 1);
    if (at < 0) return '';
  }
  const query = url.indexOf('?');
  if (query >= 0 && query < at) return '';
  const rest = url.slice(at + 1, query < 0 ? undefined : query);
  const end = rest.indexOf('/');
  if (end < 0 || TAILS.includes(rest)) return rest;
  return parseRecordTail(rest.split('/')) === undefined ? rest.slice(0, end) : rest;
}

const OF_WORKSPACE = new RegExp(`^${PREFIX}[^/?]*/[^/?]*/_`);

/** Returns the operation's name for metrics: one of a few words, never text of a client. */
export function getOperationName(method: string, url: string): string {
  const tail = getTail(url);
  if (tail === '' || OF_WORKSPACE.test(url)) {
    const query = url.indexOf('?');
    const name = findWorkspaceOperation(splitSegments(query < 0 ? url : url.slice(0, query)));
    if (name !== undefined) return WORKSPACE_OPERATIONS[name].methods.some((one) => one === method) ? name : 'other';
  }
  const recordTail = tail.includes('/') ? parseRecordTail(tail.split('/')) : undefined;
  return findOperation(method, recordTail ?? parseTail(tail || undefined)) ?? 'other';
}
