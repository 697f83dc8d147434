// Bytes of a request body -> JSON value, strictly: UTF-8, bounded nesting, numbers with all their digits.
import { badRequest } from '../errors.ts';
import { JsonFault, MAX_NESTING, nestingDepth, parseExact, readJson } from '../model/exact-json.ts';

export { MAX_NESTING };

// Most members of the body's object: an entity has 500 fields at most. Up to this number each unknown name is reported.
const MAX_MEMBERS = 5000;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Parses the JSON of a body (RFC 8259); throws 400 when it is not JSON. */
export function parseBody(bytes: Uint8Array): unknown {
  const text = decodeText(bytes);
  // A body shorter than this cannot nest too deep.
  if (text.length > MAX_NESTING && nestingDepth(text) > MAX_NESTING) throw tooDeep();
  try {
    return parseExact(text);
  } catch {
    throw malformedBody(text);
  }
}

// The values of a body take 30 to 60 bytes each; 1,000 records of 500 fields have this many, and a text of one-digit
// numbers has five times as many.
const MAX_VALUES = 600_000;
const LEAST_BYTES = 16;

/**
 * Parses a long body as parseBody() does, but yields between pieces. `recordDepth`: depth of the objects of the body
 * that have the fields of a record; 1 is the body itself. Throws 400 also for more than 5,000 members there, and for
 * more values than a body of its length should have.
 */
export function* readBody(bytes: Uint8Array, recordDepth = 1): Generator<undefined, unknown> {
  const text = decodeText(bytes);
  const maxValues = Math.max(MAX_VALUES, Math.floor(text.length / LEAST_BYTES));
  try {
    return yield* readJson(text, { maxMembers: MAX_MEMBERS, depth: recordDepth, maxValues });
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    if (error.kind === 'depth') throw tooDeep();
    if (error.kind === 'width')
      throw badRequest('LIMIT_EXCEEDED', `The request body has more than ${MAX_MEMBERS} members`);
    if (error.kind === 'number')
      throw badRequest('LIMIT_EXCEEDED', `The request body has more than ${maxValues} values`);
    throw malformedBody(text);
  }
}

function decodeText(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw badRequest('MALFORMED_BODY', 'The request body is not UTF-8');
  }
}

function tooDeep(): Error {
  return badRequest('LIMIT_EXCEEDED', `The request body is nested more than ${MAX_NESTING} levels deep`);
}

function malformedBody(text: string): Error {
  return badRequest(
    'MALFORMED_BODY',
    text.trim() === '' ? 'The request body is empty; send a JSON object' : 'The request body is malformed JSON',
  );
}

/** Accepts `application/json`, with or without a charset of UTF-8 (RFC 9110 section 8.3). */
export function isJsonType(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/json[ \t]*(;[ \t]*charset="?utf-8"?[ \t]*)?$/i.test(contentType);
}
