// What routes say of their refusals: each names its own, and those that follow from what it asks for are added.
import { ERROR_CODES, type ErrorCode } from '../errors.ts';
import type { Refusal } from '../openapi/operation.ts';

/** By code: when it comes, as the end of the sentence "refused because ..."; with the status where it is another one. */
export type Refuses = { readonly [Code in ErrorCode]?: string | { readonly status: number; readonly when: string } };

export function toRefusals(refuses: Refuses): Refusal[] {
  return Object.entries(refuses).map(([code, said]) =>
    typeof said === 'string' ? { status: ERROR_CODES[code as ErrorCode], code, when: said } : { ...said, code },
  );
}

/** Of every operation. */
export const QUERY: Refuses = { BAD_REQUEST: 'a part of the path or of the query is not as described' };

/** Of operations that need a server that is ready. */
export const UNREADY: Refuses = { SERVICE_UNAVAILABLE: 'the server or its database cannot answer at the moment' };
