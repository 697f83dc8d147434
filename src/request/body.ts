// Bytes of a request body -> JSON value, strictly: UTF-8, bounded nesting, numbers with all their digits.
import { badRequest } from '../errors.ts';
import { MAX_NESTING, nestingDepth, parseExact } from '../model/exact-json.ts';

export { MAX_NESTING };

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The JSON value of a body (RFC 8259); 400 when it is not JSON. */
export function parseBody(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw badRequest('The request body is not UTF-8');
  }
  // A body shorter than this cannot nest too deep.
  if (text.length > MAX_NESTING && nestingDepth(text) > MAX_NESTING) {
    throw badRequest(`The request body is nested more than ${MAX_NESTING} levels deep`);
  }
  try {
    return parseExact(text);
  } catch {
    throw badRequest(
      text.trim() === '' ? 'The request body is empty; send a JSON object' : 'The request body is malformed JSON',
    );
  }
}

/** `application/json`, with or without a charset of UTF-8 (RFC 9110 section 8.3). */
export function isJsonType(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/json[ \t]*(;[ \t]*charset="?utf-8"?[ \t]*)?$/i.test(contentType);
}
