// People of a server: operators invite them as members, and they sign in with the OpenID provider, without a browser.
import assert from 'node:assert/strict';
import { PAGE_HEADERS } from './console-client.ts';
import {
  type Browser,
  makeBrowser,
  type PeopleProvider,
  type PersonClaims,
  startPeopleProvider,
} from './people-provider.ts';
import { use } from './resources.ts';
import { ADMIN_KEY, type Answer, type Call, startTestServer, type TestServer } from './server.ts';

/** URL of the server as people reach it. */
export const PUBLIC = 'https://data.example.com';

export interface SignedIn {
  readonly browser: Browser;
  call(path: string, call?: Call): Promise<Answer>;
}

export interface People {
  readonly provider: PeopleProvider;
  readonly server: TestServer;
  /** Calls the admin API as the operator. */
  admin(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Makes a member of the organization or workspace at `path`, and returns its id. */
  invite(path: string, member: object): Promise<number>;
  /** Signs in, and returns the browser and its session. */
  comeAs(account: PersonClaims, to?: string): Promise<SignedIn>;
  /** Begins a sign-in, and returns the browser and the URL that the provider sends it back to. */
  beginAs(account: PersonClaims): Promise<{ readonly browser: Browser; readonly back: string }>;
}

/** Claims of an account whose mail address is verified. */
export const verified = (sub: string, name: string): PersonClaims => ({
  sub,
  name,
  email: `${sub}@example.com`,
  email_verified: true,
});

/** Calls below /console/api with the cookies of the browser. */
export const callFrom =
  (server: TestServer, browser: Browser): SignedIn['call'] =>
  (path, { headers, ...rest } = {}) =>
    server.call(`/console/api${path}`, {
      headers: { ...PAGE_HEADERS, cookie: browser.cookies(PUBLIC), ...headers },
      ...rest,
    });

/** A server that people sign in to with a provider. */
export function usePeople(): People {
  const provider = use(
    () => startPeopleProvider(PUBLIC),
    (started) => started.stop(),
  );
  const server = use(
    () => startTestServer(provider.settings),
    (started) => started.stop(),
  );
  const admin: People['admin'] = (method, path, body) =>
    server.call(`/api/admin/v1${path}`, { method, credential: ADMIN_KEY, body });
  return {
    provider,
    server,
    admin,
    invite: async (path, member) => {
      const answer = await admin('POST', `${path}/members`, member);
      assert.equal(answer.status, 201, answer.text);
      return answer.json.data.id;
    },
    comeAs: async (account, to = '/console/') => {
      provider.choose(account);
      const browser = makeBrowser(PUBLIC, server.url);
      const visit = await browser.visit(
        `${PUBLIC}/console/sign-in?to=${encodeURIComponent(to)}`,
        `${PUBLIC}${to.split('?')[0]}`,
      );
      assert.equal(visit.url, `${PUBLIC}${to}`, visit.text);
      return { browser, call: callFrom(server, browser) };
    },
    beginAs: async (account) => {
      provider.choose(account);
      const browser = makeBrowser(PUBLIC, server.url);
      const { url } = await browser.visit(`${PUBLIC}/console/sign-in`, `${PUBLIC}/console/sign-in/callback`);
      return { browser, back: url };
    },
  };
}
