// The deployment page and deploy/ against the code: settings, metrics, limits, paths and files that they name are there.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { readConfig } from '../../../src/config.ts';
import { SETTINGS } from '../../../src/setting-list.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const DEPLOY = 'deploy';
const page = read('docs/deployment.md');
const nginx = read(`${DEPLOY}/nginx.conf`);
const SOURCES = globSync('src/**/*.ts', { cwd: ROOT }).map(read).join('\n');

test('the settings that page and examples name are settings', () => {
  const texts = [page, ...globSync(`${DEPLOY}/*`, { cwd: ROOT }).map(read)];
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
  const registered = new Set(
    [...SOURCES.matchAll(/(?:name: |toMetric\()'(wda_[a-z_]+)'/g)].map(([, name = '']) => name),
  );
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

const dockerfile = read(`${DEPLOY}/Dockerfile`);
const manifest = JSON.parse(read('package.json'));
/** What npm start runs, of the package. */
const start = manifest.scripts.start.replace(/^exec /, '').replace('src/main.ts', manifest.bin.wda);
const port = readConfig({}).port;

test('the image is made of files that are there, and runs what npm start runs', () => {
  const copied = [...dockerfile.matchAll(/^COPY (?!--)(.+) \S+$/gm)].flatMap(([, files = '']) => files.split(' '));
  const allowed = read(`${DEPLOY}/Dockerfile.dockerignore`).match(/(?<=^!).+/gm) ?? [];
  assert.deepEqual([...new Set(copied)].sort(), [...allowed].sort());
  for (const file of copied) assert.ok(existsSync(join(ROOT, file)), file);
  for (const [, script = ''] of dockerfile.matchAll(/npm run (\S+)/g)) assert.ok(script in manifest.scripts, script);
  const command = (before: string): string =>
    JSON.parse(new RegExp(`^${before}CMD (.*)$`, 'm').exec(dockerfile)?.[1] ?? '[]').join(' ');
  assert.equal(command(''), start);
  assert.equal(command('HEALTHCHECK .* '), `node ${manifest.bin.wda} health`);
  assert.match(dockerfile, new RegExp(`^EXPOSE ${port}$`, 'm'));
  assert.match(dockerfile, new RegExp(`^ENV HOST=0.0.0.0 PORT=${port} DATA_DIR=/data `, 'm'));
  assert.match(dockerfile, /^VOLUME \/data$/m);
});

test('compose.yaml has a profile for each database, and both run the image of the Dockerfile', () => {
  const { services, volumes } = parse(read(`${DEPLOY}/compose.yaml`), { merge: true });
  for (const name of ['api', 'embedded']) {
    assert.equal(join(DEPLOY, services[name].build.context, services[name].build.dockerfile), `${DEPLOY}/Dockerfile`);
    assert.deepEqual(services[name].ports, [`127.0.0.1:${port}:${port}`]);
    assert.equal('DATABASE_URL' in services[name].environment, name === 'api');
    assert.equal(services[name].environment.WDA_DEMO, 'off');
    const cors = SETTINGS.find((setting) => setting.name === 'WDA_CORS_ORIGINS');
    assert.equal(services[name].environment.WDA_CORS_ORIGINS, `\${WDA_CORS_ORIGINS-${cors?.default}}`);
  }
  assert.deepEqual(services.embedded.volumes, ['data:/data']);
  assert.deepEqual(
    ['api', 'database', 'embedded'].map((name) => services[name].profiles),
    [['postgres'], ['postgres'], ['embedded']],
  );
  assert.deepEqual(Object.keys(volumes), ['records', 'data']);
});

test('kubernetes.yaml has the user, the port and the paths of the server', () => {
  const documents = parseAllDocuments(read(`${DEPLOY}/kubernetes.yaml`)).map((document) => document.toJS());
  assert.deepEqual(
    documents.map(({ kind }) => kind),
    ['Deployment', 'Service', 'PodDisruptionBudget'],
  );
  const { spec } = documents[0].spec.template;
  assert.match(dockerfile, new RegExp(`^USER ${spec.securityContext.runAsUser}$`, 'm'));
  const [server] = spec.containers;
  assert.equal(server.ports[0].containerPort, port);
  const paths = ['startupProbe', 'livenessProbe', 'readinessProbe'].map((probe) => server[probe].httpGet.path);
  assert.deepEqual(paths, ['/healthz', '/healthz', '/readyz']);
  const known = SETTINGS.map(({ name }) => name);
  assert.deepEqual(
    server.env.map(({ name }: { name: string }) => name).filter((name: string) => !known.includes(name)),
    [],
  );
  const labels = documents[0].spec.selector.matchLabels;
  assert.deepEqual([documents[0].spec.template.metadata.labels, documents[1].spec.selector], [labels, labels]);
  assert.deepEqual(documents[2].spec.selector.matchLabels, labels);
});

test('the unit starts the package of the page, and systemd understands it', (t) => {
  const unit = read(`${DEPLOY}/wda.service`);
  const [folder = ''] = /(?<=npm install --prefix )\S+/.exec(page) ?? [];
  const installed = join(folder, 'node_modules', manifest.name);
  assert.ok(unit.includes(`ExecStart=/usr/bin/${start.replace('dist/', `${installed}/dist/`)}\n`));
  assert.match(unit, /^Environment=.*\bWDA_DEMO=off$/m);
  for (const [, file = ''] of unit.matchAll(new RegExp(`${installed}/(\\S+\\.md)`, 'g')))
    assert.ok(existsSync(join(ROOT, file)));
  assert.ok(page.includes(/(?<=EnvironmentFile=)\S+/.exec(unit)?.[0] ?? '-'));

  // The paths of programs are those of another machine.
  const here = mkdtempSync(join(tmpdir(), 'wda-unit-'));
  t.after(() => rmSync(here, { recursive: true }));
  const file = join(here, 'wda.service');
  writeFileSync(file, unit.replace('/usr/bin/node', process.execPath));
  const { error, status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' });
  if (error !== undefined) return t.skip('there is no systemd-analyze');
  assert.equal(status, 0, stderr);
  assert.doesNotMatch(stderr, /wda\.service/);
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

test('the backup of an embedded database has its files, also where systemd makes its folder a link', (t) => {
  const here = mkdtempSync(join(tmpdir(), 'wda-backup-'));
  t.after(() => rmSync(here, { recursive: true }));
  mkdirSync(join(here, 'private/wda/postgres'), { recursive: true });
  writeFileSync(join(here, 'private/wda/postgres/PG_VERSION'), '18\n');
  symlinkSync('private/wda', join(here, 'wda'));
  const steps = [...page.matchAll(/^.*\btar -[cx]zf [^#\n]*/gm)].map(([line]) => line.replaceAll('/var/lib', here));
  assert.equal(steps.length, 2);
  const [keep = '', restore = ''] = steps;
  const elsewhere = restore.replaceAll(here, join(here, 'restored'));
  const { status, stderr } = spawnSync('sh', ['-ec', `${keep}\n${elsewhere}`], { cwd: here, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  assert.equal(readFileSync(join(here, 'restored/wda/postgres/PG_VERSION'), 'utf8'), '18\n');
});

test('the jobs that the alerts ask for are those of prometheus.yaml', () => {
  const named = new Set([...read(`${DEPLOY}/alerts.yaml`).matchAll(/job="([^"]+)"/g)].map(([, job]) => job));
  const jobs = parse(read(`${DEPLOY}/prometheus.yaml`)).scrape_configs.map((job: { job_name: string }) => job.job_name);
  assert.ok(named.size > 0);
  assert.deepEqual(
    [...named].filter((job) => !jobs.includes(job)),
    [],
  );
});
