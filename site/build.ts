// Builds the site of the documentation into site/dist, which the server serves below /docs: `npm run docs`. With --watch it
// serves the pages while they are written; with --tags v0.1.0,v0.2.0 the sites of these versions are built too, each with the
// tools of its tag, in folders of the same site. What it needs is installed first, as lockfile and folder differ.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { writeApiPages } from './api.ts';
import { finishSite } from './finish.ts';
import { ROOT, writePages } from './pages.ts';

const SITE = import.meta.dirname;
const PAGES = join(SITE, '.pages');
const VITEPRESS = join(SITE, 'node_modules/vitepress/bin/vitepress.js');

/** Installs the packages of the site where they are missing or older than the lockfile. */
function installTools(): void {
  const lockfile = join(SITE, 'package-lock.json');
  const installed = join(SITE, 'node_modules/.package-lock.json');
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lockfile).mtimeMs) return;
  console.log('Installing what the site needs (some 130 MB, in site/node_modules).');
  execFileSync('npm', ['ci', '--silent', '--prefix', SITE], { stdio: 'inherit', shell: process.platform === 'win32' });
}

interface Target {
  readonly out: string;
  readonly base: string;
  readonly versions: readonly string[];
}

const environment = ({ base, versions }: Omit<Target, 'out'>): NodeJS.ProcessEnv => ({
  ...process.env,
  DOCS_BASE: base,
  DOCS_VERSION: JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version,
  DOCS_VERSIONS: JSON.stringify(versions),
});

/** Builds the site in a new folder, and moves it to its place when it is complete. */
function build(target: Target, tags: readonly string[]): void {
  const { out, base } = target;
  const next = `${out}-${process.pid}`;
  const previous = `${next}-previous`;
  rmSync(PAGES, { recursive: true, force: true });
  try {
    writePages(PAGES);
    writeApiPages(join(PAGES, 'public'), base);
    const options = ['build', SITE, '--outDir', next, '--base', base];
    execFileSync(process.execPath, [VITEPRESS, ...options], {
      env: environment(target),
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    for (const tag of tags) buildTag(tag, join(next, tag));
    finishSite(next, base);
    if (existsSync(out)) renameSync(out, previous);
    renameSync(next, out);
  } finally {
    for (const folder of [next, previous]) rmSync(folder, { recursive: true, force: true });
  }
}

/** Builds the site of a tag in a work tree of its own. */
function buildTag(tag: string, out: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'docs-'));
  const git = (...words: string[]): void => void execFileSync('git', words, { cwd: ROOT, stdio: 'inherit' });
  git('worktree', 'add', '--detach', '--force', folder, tag);
  try {
    execFileSync('npm', ['ci', '--silent', '--ignore-scripts', '--prefix', folder], { stdio: 'inherit' });
    const options = ['--out', out, '--base', `/docs/${tag}/`, '--versions', 'newest'];
    execFileSync(process.execPath, [join(folder, 'site/build.ts'), ...options], { stdio: 'inherit' });
  } finally {
    git('worktree', 'remove', '--force', folder);
  }
}

/** Serves the pages, and copies them again when one changes. */
function serveWhileWriting(): void {
  writePages(PAGES);
  writeApiPages(join(PAGES, 'public'), '/docs/');
  const env = environment({ base: '/docs/', versions: [] });
  const server = spawn(process.execPath, [VITEPRESS, 'dev', SITE], { env, stdio: 'inherit' });
  const watchers = ['docs', 'examples'].map((folder) =>
    watch(join(ROOT, folder), { recursive: true }, () => {
      try {
        writePages(PAGES);
      } catch (error) {
        console.error(error instanceof Error ? error.message : error);
      }
    }),
  );
  server.on('exit', () => {
    for (const watcher of watchers) watcher.close();
  });
}

const { values } = parseArgs({
  options: {
    watch: { type: 'boolean', default: false },
    out: { type: 'string', default: join(SITE, 'dist') },
    base: { type: 'string', default: '/docs/' },
    tags: { type: 'string', default: '' },
    versions: { type: 'string', default: '' },
  },
});
const split = (list: string): string[] => list.split(',').filter((name) => name !== '');
installTools();
if (values.watch) serveWhileWriting();
else {
  const tags = split(values.tags);
  const out = resolve(values.out);
  try {
    build({ out, base: values.base, versions: [...split(values.versions), ...tags] }, tags);
    console.log(`The site of the documentation is in ${out}.`);
  } catch (error) {
    // VitePress has printed its own errors.
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
