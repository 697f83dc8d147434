// Messages for unknown names in a request: each with a suggestion and the known names, within bounds, as a body may
// hold a hundred thousand of them.
import { listNames } from '../errors.ts';
import { closest } from '../model/closest.ts';

/** Most mistakes in one response; readers stop before that. */
export const MAX_DETAILS = 100;
// Most names with a suggestion, which costs the edit distance to every known name.
const MAX_HINTS = 20;

/** Formats the message for a name, with a suggestion for the first 20 names of the request. */
export type UnknownNameFormatter = (message: string, name: string, candidates: readonly string[]) => string;

export function makeUnknownNameFormatter(): UnknownNameFormatter {
  let hintCount = 0;
  return (message, name, candidates) => {
    if (++hintCount > MAX_HINTS) return message;
    const suggestion = closest(name, candidates);
    return `${message}.${suggestion === null ? '' : ` Did you mean ${suggestion}?`} Known: ${listNames(candidates)}`;
  };
}
