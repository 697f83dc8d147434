// The console in a browser: a server with the demo, pages that are signed in, and a trap for all that must never happen on
// them. `useConsole()` gives `test`, which is skipped with its reason where browser or build are missing.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test as nodeTest } from 'node:test';
import { DEMO_RECORDS, DEMO_SCHEMA } from '../../src/bootstrap/demo.ts';
import {
  type Browser,
  type BrowserContext,
  browserSkip,
  type ContextOptions,
  type Page,
  useBrowser,
} from './browser.ts';
import { signIn } from './console-client.ts';
import { prepare, skipSteps, use } from './resources.ts';
import { ADMIN_KEY, startTestServer, type TestServer, type TestWorkspace } from './server.ts';

const BUILD = join(import.meta.dirname, '../../console/dist/index.html');

/** Why tests of the console in a browser are skipped; false when they can run. */
export const consoleSkip: string | false =
  browserSkip || (existsSync(BUILD) ? false : 'needs the console: node console/build.mjs');

interface OpenOptions {
  /** Signed in with this key; without it, signed out. */
  readonly key?: string;
  /** Below /console. */
  readonly path?: string;
  /** Of another server on the same database, whose sessions are the same. */
  readonly origin?: string;
  /** Another origin that the page may visit. */
  readonly elsewhere?: string;
  readonly context?: ContextOptions;
}

/** Opens pages, each in a browser of its own unless it is told whose. */
export interface BrowserUser {
  readonly open: (options?: OpenOptions) => Promise<Page>;
  /** Another tab of the same person. */
  readonly tab: (page: Page, path?: string) => Promise<Page>;
}

interface ConsoleKeys {
  readonly admin: string;
  readonly owner: string;
  readonly readWrite: string;
  readonly readOnly: string;
}

export interface Console {
  readonly server: TestServer;
  readonly browser: Browser;
  /** demo/shop */
  readonly shop: TestWorkspace;
  /** Of demo/shop, and the operator's. */
  readonly keys: ConsoleKeys;
  /** A test with pages; afterwards the traps of all of them are looked into, and they are closed. */
  readonly test: (name: string, run: (user: BrowserUser) => Promise<void>) => void;
}

// Limit of one step: pages on a busy machine.
const STEP_MS = 60_000;

/** `isWhole`: in the browser that people have, for what differs there: downloads, dialogs for files. */
type Settings = Readonly<Record<string, string>>;

export function useConsole(env: Settings | (() => Settings) = {}, { isWhole = false } = {}): Console {
  if (consoleSkip !== false) {
    skipSteps();
    const nothing = {} as Console;
    return {
      ...nothing,
      keys: {} as ConsoleKeys,
      test: (name) => void nodeTest(name, { skip: consoleSkip as string }),
    };
  }
  const server = use(
    () => startTestServer({ WDA_SIGN_IN_RATE_LIMIT: '0', ...(typeof env === 'function' ? env() : env) }),
    (started) => started.stop(),
  );
  const shop = use(() => server.workspace('demo/shop', DEMO_SCHEMA));
  prepare(async () => {
    for (const [entity, records] of DEMO_RECORDS) await shop.create(entity, records);
  });
  const browser = useBrowser({ isWhole });
  const keys: ConsoleKeys = {
    admin: ADMIN_KEY,
    get owner() {
      return shop.key;
    },
    get readWrite() {
      return shop.readWriteKey;
    },
    get readOnly() {
      return shop.readOnlyKey;
    },
  };
  return {
    server,
    browser,
    shop,
    keys,
    test: (name, run) =>
      void nodeTest(name, async () => {
        const traps: Trap[] = [];
        const contexts: BrowserContext[] = [];
        const show = async (
          context: BrowserContext,
          path: string,
          origin = server.url,
          elsewhere = origin,
        ): Promise<Page> => {
          const page = await context.newPage();
          page.setDefaultTimeout(STEP_MS);
          traps.push(trapOf(page, [origin, elsewhere]));
          await page.goto(`${origin}/console${path}`);
          return page;
        };
        const open = async ({
          key,
          path = '/',
          origin,
          elsewhere,
          context: options,
        }: OpenOptions = {}): Promise<Page> => {
          const context = await browser.newContext(options);
          contexts.push(context);
          await context.addInitScript(NOTE_VIOLATIONS);
          if (key !== undefined) await giveSession(context, server, key);
          return show(context, path, origin, elsewhere);
        };
        try {
          await run({ open, tab: (page, path = '/') => show(page.context(), path) });
          for (const trap of traps) assert.deepEqual(await trap(), []);
        } finally {
          for (const context of contexts) await context.close();
        }
      }),
  };
}

async function giveSession(context: BrowserContext, server: TestServer, key: string): Promise<void> {
  const { cookie } = await signIn(server, key);
  const [name = '', value = ''] = cookie.split('=');
  await context.addCookies([{ name, value, url: server.url, httpOnly: true, sameSite: 'Strict' }]);
}

const NOTE_VIOLATIONS = `globalThis.__violations = [];
addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI, sample }) =>
  globalThis.__violations.push(['CSP', effectiveDirective, blockedURI, sample].join(' ')));`;

/** Gives what has happened on a page that never must: errors, violations of its policy, requests elsewhere, foreign scripts. */
type Trap = () => Promise<string[]>;

function trapOf(page: Page, origins: readonly string[]): Trap {
  const caught: string[] = [];
  page.on('pageerror', (error) => caught.push(`error: ${error.message}`));
  page.on('request', (request) => {
    const url = request.url();
    if (!origins.some((origin) => url.startsWith(`${origin}/`)) && !/^(?:data|blob|about):/.test(url))
      caught.push(`request elsewhere: ${url}`);
  });
  return async () => {
    const seen = await page.evaluate<string[]>(
      `[...(globalThis.__violations ?? []), ...(globalThis.__x === undefined ? [] : ['a foreign script has run'])]`,
    );
    return [...caught, ...seen];
  };
}
