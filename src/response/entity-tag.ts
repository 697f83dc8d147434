// Entity tags of records (RFC 9110 section 8.8.3) and the replies that depend on them.
import { preconditionFailed } from '../errors.ts';
import type { Text } from '../model/long-text.ts';
import type { Conditions } from '../request/call.ts';
import { isCurrent, matches, parseEntityTags } from '../request/conditions.ts';
import { recordEnvelope } from './envelope.ts';
import { jsonParts, type Reply } from './reply.ts';

/** One record of a response: its JSON text, and the tag of its version and representation. */
export interface Representation {
  readonly data: Text;
  readonly version: string;
  readonly tag: string;
}

/** Replies with 200 and the record, 304 when the client has it, 412 when If-Match does not name its version. */
export function readReply({ data, version, tag }: Representation, { ifMatch, ifNoneMatch }: Conditions): Reply {
  if (ifMatch !== undefined && !isCurrent(parseEntityTags(ifMatch), version)) throw preconditionFailed();
  if (ifNoneMatch !== undefined && matches(parseEntityTags(ifNoneMatch), tag)) {
    if (typeof data !== 'string') data.release();
    return { status: 304, headers: { ETag: `"${tag}"` }, body: { kind: 'empty' } };
  }
  return recordReply(200, { data, tag });
}

/** Returns the record with its tag. */
export function recordReply(
  status: 200 | 201,
  { data, tag }: Pick<Representation, 'data' | 'tag'>,
  location?: string,
): Reply {
  const headers = location === undefined ? { ETag: `"${tag}"` } : { ETag: `"${tag}"`, Location: location };
  return jsonParts(status, recordEnvelope(data), headers);
}
