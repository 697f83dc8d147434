// Finishes a built site: scripts in pages become files, so that a policy can forbid scripts in pages, links are checked, and
// texts are compressed once for all requests.
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';

const INLINE_SCRIPT = /<script((?: (?!src)[\w-]+(?:="[^"]*")?)*)>([^<]+)<\/script>/g;

/** Moves the scripts of a page to files of `assets/`. */
function moveScripts(html: string, base: string, write: (name: string, text: string) => void): string {
  return html.replaceAll(INLINE_SCRIPT, (_, attributes: string, code: string) => {
    const name = `assets/inline-${createHash('sha256').update(code).digest('hex').slice(0, 12)}.js`;
    write(name, code);
    return `<script${attributes} src="${base}${name}"></script>`;
  });
}

interface Page {
  readonly name: string;
  readonly ids: ReadonlySet<string>;
  readonly links: readonly string[];
}

const decodeEntities = (text: string): string =>
  text.replaceAll('&amp;', '&').replaceAll('&#39;', "'").replaceAll('&quot;', '"');

const readPage = (name: string, html: string): Page => ({
  name,
  ids: new Set([...html.matchAll(/ id="([^"]*)"/g)].map(([, id = '']) => decodeEntities(id))),
  links: [...html.matchAll(/ (?:href|src)="([^"]*)"/g)].map(([, link = '']) => decodeEntities(link)),
});

/** Links of the pages that lead to no file of the site, or to no element of a page. */
export function findDeadLinks(pages: readonly Page[], files: ReadonlySet<string>, base: string): string[] {
  const byName = new Map(pages.map((page) => [page.name, page]));
  return pages.flatMap((page) =>
    page.links
      .filter((link) => {
        // The site of a tag is in a folder of the newest, and links to that.
        if (/^(?:[a-z]+:|\/\/)/.test(link) || link === `${base}../`) return false;
        const [path = '', anchor = ''] = link.split('#');
        const absolute =
          path === '' ? `${base}${page.name}` : posix.resolve(`${base}${posix.dirname(page.name)}`, path);
        const isFolder = path.endsWith('/') || `${absolute}/` === base;
        if (!`${absolute}/`.startsWith(base)) return true;
        const inside = decodeURI(absolute.slice(base.length));
        const target = isFolder ? posix.join(inside, 'index.html') : files.has(inside) ? inside : `${inside}.html`;
        if (!files.has(target)) return true;
        return anchor !== '' && byName.get(target)?.ids.has(decodeURIComponent(anchor)) === false;
      })
      .map((link) => `${page.name}: ${link}`),
  );
}

/** Names each dead link once: those of the sidebar are on all pages. */
function listByLink(dead: readonly string[]): string[] {
  const pages = Map.groupBy(dead, (line) => line.slice(line.indexOf(': ') + 2));
  return [...pages].map(([link, lines]) => `${link} on ${lines.length} pages, such as ${lines[0]?.split(': ')[0]}`);
}

/** Throws an error with all dead links of the site. */
export function finishSite(folder: string, base: string): void {
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  };
  const pages = globSync('**/*.html', { cwd: folder }).map((path) => {
    const name = path.replaceAll('\\', '/');
    const html = moveScripts(readFileSync(join(folder, name), 'utf8'), base, write);
    write(name, html);
    return readPage(name, html);
  });
  const files = new Set(globSync('**/*.*', { cwd: folder }).map((path) => path.replaceAll('\\', '/')));
  const dead = findDeadLinks(pages, files, base);
  if (dead.length > 0) throw new Error(`Links that lead nowhere:\n${listByLink(dead).join('\n')}`);
  for (const name of files) {
    if (!/\.(?:css|html|js|json|svg|txt)$/.test(name)) continue;
    const bytes = readFileSync(join(folder, name));
    const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
    writeFileSync(join(folder, `${name}.br`), brotliCompressSync(bytes, { params }));
  }
}
