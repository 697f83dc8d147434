// Documents that are the same for everybody and do not change while the server runs.
import { hash } from 'node:crypto';
import { matches, parseEntityTags } from '../../request/conditions.ts';
import { jsonText } from '../../response/reply.ts';
import type { Answered } from './answer.ts';

export interface Fixed {
  /** 200 with the document, 304 when the client has it. */
  readonly answerTo: (ifNoneMatch: string | undefined) => Answered<unknown, 200> | Answered<undefined, 304>;
}

/** The JSON of what `make` gives, which is called once, at the first request. */
export function fixed(make: () => unknown): Fixed {
  let made: { readonly text: string; readonly tag: string } | undefined;
  return {
    answerTo(ifNoneMatch) {
      made ??= tagged(JSON.stringify(make()));
      const { text, tag } = made;
      const headers = { ETag: `"${tag}"` };
      if (ifNoneMatch !== undefined && matches(parseEntityTags(ifNoneMatch), tag)) {
        return { status: 304, headers, body: { kind: 'empty' } } as unknown as Answered<undefined, 304>;
      }
      return jsonText(200, text, headers) as Answered<unknown, 200>;
    },
  };
}

const tagged = (text: string) => ({ text, tag: hash('sha256', text, 'base64url').slice(0, 22) });
