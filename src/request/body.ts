// Bytes of a request body -> JSON value, strictly: UTF-8, bounded nesting, numbers with all their digits.
import { badRequest } from '../errors.ts';
import { MAX_NESTING, nestingDepth, parseExact } from '../model/exact-json.ts';
import { JsonFault, readJson } from '../model/json-reader.ts';

export { MAX_NESTING };

// Members of the body's object: an entity has 500 fields at most. Up to this number each unknown name is reported.
const MAX_MEMBERS = 5000;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The JSON value of a body (RFC 8259); 400 when it is not JSON. */
export function parseBody(bytes: Uint8Array): unknown {
  const text = textOf(bytes);
  // A body shorter than this cannot nest too deep.
  if (text.length > MAX_NESTING && nestingDepth(text) > MAX_NESTING) throw tooDeep();
  try {
    return parseExact(text);
  } catch {
    throw malformed(text);
  }
}

/**
 * Like parseBody(), but in pieces, for long bodies: yields between two pieces. 400 also for more than 5,000 members.
 */
export function* readBody(bytes: Uint8Array): Generator<undefined, unknown> {
  const text = textOf(bytes);
  try {
    return yield* readJson(text, MAX_MEMBERS);
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    if (error.kind === 'depth') throw tooDeep();
    if (error.kind === 'width') throw badRequest(`The request body has more than ${MAX_MEMBERS} members`);
    throw malformed(text);
  }
}

function textOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw badRequest('The request body is not UTF-8');
  }
}

function tooDeep(): Error {
  return badRequest(`The request body is nested more than ${MAX_NESTING} levels deep`);
}

function malformed(text: string): Error {
  return badRequest(
    text.trim() === '' ? 'The request body is empty; send a JSON object' : 'The request body is malformed JSON',
  );
}

/** `application/json`, with or without a charset of UTF-8 (RFC 9110 section 8.3). */
export function isJsonType(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/json[ \t]*(;[ \t]*charset="?utf-8"?[ \t]*)?$/i.test(contentType);
}
