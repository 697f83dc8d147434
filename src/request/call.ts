// A call of the data API as a value, whether HTTP, an item of a batch, a tool of an agent or a test of access makes it.
import { type ApiError, malformedId, methodNotAllowed, notFound, shorten } from '../errors.ts';
import { MAX_INT64 } from '../model/decimal.ts';
import { findOperation, getMethods, type OperationName, parseTail, TAILS } from './operations.ts';

export interface Call {
  readonly operation: OperationName;
  readonly entity: string;
  /** The id as it was written; '' where the operation has none. */
  readonly id: string;
  /** Query string, undecoded, without `?`. */
  readonly query: string;
  readonly conditions: Conditions;
  /**
   * The JSON value of the body; 400, 413 or 415. Called only after the call was admitted. `form`: of bodies that may be
   * longer than those of single records.
   */
  readonly body: (form?: BodyForm) => Promise<unknown>;
}

/** What a body may be that is not a single record's. */
export interface BodyForm {
  readonly maxBytes: number;
  /** See readBody(). */
  readonly recordDepth: number;
}

/** Header fields of conditional requests (RFC 9110 section 13), as sent. */
export interface Conditions {
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
}

/** The parts of a call besides operation, entity and id. */
export type CallParts = Pick<Call, 'query' | 'conditions' | 'body'>;

/** The call of a method on an entity and what follows it; 405 when there is no such operation. */
export function callAt(method: string, entity: string, segment: string | undefined, parts: CallParts): Call {
  const tail = parseTail(segment);
  const operation = findOperation(method, tail);
  if (operation === undefined) {
    if (tail === 'id' && segment?.startsWith('_') === true) throw noSuchOperation(segment);
    throw methodNotAllowed(method, getMethods(tail));
  }
  return { operation, entity, id: tail === 'id' ? (segment as string) : '', ...parts };
}

/** Digits of an id; undefined when it exceeds 64 bits and so names no record. 400 when it is not an integer. */
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
