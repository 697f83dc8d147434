// The deployment page and its examples against the code: settings, metrics, limits and files that they name are there.
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseDocument } from 'yaml';
import { readConfig, SETTINGS } from '../../../src/config.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const EXAMPLES = 'examples/deployment';
const page = read('docs/deployment.md');
const nginx = read(`${EXAMPLES}/nginx.conf`);
const SOURCES = globSync('src/**/*.ts', { cwd: ROOT }).map(read).join('\n');

test('the settings that page and examples name are settings', () => {
  const texts = [page, ...globSync(`${EXAMPLES}/*`, { cwd: ROOT }).map(read)];
  const named = new Set(
    texts.flatMap((text) => text.match(/\bWDA_[A-Z_]+|\bDATA_DIR|\bDATABASE_URL|\bPUBLIC_URL/g) ?? []),
  );
  const known = new Set(SETTINGS.map(({ name }) => name));
  assert.ok(named.size > 10);
  assert.deepEqual(
    [...named].filter((name) => !known.has(name)),
    [],
  );
});

test('the metrics that the page names are registered, and all that are registered are on the page', () => {
  const onPage = new Set(
    page.match(/\bwda_[a-z_]+(?=[`{])/g)?.filter((name) => !['wda_app', 'wda_restored'].includes(name)),
  );
  const registered = new Set([...SOURCES.matchAll(/name: '(wda_[a-z_]+)'/g)].map(([, name = '']) => name));
  assert.ok(registered.size > 8);
  assert.deepEqual([...onPage].sort(), [...registered].sort());
});

test('the numbers of nginx.conf are those of the server', () => {
  const config = readConfig({});
  const mib = 1_048_576;
  assert.match(nginx, new RegExp(`client_max_body_size ${config.maxBulkBytes / mib}m;`));
  assert.match(nginx, new RegExp(`client_max_body_size ${config.maxImportBytes / (1024 * mib)}g;`));
  assert.match(nginx, new RegExp(`proxy_read_timeout ${config.transferTimeoutMs / 3_600_000}h;`));
  const seconds = (name: string): number => Number(new RegExp(`${name} (\\d+)s;`).exec(nginx)?.[1]);
  assert.ok(seconds('proxy_read_timeout') > config.statementTimeoutMs / 1000);
  const idle = Number(/keepAliveTimeout: ([\d_]+)/.exec(SOURCES)?.[1]?.replaceAll('_', ''));
  assert.ok(seconds('keepalive_timeout') * 1000 < idle, `the server closes idle connections after ${idle} ms`);
});

test('the image has what the server is started with', () => {
  const dockerfile = read(`${EXAMPLES}/Dockerfile`);
  const copied = [...dockerfile.matchAll(/^COPY (.+) \S+$/gm)].flatMap(([, files = '']) => files.split(' '));
  const allowed = read(`${EXAMPLES}/Dockerfile.dockerignore`).match(/(?<=^!).+/gm) ?? [];
  assert.deepEqual([...copied].sort(), [...allowed].sort());
  for (const file of copied) assert.ok(existsSync(join(ROOT, file)), file);
  const start = (JSON.parse(read('package.json')) as { scripts: { start: string } }).scripts.start.replace('exec ', '');
  const command = /^CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? '[]';
  assert.equal((JSON.parse(command) as string[]).join(' '), start);
  assert.ok(read(`${EXAMPLES}/workspace-data-api.service`).includes(`ExecStart=/usr/bin/${start}\n`));
});

test('compose.yaml is YAML, and its image is the Dockerfile of the example', () => {
  const document = parseDocument(read(`${EXAMPLES}/compose.yaml`));
  assert.deepEqual(document.errors, []);
  assert.equal(document.getIn(['services', 'api', 'build', 'dockerfile']), `${EXAMPLES}/Dockerfile`);
});

test('the connections that page and operations count are those of the defaults', () => {
  const most = (WDA_WORKERS: string): number => {
    const config = readConfig({ DATABASE_URL: 'postgres://wda@localhost/wda', WDA_WORKERS });
    const { readConnections, writeConnections, slowConnections, transferConnections, batchConnections } = config;
    // Control tables 2, cancels 1, migrations 4, listening 1.
    return (
      config.workers *
      (readConnections + writeConnections + slowConnections + transferConnections + batchConnections + 8)
    );
  };
  const words = page.replaceAll(/\s+/g, ' ');
  assert.ok(
    words.includes(`at most ${most('1')} for one process, and ${most('4')} for four workers`),
    `${most('1')} ${most('4')}`,
  );
  assert.ok(
    read('docs/operations/running.md')
      .replaceAll(/\s+/g, ' ')
      .includes(`(${most('1')} by default)`),
  );
});
