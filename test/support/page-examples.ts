// The requests that a page shows, each with its answer, in the form
//
//     METHOD /path
//     Header: value
//     body
//
//     status answer
import assert from 'node:assert/strict';
import type { TestWorkspace } from './server.ts';

export interface Example {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly status: number;
  readonly answer: string;
}

const EXAMPLE =
  /^ {4}(GET|POST|PUT|PATCH|DELETE) \/(\S+)\n((?: {4}[A-Z][\w-]+: .*\n)*)((?: {4}.*\n)*)\n {4}(\d{3})(?: (.*\n(?: {4}.*\n)*))?/gm;

/** Returns the examples of a page, in its order. Fails when one has another form. */
export function parseExamples(page: string): readonly Example[] {
  const examples = [...page.matchAll(EXAMPLE)].map(
    ([, method = '', path = '', headers = '', body = '', status, answer = '']) => ({
      method,
      path,
      headers: Object.fromEntries(
        [...headers.matchAll(/^ {4}([\w-]+): (.*)$/gm)].map(([, name, value]) => [name, value]),
      ),
      // The lines of a file begin where the page does.
      body: body.replaceAll(/^ {4}/gm, ''),
      status: Number(status),
      answer,
    }),
  );
  const shown = page.match(/^ {4}(?:GET|POST|PUT|PATCH|DELETE) \//gm) ?? [];
  assert.equal(examples.length, shown.length, 'an example has another form than the others');
  return examples;
}

/** JSON without the white space between its parts: every digit, and the order of members, stay. */
const packed = (text: string): string => text.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');

const CURSOR = /"nextCursor":"([\w-]+)"/;
/** What a cursor says without the epoch of the workspace, which the page cannot know. */
const saidBy = (cursor: string): string =>
  Buffer.from(cursor, 'base64url')
    .toString()
    .replace(/;[0-9a-f]{8}"/, '"');

/** A page cannot know when it is read. */
const withoutTimes = (text: string): string => text.replaceAll(/"(createdAt|updatedAt)":"[^"]+"/g, '"$1":"…"');

/**
 * Requests the examples one after the other, and compares the answers. `toHeader`: the value that a request sends for that of
 * the page; `normalize`: an answer without what differs from run to run.
 */
export async function requestExamples(
  examples: readonly Example[],
  workspace: TestWorkspace,
  toHeader: (value: string) => string,
  normalize: (answer: string) => string = (answer) => answer,
): Promise<void> {
  /** Cursors of this workspace, by those of the page. */
  const cursors = new Map<string, string>();
  for (const { method, path, headers, body, status, answer } of examples) {
    const asked = path.replace(/after=([\w-]+)/, (after, cursor) =>
      cursors.has(cursor) ? `after=${cursors.get(cursor)}` : after,
    );
    const { authorization, ...sent } = Object.fromEntries(
      Object.entries(headers).map(([header, value]) => [header.toLowerCase(), toHeader(value)]),
    );
    const found = await workspace.call(asked, {
      method,
      headers: sent,
      ...(authorization === undefined ? {} : { credential: authorization.replace('Bearer ', '') }),
      ...(body === '' ? {} : { body }),
    });
    assert.equal(found.status, status, `${method} ${path}: ${found.text}`);
    const [shown, text] = [answer, found.text].map((one) => normalize(withoutTimes(packed(one)))) as [string, string];
    const [before, after] = [shown, text].map((one) => CURSOR.exec(one)?.[1]);
    if (before === undefined || after === undefined) {
      assert.equal(text, shown, `${method} ${path}`);
      continue;
    }
    cursors.set(before, after);
    assert.equal(saidBy(after), saidBy(before), `${method} ${path}`);
    assert.equal(text.replace(after, before), shown, `${method} ${path}`);
  }
}
