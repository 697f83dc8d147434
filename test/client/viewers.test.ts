// Viewers of OpenAPI documents in a browser, as the page about them has them: they show every operation, whatever entities
// are called and described as, without a mistake on the console and without a request to anybody else.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { browserSkip, useBrowser } from '../support/browser.ts';
import { prepare, use } from '../support/resources.ts';
import { until } from '../support/wait-until.ts';
import { useDemo } from './demo.ts';

const PACKAGES = join(import.meta.dirname, '../tools/viewers/node_modules');
const skip = browserSkip || (existsSync(PACKAGES) ? false : 'needs npm ci --prefix test/tools/viewers');

interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly summary?: string }>>>>;
}

const TEXT = `document.querySelector('#view').textContent`;

interface Viewer {
  /** A program that gives what the page shows. */
  readonly shown: string;
  /** Which of them it is shown. */
  readonly documents: readonly ('demo' | 'hostile')[];
  /** Operations that it does not show. */
  readonly hides?: RegExp;
  /** An entity with which it shows a part of a long document alone. */
  readonly fails?: string;
  /** A request that it makes whatever it is told; the policy of the page stops it. */
  readonly asks?: string;
}

/** In the order of the page. */
const VIEWERS: Readonly<Record<string, Viewer>> = {
  // A property that every object of JavaScript has.
  'Swagger UI': { documents: ['demo', 'hostile'], shown: TEXT, hides: / constructor$/, fails: 'then' },
  Scalar: { documents: ['demo', 'hostile'], shown: TEXT },
  // Its menu opens too slowly for two of them.
  Redoc: {
    documents: ['demo'],
    asks: 'https://cdn.redoc.ly/redoc/logo-mini-full.svg',
    // It lists the operations of a tag while that is open.
    shown: `(async () => {
      const tags = () => [...document.querySelectorAll('#view a[href^="#/"]')].filter((link) => link.textContent !== '');
      for (const name of new Set(tags().map((link) => link.textContent))) {
        tags().find((link) => link.textContent === name)?.click();
        await new Promise((resolve) => setTimeout(resolve, 100));
        window.seen = (window.seen ?? '') + ${TEXT};
      }
      return window.seen ?? "";
    })()`,
  },
};
const HTML = [
  ...readFileSync(join(import.meta.dirname, '../../docs/clients/viewers.md'), 'utf8').matchAll(
    /^```html\n(.*?)^```/gms,
  ),
].map(([, html]) => html as string);

const HOSTILE =
  '</script><script>window.fooled = true</script> [here](javascript:window.fooled=true) <b onclick="window.fooled=true">b</b> "\'`{{1}} %00';
const NAMES = [
  'orders',
  'Orders',
  'ordersCreate',
  'wda',
  'then',
  'constructor',
  'toString',
  'hasOwnProperty',
  'script',
];
const HOSTILE_SCHEMA = {
  entities: Object.fromEntries(
    NAMES.map((name) => [
      name,
      {
        description: HOSTILE,
        fields: {
          name: { type: 'string', description: HOSTILE },
          constructor: { type: 'string', default: '</script>' },
          prototype: { type: 'enum', values: ['<b>', '{{x}}', '"'] },
          valueOf: { type: 'json' },
        },
      },
    ]),
  ),
};

function withoutEntity(text: string, entity: string | undefined): string {
  const document = JSON.parse(text) as Described;
  const paths = Object.entries(document.paths).filter(([path]) => path.split('/')[1] !== entity);
  return JSON.stringify({ ...document, paths: Object.fromEntries(paths) });
}

const TYPES: Readonly<Record<string, string>> = { '.js': 'text/javascript', '.css': 'text/css' };

if (skip === false) {
  const demo = useDemo({ WDA_CORS_ORIGINS: '*' });
  const hostile = use(() => demo.server.workspace('demo/hostile', HOSTILE_SCHEMA));
  let document = '';

  /** Pages by their numbers, the document, and the files of the packages. */
  const pages = use(
    async (): Promise<Server> => {
      const server = createServer(({ url = '/' }, response) => {
        const page = HTML[Number(url.slice(1))];
        const file = join(PACKAGES, normalize(url));
        if (page !== undefined) {
          const policy = `default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; connect-src 'self' ${demo.server.url}`;
          response.setHeader('content-type', 'text/html; charset=utf-8').setHeader('content-security-policy', policy);
          response.end(`<!doctype html><link rel="icon" href="data:,"><title>viewer</title>${page}`);
        } else if (url === '/document.json') {
          response.setHeader('content-type', 'application/json').end(document);
        } else if (existsSync(file)) {
          response.setHeader('content-type', TYPES[extname(file)] ?? 'text/plain').end(readFileSync(file));
        } else response.writeHead(404).end();
      });
      await new Promise<void>((resolve) => {
        server.listen(0, '127.0.0.1', resolve);
      });
      return server;
    },
    (server) => server.close(),
  );
  const browser = useBrowser();
  const documents: Record<string, string> = {};
  prepare(async () => {
    for (const [name, { call }] of Object.entries({ demo: demo.workspace, hostile })) {
      const { json } = await call('_openapi.json');
      const servers = [{ url: `${demo.server.url}/api/v1/demo/${name === 'demo' ? 'shop' : name}` }];
      documents[name] = JSON.stringify({ ...json, servers });
    }
  });

  /** Opens the page of the viewer, with what it says and asks for from then on. */
  async function open(viewer: string) {
    const page = await browser.newPage();
    const said: string[] = [];
    const asked: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error') said.push(message.text());
    });
    page.on('pageerror', (error) => said.push(String(error)));
    page.on('request', (request) => asked.push(request.url()));
    const origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
    await page.goto(`${origin}/${Object.keys(VIEWERS).indexOf(viewer)}`);
    return { page, said, asked, origin };
  }

  for (const [viewer, { documents: told, shown, hides, fails, asks }] of Object.entries(VIEWERS)) {
    for (const name of told) {
      test(`${viewer} shows every operation: ${name}`, async () => {
        document = withoutEntity(documents[name] as string, fails);
        const { page, said, asked, origin } = await open(viewer);
        const { paths } = JSON.parse(document) as Described;
        const summaries = Object.values(paths)
          .flatMap((item) => Object.values(item).flatMap(({ summary }) => summary ?? []))
          .filter((summary) => hides?.test(summary) !== true);
        assert.ok(summaries.length > 90);
        await until(`${viewer} shows every operation`, async () => {
          const text = await page.evaluate<string>(shown);
          return summaries.every((summary) => text.includes(summary));
        });
        const ours = [origin, demo.server.url, 'data:', 'blob:'];
        const foreign = asked.filter((url) => !ours.some((start) => url.startsWith(start)));
        assert.deepEqual([...new Set(foreign)], asks === undefined ? [] : [asks]);
        assert.deepEqual(
          said.filter((text) => asks === undefined || !text.includes(asks)),
          [],
        );
        assert.equal(await page.evaluate('typeof window.fooled'), 'undefined');
        await page.close();
      });
    }
  }
} else {
  test('viewers of OpenAPI documents', { skip }, () => undefined);
}
