// The packages as npm publishes them: packed, installed in an empty folder without install scripts, and run there by a user
// who may write none of it, as in an image.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
/** Folders of packages, the server first. */
const PACKAGES = ['.', 'client'];
const isRoot = process.getuid?.() === 0;
const skip = process.platform === 'linux' ? false : 'needs setpriv';
// In Debian's list of users; initdb refuses a user without a name.
const NOBODY = 65534;

const manifestOf = (folder: string): { readonly name: string } =>
  JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'));

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

/** Packs one folder into `target`; the packing builds it. */
async function pack(folder: string, target: string): Promise<Packed> {
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', target, `./${folder}`], { cwd: ROOT });
  // The build prints lines before it; npm 12 gives an object by name, earlier ones an array.
  const answer = JSON.parse(stdout.slice(stdout.search(/^[[{]$/m)));
  return Object.values<Packed>(answer)[0] as Packed;
}

/** Installs tarballs in `folder`; false when the registry does not answer. */
async function install(folder: string, tarballs: readonly string[]): Promise<boolean> {
  writeFileSync(join(folder, 'package.json'), '{}');
  const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline', '--fetch-retries=1'];
  try {
    await run('npm', ['install', ...quiet, ...tarballs.map((name) => `./${name}`)], { cwd: folder });
    return true;
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH|ENOTCACHED|SOCKET_TIMEOUT/.test(stderr ?? ''))
      return false;
    throw error;
  }
}

test('wda serves from its package, for a user who owns nothing of it', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'wda-packages-'));
  chmodSync(folder, 0o755);
  const ends: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 })];
  t.after(async () => {
    for (const end of ends.reverse()) await end();
  });

  const packed: Packed[] = [];
  for (const name of PACKAGES) packed.push(await pack(name, folder));
  const contents = packed[0]!.files.map(({ path }) => path);
  assert.deepEqual(
    ['dist/main.js', 'dist/otel.js', 'install/data/000001-base.sql', 'docs/reference/cli.md', 'LICENSE'].filter(
      (path) => !contents.includes(path),
    ),
    [],
  );
  assert.deepEqual(
    contents.filter((path) => /^(?:src|test|bench|examples|client)\//.test(path)),
    [],
  );
  const tarballs = packed.map(({ filename }) => filename);
  if (!(await install(folder, tarballs))) return t.skip('the registry of packages does not answer');

  // The shebang of the command finds this Node, not that of the machine.
  const [bin, data] = [join(folder, 'bin'), join(folder, 'data')];
  mkdirSync(bin);
  copyFileSync(process.execPath, join(bin, 'node'));
  chmodSync(join(bin, 'node'), 0o755);
  mkdirSync(data);
  if (isRoot) chownSync(data, NOBODY, NOBODY);
  const wda = join(folder, 'node_modules/.bin/wda');
  const command = (...words: string[]): [string, string[]] =>
    isRoot ? ['setpriv', [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', wda, ...words]] : [wda, words];
  const env = {
    PATH: `${bin}:${process.env.PATH}`,
    HOME: data,
    DATA_DIR: join(data, 'wda'),
    PORT: '0',
    WDA_WORKERS: '1',
  };

  const help = await run(...command('--help'), { cwd: data, env });
  assert.match(help.stdout, /^Usage: wda /);

  const server = spawn(...command('serve'), { cwd: data, env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<number | null>((resolve) => server.on('exit', resolve));
  const stop = (): Promise<number | null> => {
    server.kill('SIGTERM');
    return ended;
  };
  ends.push(stop);
  const lines: string[] = [];
  const port = await new Promise<number>((resolve, reject) => {
    createInterface({ input: server.stdout }).on('line', (line) => {
      lines.push(line);
      if (line.endsWith('"msg":"ready"}')) resolve(JSON.parse(line).port);
    });
    ended.then(() => reject(new Error(lines.join('\n'))));
  });
  const [adminKey, key] = lines.map((line) => line.trim()).filter((line) => /^wda_\S+$/.test(line));
  assert.ok(
    lines.some((line) => line.includes('/api/v1/demo/shop/')),
    'the start screen shows the demo workspace',
  );

  const url = `http://127.0.0.1:${port}`;
  const answer = await fetch(`${url}/api/v1/demo/shop/customers`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Ada', email: 'first@example.com' }),
  });
  assert.equal(answer.status, 201, await answer.text());
  const health = await run(...command('health', '--ready'), { cwd: data, env: { ...env, PORT: String(port) } });
  assert.match(health.stdout, /\/readyz answers 200\n$/);
  const listed = await run(...command('workspace', 'list', 'demo'), {
    cwd: data,
    env: { ...env, WDA_URL: url, WDA_KEY: adminKey },
  });
  assert.match(listed.stdout, /shop/);

  // Other packages of the project, by the names that programs import.
  for (const name of PACKAGES.slice(1).map((path) => manifestOf(path).name)) {
    const script = `console.log(Object.keys(await import('${name}')).length > 0)`;
    const imported = await run(join(bin, 'node'), ['--input-type=module', '-e', script], { cwd: folder });
    assert.equal(imported.stdout, 'true\n');
  }
  assert.equal(await stop(), 0);
  assert.match(lines.at(-1) ?? '', /"msg":"stopped"}$/);
});
