// Entity tags of what administrators read and change (RFC 9110 section 8.8.3): hashes of its content, so that they stay
// when something else of the workspace changes.
import { hash } from 'node:crypto';
import { badRequest, changedMeanwhile } from '../../errors.ts';
import { matches, parseEntityTags, versionsOf } from '../../request/conditions.ts';
import { jsonText } from '../../response/reply.ts';
import { type Answered, answer } from './answer.ts';

const TAG_CHARACTERS = 22;

export const tagOfText = (text: string): string => hash('sha256', text, 'base64url').slice(0, TAG_CHARACTERS);

/** Of a value as its JSON, numbers with all of their digits. */
export const tagOf = (value: unknown): string => tagOfText(JSON.stringify(value));

export const tagHeader = (tag: string) => ({ ETag: `"${tag}"` });

/** 200 with the text, or 304 for a client that has it. */
export function answerTagged<T>(
  text: string,
  tag: string,
  ifNoneMatch: string | undefined,
): Answered<T, 200> | Answered<undefined, 304> {
  const headers = tagHeader(tag);
  if (ifNoneMatch !== undefined && matches(parseEntityTags(ifNoneMatch), tag)) {
    return { status: 304, headers, body: { kind: 'empty' } } as unknown as Answered<undefined, 304>;
  }
  return jsonText(200, text, headers) as Answered<T, 200>;
}

/** The value in its envelope with its tag, or 304. */
export const tagged = <T>(value: T, ifNoneMatch: string | undefined) =>
  answerTagged<{ data: T }>(JSON.stringify({ data: value }), tagOf(value), ifNoneMatch);

/** What a change has put in force, with its tag for the next one. */
export const changedTo = <T>(value: T): Answered<{ data: T }, 200> =>
  answer(200, { data: value }, tagHeader(tagOf(value)));

/** 412 when what is in force is not what the client has read. `tag`: of what is in force; undefined: there is nothing. */
export type MustMatch = (tag: string | undefined) => void;

/**
 * If-Match of a change of what is called `what`; 400 when it is malformed. Of a tag with a dot only what stands before it
 * counts: the rest is about what was shown besides.
 */
export function mustMatch(ifMatch: string | undefined, what: string): MustMatch {
  if (ifMatch === undefined) return () => undefined;
  const tags = parseEntityTags(ifMatch);
  if (tags !== 'any' && tags.length === 0) {
    throw badRequest('If-Match is malformed: it takes entity tags in quotes, or *');
  }
  return (tag) => {
    if (tag !== undefined && (tags === 'any' || versionsOf(tags).includes(tag))) return;
    throw changedMeanwhile(what);
  };
}
