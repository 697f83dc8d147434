// Files of a build (the console, the site of the documentation): listed once, so that no path of a request reaches the file
// system, and sent compressed where the build has that too.
import { existsSync, readdirSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { Reply } from '../response/reply.ts';

export interface BuiltFile {
  readonly bytes: Buffer;
  /** True where the bytes are compressed with brotli. */
  readonly isCompressed: boolean;
  /** True where the build has both forms of the file. */
  readonly hasBrotli: boolean;
  /** Strong entity tag, without quotes. */
  readonly tag?: string;
}

export const HTML = 'text/html; charset=utf-8';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': HTML,
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
};

/**
 * Lists the files of a build that may be sent: relative path -> whether there is a file with `.br` after its name. Undefined
 * if there is no build.
 */
export function listBuild(folder: string): ReadonlyMap<string, boolean> | undefined {
  if (!existsSync(join(folder, 'index.html'))) return undefined;
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll('\\', '/'),
    );
  const compressed = new Set(names.filter((name) => name.endsWith('.br')));
  return new Map(
    names.filter((name) => extname(name) in TYPES).map((name) => [name, compressed.has(`${name}.br`)] as const),
  );
}

/** Creates the reply of a file. Names below `assets/` contain a hash of the content. */
export function makeFileReply(
  name: string,
  { bytes, isCompressed, hasBrotli, tag }: BuiltFile,
  headers: Readonly<Record<string, string>> = {},
): Reply {
  return {
    status: 200,
    headers: {
      'Cache-Control': /(?:^|\/)assets\//.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache',
      ...(hasBrotli ? { Vary: 'Accept-Encoding' } : {}),
      ...(isCompressed ? { 'Content-Encoding': 'br' } : {}),
      ...(tag === undefined ? {} : { ETag: `"${tag}"` }),
      ...headers,
    },
    body: { kind: 'bytes', contentType: TYPES[extname(name)] as string, bytes },
  };
}
