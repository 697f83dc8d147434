// A call of the data API as a value, from HTTP, an item of a batch, a tool of an agent or a test of access.
import { type ApiError, malformedId, methodNotAllowed, notFound, shorten } from '../errors.ts';
import { MAX_INT64 } from '../model/decimal.ts';
import { findOperation, getMethods, type OperationName, parseTail, type RecordTail, TAILS } from './operations.ts';

export interface Call {
  readonly operation: OperationName;
  readonly entity: string;
  /** Id as written, or '' if the operation has none. */
  readonly id: string;
  /** Id of an event of the history of the record, as written. */
  readonly event?: string | undefined;
  /** Query string before decoding, without `?`. */
  readonly query: string;
  readonly conditions: Conditions;
  /**
   * Reads the JSON value of the body; throws 400, 413 or 415. Called only after the access checks. `form`: limits for
   * bodies that may be longer than those of single records.
   */
  readonly body: (form?: BodyForm) => Promise<unknown>;
}

/** Limits of a body of many records. */
export interface BodyForm {
  readonly maxBytes: number;
  /** Depth of records; see readBody(). */
  readonly recordDepth: number;
}

/** Header fields of conditional requests (RFC 9110 section 13), as sent. */
export interface Conditions {
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
}

/** Parts of a call besides operation, entity and id. */
export type CallParts = Pick<Call, 'query' | 'conditions' | 'body'>;

/** Returns the call of a method on an entity and the rest of its path; throws 405 when there is no such operation. */
export function makeCall(method: string, entity: string, segment: string | undefined, parts: CallParts): Call {
  const tail = parseTail(segment);
  const operation = findOperation(method, tail);
  if (operation === undefined) {
    if (tail === 'id' && segment?.startsWith('_') === true) throw noSuchOperation(segment);
    throw methodNotAllowed(method, getMethods(tail));
  }
  return { operation, entity, id: tail === 'id' ? (segment as string) : '', ...parts };
}

/** Returns the call of a method on something of a record; throws 405 when there is no such operation. */
export function makeRecordCall(
  method: string,
  entity: string,
  [id = '', , event]: readonly string[],
  tail: RecordTail,
  parts: CallParts,
): Call {
  const operation = findOperation(method, tail);
  if (operation === undefined) throw methodNotAllowed(method, getMethods(tail));
  return { operation, entity, id, event, ...parts };
}

/** Returns the digits of an id, or undefined beyond 64 bits, where no record is. Throws 400 for no integer. */
export function parseId(text: string): string | undefined {
  if (!/^-?\d+$/.test(text)) {
    if (text.startsWith('_')) throw noSuchOperation(text);
    throw malformedId(text);
  }
  if (text.length < 19) return text;
  const value = text.length > 100 ? MAX_INT64 + 1n : BigInt(text);
  return value > MAX_INT64 || value < -MAX_INT64 - 1n ? undefined : text;
}

const noSuchOperation = (name: string): ApiError =>
  notFound('UNKNOWN_OPERATION', `There is no operation ${shorten(name)}. Known: ${TAILS.join(', ')}`);
