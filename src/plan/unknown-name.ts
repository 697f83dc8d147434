// What is said of names in a request that mean nothing: each with what was probably meant and what there is, within
// bounds, as a body may hold a hundred thousand of them.
import { listed } from '../errors.ts';
import { closest } from '../model/closest.ts';

/** Mistakes that one answer names. Nobody reads on beyond these. */
export const MAX_DETAILS = 100;
// Names that are helped with: a did-you-mean costs the edit distance to every known name.
const MAX_HINTS = 20;

/** `says` of the name, with help for the first 20 names of the request. */
export type UnknownNameFormatter = (message: string, name: string, candidates: readonly string[]) => string;

export function makeUnknownNameFormatter(): UnknownNameFormatter {
  let hintCount = 0;
  return (message, name, candidates) => {
    if (++hintCount > MAX_HINTS) return message;
    const suggestion = closest(name, candidates);
    return `${message}.${suggestion === null ? '' : ` Did you mean ${suggestion}?`} Known: ${listed(candidates)}`;
  };
}
