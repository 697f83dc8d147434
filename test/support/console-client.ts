// The console's page as the server sees it: requests with its cookie and its headers, without a browser.
import assert from 'node:assert/strict';
import type { Answer, Call, TestClient } from './server.ts';

/** What a browser and the page's own code send with each request. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'sec-fetch-site': 'same-origin',
  'x-console': '1',
  'content-type': 'application/json',
};

interface ConsoleClient {
  /** `name=value`, as a browser sends it. */
  readonly cookie: string;
  /** Set-Cookie as it came. */
  readonly setCookie: string;
  /** Calls below /console/api, with the cookie unless the headers say otherwise. */
  call(path: string, call?: Call): Promise<Answer>;
}

export const postSession = (
  server: TestClient,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> =>
  server.call('/console/api/session', { method: 'POST', body, headers: { ...PAGE_HEADERS, ...headers } });

/** Signs in with a key. */
export async function signIn(server: TestClient, key: string): Promise<ConsoleClient> {
  return clientOfAnswer(server, await postSession(server, { key }));
}

function clientOfAnswer(server: TestClient, answer: Answer): ConsoleClient {
  assert.equal(answer.status, 201, answer.text);
  const setCookie = answer.headers.get('set-cookie') ?? '';
  const cookie = setCookie.split(';')[0] as string;
  return {
    cookie,
    setCookie,
    call: (path, { headers, ...rest } = {}) =>
      server.call(`/console/api${path}`, { headers: { ...PAGE_HEADERS, cookie, ...headers }, ...rest }),
  };
}
