// Reads the members of a JSON object in a body, by their forms, and refuses unknown ones.
import { badRequest, shorten } from '../errors.ts';
import { closest } from '../model/closest.ts';
import { numberText } from '../model/exact-json.ts';

export interface Members {
  readonly members: Readonly<Record<string, unknown>>;
  /** Returns whether the member is given and not null. */
  readonly has: (name: string) => boolean;
  /** Returns the member as text, as digits, or as texts (none when it is missing); throws 400 for anything else. */
  readonly text: (name: string) => string;
  readonly integer: (name: string) => string;
  readonly strings: (name: string) => string[];
}

/** Returns whether the value is a JSON object. A number that keeps its digits is one of JavaScript, but not of JSON. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && numberText(value) === undefined;
}

/** Throws 400 for no object, or a member that is not `allowed`. `what`, `prefix`: names of both in refusals. */
export function readMembers(body: unknown, allowed: readonly string[], what = 'the query', prefix = ''): Members {
  if (!isRecord(body)) throw badRequest('INVALID_BODY', 'The body must be one JSON object');
  const members = body;
  for (const name of Object.keys(members)) {
    if (!allowed.includes(name)) {
      const suggestion = closest(name, allowed);
      throw badRequest(
        'UNKNOWN_MEMBER',
        `Unknown member ${shorten(name)} of ${what}.${suggestion === null ? '' : ` Did you mean ${suggestion}?`} Known: ${allowed.join(', ')}`,
      );
    }
  }
  const has = (name: string): boolean => Object.hasOwn(members, name) && members[name] !== null;
  return {
    members,
    has,
    text(name) {
      const value = members[name];
      if (typeof value !== 'string') throw badRequest('INVALID_BODY', `${prefix}${name} must be a string`);
      return value;
    },
    integer(name) {
      const value = numberText(members[name]);
      if (value === undefined) throw badRequest('INVALID_BODY', `${prefix}${name} must be an integer`);
      return value;
    },
    strings(name) {
      if (!has(name)) return [];
      const value = members[name];
      if (!Array.isArray(value) || !value.every((entry) => typeof entry === 'string')) {
        throw badRequest('INVALID_BODY', `${prefix}${name} must be an array of strings`);
      }
      return value;
    },
  };
}
