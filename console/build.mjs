// Builds the console into console/dist. `npm ci` runs it as `prepare`, on whatever Node is there and whether or not the
// packages of development are, so it is plain JavaScript, and without Vite it says so in a line and is content; with --strict
// it is not.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';

const root = fileURLToPath(new URL('.', import.meta.url));
const isStrict = process.argv.includes('--strict');

const dist = join(root, 'dist');
// Built beside the one that is served, and put in its place when it is whole.
const next = join(root, `dist-${process.pid}`);
const previous = join(root, `dist-${process.pid}-previous`);

function leave(reason) {
  rmSync(next, { recursive: true, force: true });
  console.log(`The console is not built: ${reason}. The API works without it; npm run build builds it.`);
  process.exit(isStrict ? 1 : 0);
}

const vite = await import('vite').catch(() => undefined);
if (vite === undefined) leave('Vite is not installed');
try {
  await vite.build({
    root,
    configFile: join(root, 'vite.config.mjs'),
    logLevel: 'warn',
    mode: 'production',
    build: { outDir: next },
  });
} catch (error) {
  leave(error instanceof Error ? error.message : String(error));
}
for (const name of filesBelow(join(next, 'assets'))) {
  if (!/\.(js|css|svg)$/.test(name)) continue;
  const bytes = readFileSync(name);
  const options = { params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } };
  writeFileSync(`${name}.br`, brotliCompressSync(bytes, options));
}
writeFileSync(join(next, 'build-id.txt'), buildId());
if (existsSync(dist)) renameSync(dist, previous);
renameSync(next, dist);
rmSync(previous, { recursive: true, force: true });
console.log('The console is built.');

function filesBelow(folder) {
  return existsSync(folder) ? readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name))) : [];
}

/** Hash of the sources of the console: the server compares it at its start. */
function buildId() {
  const hash = createHash('sha256');
  const names = filesBelow(join(root, 'src'))
    .filter((name) => /\.(tsx?|css)$/.test(name))
    .sort();
  for (const name of [...names, join(root, 'index.html'), join(root, 'package.json')]) hash.update(readFileSync(name));
  return hash.digest('hex');
}
