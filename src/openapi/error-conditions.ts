// Refusals of routes: each route names its own, and those that follow from its requirements are added.
import { ERROR_CODES, type ErrorCode } from '../errors.ts';
import type { ErrorDescription } from './operation.ts';

/** Conditions by code, as the end of the sentence "refused because ..."; with the status if it is another one. */
export type ErrorConditions = {
  readonly [Code in ErrorCode]?: string | { readonly status: number; readonly when: string };
};

export function toErrorResponses(conditions: ErrorConditions): ErrorDescription[] {
  return Object.entries(conditions).map(([code, condition]) =>
    typeof condition === 'string'
      ? { status: ERROR_CODES[code as ErrorCode], code, when: condition }
      : { ...condition, code },
  );
}

/** Refusals of every operation. */
export const QUERY_ERRORS: ErrorConditions = { BAD_REQUEST: 'a part of the path or of the query is not as described' };

/** Refusals of operations that need a ready server. */
export const UNREADY_ERRORS: ErrorConditions = {
  SERVICE_UNAVAILABLE: 'the server or its database cannot answer at the moment',
};
