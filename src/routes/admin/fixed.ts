// Documents that are the same for everybody and do not change while the server runs.
import type { Answered } from './answer.ts';
import { answerTagged, tagOfText } from './tag.ts';

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
      return answerTagged(made.text, made.tag, ifNoneMatch);
    },
  };
}

const tagged = (text: string) => ({ text, tag: tagOfText(text) });
