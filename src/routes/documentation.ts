// Serves the site of the documentation below /docs, where it was built. A file is read at its first request and stays in
// memory, which is bounded by the size of the build.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { methodNotAllowed, notFound } from '../errors.ts';
import { type BuiltFile, listBuild, makeFileReply } from '../http/built-files.ts';
import { DEFAULT_ERROR_HANDLING, isAt, type Mount } from '../http/router.ts';
import { matches, parseEntityTags } from '../request/conditions.ts';
import { acceptsBrotli } from '../response/content-coding.ts';
import type { Reply } from '../response/reply.ts';

const SITE = '/docs/';
const METHODS = ['GET', 'HEAD'];

/**
 * Headers of its pages. Styles in elements are those of highlighted code and of the viewer of OpenAPI documents; scripts
 * come from files alone.
 */
const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
};

/** Creates the mount of the site that was built in the folder. */
export function makeDocumentationMount(folder: string): Mount {
  const names = listBuild(folder);
  const files = new Map<string, Promise<BuiltFile>>();
  const read = (name: string, accepted: string | undefined): Promise<BuiltFile> => {
    const hasBrotli = names?.get(name) === true;
    const isCompressed = hasBrotli && acceptsBrotli(accepted);
    const path = join(folder, isCompressed ? `${name}.br` : name);
    const cached = files.get(path);
    if (cached !== undefined) return cached;
    const file = readFile(path).then(
      (bytes) => ({ bytes, isCompressed, hasBrotli, tag: computeTag(bytes) }),
      (error: NodeJS.ErrnoException) => {
        files.delete(path);
        throw error.code === 'ENOENT' ? builtAgain() : error;
      },
    );
    files.set(path, file);
    return file;
  };
  return {
    ...DEFAULT_ERROR_HANDLING,
    ownHeaders: ['X-Content-Type-Options', 'nosniff', 'Cross-Origin-Resource-Policy', 'same-origin'],
    readyFirst: false,
    operations: [],
    matches: (url) => url.startsWith(SITE) || isAt(url, '/docs'),
    getOperationName: () => 'documentation',
    async handle({ method, path, headers }) {
      if (!METHODS.includes(method)) throw methodNotAllowed(method, METHODS);
      if (names === undefined)
        throw notFound(
          'PATH_NOT_FOUND',
          'The documentation is not built: run `npm run docs`, and start the server again',
        );
      if (!path.startsWith(SITE)) return { status: 302, headers: { Location: SITE }, body: { kind: 'empty' } };
      const name = findName(names, path.slice(SITE.length));
      const isBrowser = /\btext\/html\b/i.test(headers.accept ?? '');
      if (name === undefined && !(isBrowser && names.has(MISSING)))
        throw notFound('PATH_NOT_FOUND', `There is nothing at ${path.slice(0, 200)}`);
      const file = name ?? MISSING;
      const own = file.endsWith('.html') ? PAGE_HEADERS : {};
      const reply = makeFileReply(file, await read(file, headers['accept-encoding']), own);
      return name === undefined ? { ...reply, status: 404 } : withoutBodyIfCurrent(reply, headers['if-none-match']);
    },
  };
}

const builtAgain = (): Error => notFound('PATH_NOT_FOUND', 'The documentation was built again: start the server again');

/** Page for addresses without one, as VitePress names it. */
const MISSING = '404.html';

/** A page may be named without its ending, and a folder means its index. */
const findName = (names: ReadonlyMap<string, boolean>, path: string): string | undefined =>
  [path, `${path}.html`, `${path.replace(/\/$/, '')}/index.html`.replace(/^\//, '')].find((name) => names.has(name));

const computeTag = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('base64url').slice(0, 22);

function withoutBodyIfCurrent(reply: Reply, ifNoneMatch: string | undefined): Reply {
  const tag = reply.headers.ETag?.slice(1, -1);
  if (ifNoneMatch === undefined || tag === undefined || !matches(parseEntityTags(ifNoneMatch), tag)) return reply;
  const { 'Content-Encoding': _, ...headers } = reply.headers;
  return { status: 304, headers, body: { kind: 'empty' } };
}
