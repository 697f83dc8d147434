// Entity tags of admin resources (RFC 9110 section 8.8.3): hashes of the content, which changes elsewhere in the workspace
// leave alone.
import { hash } from 'node:crypto';
import { badRequest, changedMeanwhile } from '../errors.ts';
import { getVersions, matches, parseEntityTags } from '../request/conditions.ts';
import { jsonText } from '../response/reply.ts';
import { respond, type TypedReply } from './response.ts';

const TAG_CHARACTERS = 22;

export const textTag = (text: string): string => hash('sha256', text, 'base64url').slice(0, TAG_CHARACTERS);

/** Returns the tag of a value's JSON, whose numbers have all of their digits. */
export const entityTag = (value: unknown): string => textTag(JSON.stringify(value));

export const tagHeader = (tag: string) => ({ ETag: `"${tag}"` });

/** Returns 200 with the text, or 304 for a client that has it. */
export function respondTagged<T>(
  text: string,
  tag: string,
  ifNoneMatch: string | undefined,
): TypedReply<T, 200> | TypedReply<undefined, 304> {
  const headers = tagHeader(tag);
  if (ifNoneMatch !== undefined && matches(parseEntityTags(ifNoneMatch), tag)) {
    return { status: 304, headers, body: { kind: 'empty' } } as unknown as TypedReply<undefined, 304>;
  }
  return jsonText(200, text, headers) as TypedReply<T, 200>;
}

/** Returns 200 with the value in its envelope and its tag, or 304. */
export const respondTaggedValue = <T>(value: T, ifNoneMatch: string | undefined) =>
  respondTagged<{ data: T }>(JSON.stringify({ data: value }), entityTag(value), ifNoneMatch);

/** Returns 200 with the changed value and its tag, for the next change. */
export const respondChanged = <T>(value: T): TypedReply<{ data: T }, 200> =>
  respond(200, { data: value }, tagHeader(entityTag(value)));

/** Throws 412 unless the version in force is the one that the client has read. `tag`: its tag, or undefined if there is none. */
export type MustMatch = (tag: string | undefined) => void;

/**
 * Parses the If-Match header of a change; 400 when it is malformed. `what`: noun of the resource. Only the part of a tag
 * before a dot counts: the rest is the tag of other members of the response.
 */
export function mustMatch(ifMatch: string | undefined, what: string): MustMatch {
  if (ifMatch === undefined) return () => undefined;
  const tags = parseEntityTags(ifMatch);
  if (tags !== 'any' && tags.length === 0) {
    throw badRequest('INVALID_HEADER', 'If-Match is malformed: it takes entity tags in quotes, or *');
  }
  return (tag) => {
    if (tag !== undefined && (tags === 'any' || getVersions(tags).includes(tag))) return;
    throw changedMeanwhile(what);
  };
}

export interface StaticDocument {
  /** Returns 200 with the document, or 304 for a client that has it. */
  readonly respondTo: (ifNoneMatch: string | undefined) => TypedReply<unknown, 200> | TypedReply<undefined, 304>;
}

/** Returns a document that does not change while the server runs: `make` is called once, at the first request. */
export function makeStaticDocument(make: () => unknown): StaticDocument {
  let document: { readonly text: string; readonly tag: string } | undefined;
  return {
    respondTo(ifNoneMatch) {
      if (document === undefined) {
        const text = JSON.stringify(make());
        document = { text, tag: textTag(text) };
      }
      return respondTagged(document.text, document.tag, ifNoneMatch);
    },
  };
}
