// Detects a build of the console that is older than its sources: in a clone these may have changed since.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Compares the ID of the build with that of the sources. False where either is missing. */
export function isStaleBuild(folder: string): boolean {
  const buildId = join(folder, 'dist/build-id.txt');
  return (
    existsSync(join(folder, 'src')) &&
    existsSync(buildId) &&
    readFileSync(buildId, 'utf8').trim() !== computeBuildId(folder)
  );
}

/** Hash of the sources, computed as build.mjs of the console does. */
export function computeBuildId(folder: string): string {
  const hash = createHash('sha256');
  const names = readdirSync(join(folder, 'src'), { recursive: true })
    .map((name) => join(folder, 'src', String(name)))
    .filter((name) => /\.(tsx?|css)$/.test(name))
    .sort();
  const files = [...names, join(folder, 'index.html'), join(folder, 'package.json')];
  for (const name of files) hash.update(readFileSync(name));
  return hash.digest('hex');
}
