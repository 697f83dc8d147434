// Parses the call of an HTTP request of the data API: path, method and other parts.
import type { Config } from '../config.ts';
import { type ApiError, notFound, shorten, unsupportedMediaType } from '../errors.ts';
import { readJsonValue } from '../http/body.ts';
import type { RawRequest } from '../http/request.ts';
import { closest } from '../model/closest.ts';
import type { Workspace } from '../model/workspace.ts';
import { isJsonType } from '../request/body.ts';
import { type Call, type CallParts, makeCall, makeRecordCall } from '../request/call.ts';
import { isWorkspaceSegment, parseRecordTail, TAILS, WORKSPACE_SEGMENTS } from '../request/operations.ts';
import { PREFIX } from '../request/record-path.ts';
import type { RequestContext } from './context.ts';

type BodyLimits = Pick<Config, 'maxBodyBytes'>;

/** Parses the call of a request below /api/v1/ with these segments: 404 or 405 when there is none. */
export function parseCall(
  { request, workspace }: Pick<RequestContext, 'request' | 'workspace'>,
  segments: readonly string[],
  limits: BodyLimits,
): Call {
  const recordTail = segments.length < 5 ? undefined : parseRecordTail(segments.slice(3));
  if (recordTail !== undefined && !isWorkspaceSegment(segments[2] as string))
    return makeRecordCall(
      request.method,
      segments[2] as string,
      segments.slice(3),
      recordTail,
      makeCallParts(request, limits),
    );
  const tail = segments.length > 3 ? segments.slice(3).join('/') : undefined;
  // An escaped slash does not separate segments.
  const isPath =
    tail === undefined
      ? segments.length === 3
      : TAILS.includes(tail)
        ? segments.length === 3 + tail.split('/').length
        : segments.length === 4;
  if (!isPath) throw noSuchPath(workspace, segments.slice(2));
  if (isWorkspaceSegment(segments[2] as string)) throw noSuchOperation(segments[2] as string);
  return makeCall(request.method, segments[2] as string, tail, makeCallParts(request, limits));
}

/** Parts of an HTTP request other than its method and path. */
export function makeCallParts(request: RawRequest, { maxBodyBytes }: BodyLimits): CallParts {
  const { headers, query } = request;
  return {
    query,
    conditions: { ifMatch: headers['if-match'], ifNoneMatch: headers['if-none-match'] },
    async body({ maxBytes, recordDepth } = { maxBytes: maxBodyBytes, recordDepth: 1 }) {
      if (!isJsonType(headers['content-type'])) throw unsupportedMediaType('application/json');
      return readJsonValue(await request.body(maxBytes), request, recordDepth);
    },
  };
}

function noSuchOperation(name: string): ApiError {
  const suggestion = closest(name, WORKSPACE_SEGMENTS);
  const hint = suggestion === null || suggestion === name ? '' : ` Did you mean ${suggestion}?`;
  return notFound(
    'UNKNOWN_OPERATION',
    `There is no operation ${shorten(name)} here.${hint} Known of a workspace: ${WORKSPACE_SEGMENTS.join(', ')}`,
  );
}

function noSuchPath({ entities }: Workspace, [name = '', id = '', part = '']: readonly string[]): ApiError {
  const names = [...entities.keys()].slice(0, 50).join(', ') || 'none';
  const relation = entities.get(name)?.relations.get(part);
  const inverse =
    relation?.kind === 'hasMany' ? entities.get(relation.entity)?.relations.get(relation.inverse) : undefined;
  const alternative =
    inverse?.kind === 'belongsTo' ? ` or ${relation?.entity}?filter=${inverse.column},eq,${shorten(id)}` : '';
  const suggestion = relation === undefined ? '' : ` Did you mean ${name}/${shorten(id)}?expand=${part}${alternative}?`;
  return notFound(
    'PATH_NOT_FOUND',
    `Records are at ${PREFIX}{organization}/{workspace}/{entity}, and one at {entity}/{id}.${suggestion} Entities: ${names}`,
  );
}
