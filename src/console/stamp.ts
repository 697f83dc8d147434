// Whether the build of the console is of the sources beside it: in a clone somebody may have changed them since.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** True when the sources in the folder of the console have another stamp than its build. False where either is missing. */
export function isStale(folder: string): boolean {
  const stamp = join(folder, 'dist/stamp.txt');
  return existsSync(join(folder, 'src')) && existsSync(stamp) && readFileSync(stamp, 'utf8').trim() !== stampOf(folder);
}

/** As build.mjs of the console makes it. */
export function stampOf(folder: string): string {
  const hash = createHash('sha256');
  const names = readdirSync(join(folder, 'src'), { recursive: true })
    .map((name) => join(folder, 'src', String(name)))
    .filter((name) => /\.(tsx?|css)$/.test(name))
    .sort();
  const files = [...names, join(folder, 'index.html'), join(folder, 'package.json')];
  for (const name of files) hash.update(readFileSync(name));
  return hash.digest('hex');
}
