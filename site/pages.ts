// Copies the pages of the repository to the folder that VitePress reads, with links as the site has them. Pages stay as a git
// host shows them: what differs on the site is decided here.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { replaceLinks } from './links.ts';
import { HOME, PAGES, SECTIONS } from './outline.ts';

export const ROOT = join(import.meta.dirname, '..');

/** Folder of files that pages link to and that are no pages: each is shown as a page with its text. */
const FILES = 'files';
/** Head of a page that shows a file: search leaves it out. */
const FRONT = '---\nsearch: false\noutline: false\n---\n\n';
/** Length above which a text is shown without colours, which make it ten times as long. */
const MAX_HIGHLIGHT = 20_000;
const LANGUAGES: Readonly<Record<string, string>> = {
  '.conf': 'nginx',
  '.js': 'js',
  '.json': 'json',
  '.service': 'ini',
  '.ts': 'ts',
  '.yaml': 'yaml',
};

/** Path of a page on the site, without its ending. `docs/reference/data-api.md` is `reference/data-api`. */
export function toSitePath(page: string): string {
  if (page === HOME) return 'index';
  if (page === 'README.md') return 'overview';
  const path = page.replace(/^docs\//, '').replace(/\.md$/, '');
  return path.includes('/') ? path.replace(/(^|\/)README$/, '$1index') : path.toLowerCase();
}

const readTitle = (text: string): string => /^# (.*)$/m.exec(text)?.[1] ?? '';

interface Writer {
  readonly write: (path: string, text: string) => void;
  /** Files that pages link to, by their paths in the repository. */
  readonly files: Set<string>;
}

/** Text of a page for VitePress, which is without comments. */
function convertPage(page: string, { files }: Writer, copyImage: (path: string) => void): string {
  const text = readFileSync(join(ROOT, page), 'utf8').replaceAll(/^<!--.*-->\n/gm, '');
  const from = posix.dirname(toSitePath(page));
  const relate = (path: string): string => `${posix.relative(from, path) || '.'}`.replace(/^(?!\.)/, './');
  return replaceLinks(page, text, (path) => {
    if (PAGES.includes(path)) return relate(`${toSitePath(path)}.md`);
    if (path.endsWith('.png')) {
      copyImage(path);
      return relate(path.replace(/^docs\//, ''));
    }
    files.add(path);
    return relate(`${FILES}/${path}${statSync(join(ROOT, path)).isDirectory() ? '/index' : ''}.md`);
  });
}

/** Page that shows a file, or lists a folder. */
function showFile(path: string, { write, files }: Writer): void {
  const absolute = join(ROOT, path);
  if (statSync(absolute).isDirectory()) {
    const names = readdirSync(absolute, { withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
      .map(({ name }) => name);
    write(
      `${FILES}/${path}/index.md`,
      `${FRONT}# ${path}/\n\n${names.map((name) => `- [${name}](./${name}.md)`).join('\n')}\n`,
    );
    for (const name of names) if (!files.has(`${path}/${name}`)) showFile(`${path}/${name}`, { write, files });
    return;
  }
  const text = readFileSync(absolute, 'utf8').trimEnd();
  const known = LANGUAGES[posix.extname(path)] ?? (path.endsWith('Dockerfile') ? 'docker' : 'text');
  const language = text.length > MAX_HIGHLIGHT ? 'text' : known;
  write(`${FILES}/${path}.md`, `${FRONT}# ${path}\n\n\`\`\`\`${language}\n${text}\n\`\`\`\`\n`);
}

/** Sidebar of the site, with the titles of the pages. */
export const buildSidebar = () =>
  SECTIONS.map(({ title, isOpen, pages }) => ({
    text: title,
    collapsed: !isOpen,
    items: pages.map((page) => {
      const [path, text] = typeof page === 'string' ? [page, readTitle(readFileSync(join(ROOT, page), 'utf8'))] : page;
      return { text, link: `/${toSitePath(path).replace(/(^|\/)index$/, '$1')}` };
    }),
  }));

/** Writes all pages below `target`. A file with the same text is left as it is, so that a server does not reload its page. */
export function writePages(target: string): void {
  const writer: Writer = {
    files: new Set(),
    write(path, text) {
      const file = join(target, path);
      mkdirSync(dirname(file), { recursive: true });
      try {
        if (readFileSync(file, 'utf8') === text) return;
      } catch {
        // There is no such file yet.
      }
      writeFileSync(file, text);
    },
  };
  const copyImage = (path: string): void => {
    const file = join(target, path.replace(/^docs\//, ''));
    mkdirSync(dirname(file), { recursive: true });
    copyFileSync(join(ROOT, path), file);
  };
  for (const page of PAGES) writer.write(`${toSitePath(page)}.md`, convertPage(page, writer, copyImage));
  for (const path of [...writer.files]) showFile(path, writer);
}
