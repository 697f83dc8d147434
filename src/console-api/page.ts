// Serves the console's page: the files of its build, read once into memory, so that no path of a request reaches the
// file system.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { methodNotAllowed, notFound } from '../errors.ts';
import { HTML, listBuild, makeFileReply } from '../http/built-files.ts';
import { DEFAULT_ERROR_HANDLING, isAt, type Mount } from '../http/router.ts';
import { acceptsBrotli } from '../response/content-coding.ts';
import type { Reply } from '../response/reply.ts';

interface ConsoleFile {
  readonly bytes: Buffer;
  readonly brotli: Buffer | undefined;
}

/** Reads the files of a build by their relative paths, or returns undefined if there is no build. */
export function readBuild(folder: string): ReadonlyMap<string, ConsoleFile> | undefined {
  const names = listBuild(folder);
  if (names === undefined) return undefined;
  const read = (name: string): Buffer => readFileSync(join(folder, name));
  return new Map(
    [...names].map(([name, hasBrotli]) => [
      name,
      { bytes: read(name), brotli: hasBrotli ? read(`${name}.br`) : undefined },
    ]),
  );
}

const INDEX = 'index.html';
const PAGE = '/console/';
const NONCE = '__WDA_NONCE__';
const PROVIDER = '__WDA_SIGN_IN__';
const METHODS = ['GET', 'HEAD'];

const OFF = ['accelerometer', 'camera', 'display-capture', 'geolocation', 'gyroscope', 'hid', 'magnetometer'];
const OFF_TOO = ['microphone', 'midi', 'payment', 'publickey-credentials-get', 'serial', 'usb', 'xr-spatial-tracking'];

/** Headers of the page (CSP level 3): only our scripts run, requests go to our origin only, framing is forbidden. */
const buildPageHeaders = (nonce: string): Readonly<Record<string, string>> => ({
  'Cache-Control': 'no-cache',
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types default',
  ].join('; '),
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Permissions-Policy': [...[...OFF, ...OFF_TOO].map((name) => `${name}=()`), 'clipboard-write=(self)'].join(', '),
});

/** Escapes text for HTML and its attributes. */
export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

const UNBUILT = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>The console is not built</title>
<h1>The console is not built</h1>
<p>Run <code>npm run build</code> and start the server again. The API works without it.</p>
</html>
`;

/**
 * Creates the mount of /console/ without the proxy. `build`: files, or undefined if there is no build. `providerName`: name of
 * the OpenID provider that people sign in with, or undefined without one.
 */
export function makePageMount(build: ReadonlyMap<string, ConsoleFile> | undefined, providerName = ''): Mount {
  const page = build?.get(INDEX)?.bytes.toString('utf8') ?? UNBUILT;
  const index = page.replaceAll(PROVIDER, escapeHtml(providerName));
  return {
    ...DEFAULT_ERROR_HANDLING,
    ownHeaders: ['X-Content-Type-Options', 'nosniff', 'Cross-Origin-Resource-Policy', 'same-origin'],
    readyFirst: false,
    operations: [],
    matches: (url) => url.startsWith(PAGE) || isAt(url, '/console'),
    getOperationName: () => 'console',
    async handle({ method, path, headers }) {
      if (!METHODS.includes(method)) throw methodNotAllowed(method, METHODS);
      if (!path.startsWith(PAGE)) return makeRedirect(PAGE);
      const name = path.slice(PAGE.length);
      const file = name === INDEX ? undefined : build?.get(name);
      if (file !== undefined) return chooseForm(name, file, headers['accept-encoding']);
      if (/\.[^/]*$/.test(name) && name !== INDEX)
        throw notFound('PATH_NOT_FOUND', `There is nothing at ${path.slice(0, 200)}`);
      const nonce = randomBytes(16).toString('base64url');
      return {
        status: build === undefined ? 503 : 200,
        headers: buildPageHeaders(nonce),
        body: { kind: 'text', contentType: HTML, text: index.replaceAll(NONCE, nonce) },
      };
    },
  };
}

/** Creates the mount of `/` for people: redirects browsers to the console, passes other clients to the API's index. */
export function makeFrontMount(index: Mount): Mount {
  return {
    ...index,
    // Described by the other mount.
    operations: [],
    matches: (url) => url === '/' || url.startsWith('/?'),
    async handle(raw) {
      const isBrowser = METHODS.includes(raw.method) && /\btext\/html\b/i.test(raw.headers.accept ?? '');
      return isBrowser ? makeRedirect(PAGE) : index.handle(raw);
    },
  };
}

const makeRedirect = (location: string): Reply => ({
  status: 302,
  headers: { Location: location, Vary: 'Accept' },
  body: { kind: 'empty' },
});

function chooseForm(name: string, { bytes, brotli }: ConsoleFile, accepted: string | undefined): Reply {
  const hasBrotli = brotli !== undefined;
  const isCompressed = hasBrotli && acceptsBrotli(accepted);
  return makeFileReply(name, { bytes: isCompressed ? brotli : bytes, isCompressed, hasBrotli });
}
