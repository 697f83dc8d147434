// A Chromium of Debian's, driven by playwright-core, which is not among the packages of the project: what the tests use of it is
// described here.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { use } from './resources.ts';

const TOOLS = join(import.meta.dirname, '../tools/browser');
const SHELL = '/usr/lib/chromium/chromium-headless-shell';
const WHOLE = '/usr/lib/chromium/chromium';
// Chromium's part without windows does the same pages with half of the processors' time: 11 s in place of 25 s for the tests of
// finding.test.ts. WDA_TEST_CHROMIUM chooses another.
const CHROMIUM = process.env.WDA_TEST_CHROMIUM ?? (existsSync(SHELL) ? SHELL : WHOLE);

/** Why tests with a browser are skipped; false when they can run. */
export const browserSkip: string | false =
  existsSync(join(TOOLS, 'node_modules')) && existsSync(CHROMIUM)
    ? false
    : 'needs Chromium (apt-get install chromium-headless-shell, or WDA_TEST_CHROMIUM) and npm ci --prefix test/tools/browser';

type Text = string | RegExp;

interface RoleOptions {
  readonly name?: Text;
  readonly exact?: boolean;
  readonly level?: number;
  readonly selected?: boolean;
}

interface Timeout {
  readonly timeout?: number;
}

/** Finds elements; of both pages and elements. */
interface Finder {
  getByRole(role: string, options?: RoleOptions): Locator;
  getByText(text: Text, options?: { readonly exact?: boolean }): Locator;
  getByLabel(text: Text, options?: { readonly exact?: boolean }): Locator;
  locator(selector: string): Locator;
}

interface Locator extends Finder {
  click(options?: Timeout & { readonly button?: 'right'; readonly modifiers?: readonly string[] }): Promise<void>;
  dblclick(options?: Timeout): Promise<void>;
  fill(text: string, options?: Timeout): Promise<void>;
  press(key: string, options?: Timeout): Promise<void>;
  focus(options?: Timeout): Promise<void>;
  hover(options?: Timeout): Promise<void>;
  check(options?: Timeout): Promise<void>;
  selectOption(value: string | readonly string[]): Promise<unknown>;
  setInputFiles(
    files: string | { readonly name: string; readonly mimeType: string; readonly buffer: Buffer },
  ): Promise<void>;
  waitFor(options?: Timeout & { readonly state?: 'attached' | 'detached' | 'visible' | 'hidden' }): Promise<void>;
  count(): Promise<number>;
  first(): Locator;
  nth(index: number): Locator;
  dragTo(target: Locator): Promise<void>;
  filter(options: { readonly hasText?: Text; readonly has?: Locator; readonly hasNotText?: Text }): Locator;
  textContent(options?: Timeout): Promise<string | null>;
  innerText(options?: Timeout): Promise<string>;
  allTextContents(): Promise<string[]>;
  inputValue(options?: Timeout): Promise<string>;
  getAttribute(name: string, options?: Timeout): Promise<string | null>;
  isVisible(): Promise<boolean>;
  isEnabled(options?: Timeout): Promise<boolean>;
  isChecked(options?: Timeout): Promise<boolean>;
  boundingBox(): Promise<{ x: number; y: number; width: number; height: number } | null>;
  /** `run` becomes text, and runs on the page. */
  // biome-ignore lint/suspicious/noExplicitAny: types of the page are not among those of the project
  evaluate<T>(run: (element: any) => T): Promise<Awaited<T>>;
}

interface WebRequest {
  url(): string;
  /** `fetch` of a request of the page's own code. */
  resourceType(): string;
  method(): string;
  postData(): string | null;
  headers(): Readonly<Record<string, string>>;
}

interface WebResponse {
  status(): number;
  headers(): Readonly<Record<string, string>>;
  request(): WebRequest;
  url(): string;
}

interface WebRoute {
  request(): WebRequest;
  continue(): Promise<void>;
  /** Lets the request through, and keeps its answer from the page. */
  fetch(): Promise<{ status(): number }>;
  abort(): Promise<void>;
  fulfill(answer: {
    readonly status?: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly contentType?: string;
    readonly body?: string;
  }): Promise<void>;
}

export interface Download {
  suggestedFilename(): string;
  path(): Promise<string>;
}

export interface Page extends Finder {
  readonly keyboard: {
    press(key: string): Promise<void>;
    type(text: string): Promise<void>;
  };
  goto(url: string, options?: Timeout): Promise<WebResponse | null>;
  reload(): Promise<WebResponse | null>;
  goBack(): Promise<unknown>;
  goForward(): Promise<unknown>;
  url(): string;
  title(): Promise<string>;
  content(): Promise<string>;
  /** A program of the page: text, as what TypeScript knows here is not what the page knows. */
  evaluate<T>(program: string): Promise<T>;
  waitForURL(url: Text | ((url: URL) => boolean), options?: Timeout): Promise<void>;
  /** `networkidle`: no request for half a second. */
  waitForLoadState(state: 'networkidle'): Promise<void>;
  waitForRequest(what: string | RegExp | ((request: WebRequest) => boolean), options?: Timeout): Promise<WebRequest>;
  waitForResponse(
    what: string | RegExp | ((response: WebResponse) => boolean),
    options?: Timeout,
  ): Promise<WebResponse>;
  waitForEvent(name: 'download', options?: Timeout): Promise<Download>;
  route(url: string | RegExp, handler: (route: WebRoute) => unknown): Promise<void>;
  setViewportSize(size: { readonly width: number; readonly height: number }): Promise<void>;
  emulateMedia(options: Pick<ContextOptions, 'colorScheme'>): Promise<void>;
  screenshot(options: { readonly path: string; readonly fullPage?: boolean }): Promise<unknown>;
  setDefaultTimeout(milliseconds: number): void;
  on(event: 'pageerror', listener: (error: Error) => void): void;
  on(event: 'console', listener: (message: { type(): string; text(): string }) => void): void;
  on(event: 'request', listener: (request: WebRequest) => void): void;
  on(event: 'response', listener: (response: WebResponse) => void): void;
  on(
    event: 'dialog',
    listener: (dialog: { accept(text?: string): Promise<void>; dismiss(): Promise<void> }) => void,
  ): void;
  context(): BrowserContext;
  close(): Promise<void>;
}

export interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly httpOnly: boolean;
  readonly sameSite: 'Strict' | 'Lax' | 'None';
}

export interface BrowserContext {
  newPage(): Promise<Page>;
  cookies(): Promise<Cookie[]>;
  addCookies(
    cookies: readonly (Partial<Cookie> & { readonly name: string; readonly value: string; readonly url: string })[],
  ): Promise<void>;
  addInitScript(program: string): Promise<void>;
  setOffline(isOffline: boolean): Promise<void>;
  close(): Promise<void>;
}

export interface ContextOptions {
  readonly locale?: string;
  readonly timezoneId?: string;
  readonly colorScheme?: 'light' | 'dark';
  readonly reducedMotion?: 'reduce' | 'no-preference';
  readonly viewport?: { readonly width: number; readonly height: number };
  readonly permissions?: readonly string[];
}

export interface Browser {
  newContext(options?: ContextOptions): Promise<BrowserContext>;
  newPage(): Promise<Page>;
  close(): Promise<void>;
}

/** A name of this machine that browsers do not trust as they trust localhost: over http it is no secure context. */
export const PLAIN_HOST = 'plain.test';

/** A browser for the tests of a file, the whole one that people have where it is installed; only where `browserSkip` is false. */
export function useBrowser({ isWhole = false } = {}): Browser {
  return use(
    () => {
      const { chromium } = createRequire(join(TOOLS, 'package.json'))('playwright-core');
      const executablePath = isWhole && existsSync(WHOLE) ? WHOLE : CHROMIUM;
      // Chromium's sandbox does not start for root.
      const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
      const args = [...sandbox, `--host-resolver-rules=MAP ${PLAIN_HOST} 127.0.0.1`];
      return chromium.launch({ executablePath, args }) as Promise<Browser>;
    },
    (opened) => opened.close(),
  );
}

const AXE_TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

/** Rules about colours, which alone can differ between the light page and the dark one. */
export const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];

/**
 * Returns what axe finds wrong with the page by WCAG 2.2, levels A and AA, or by these rules alone: a line for each, with the
 * first element.
 */
export async function violationsOf(page: Page, rules: readonly string[] | undefined = undefined): Promise<string[]> {
  // Given to the page by the debugger: its own policy lets no foreign script in.
  await page.evaluate(readFileSync(join(TOOLS, 'node_modules/axe-core/axe.min.js'), 'utf8'));
  // Without lists of what is right, which take longer than all else.
  const options = JSON.stringify({ runOnly: rules ?? AXE_TAGS, resultTypes: ['violations'] });
  const program = `axe.run(document, ${options}).then(({ violations }) =>
    violations.map(({ id, help, nodes }) => id + ': ' + help + ' at ' + nodes[0].html.slice(0, 200)))`;
  return page.evaluate<string[]>(program);
}
