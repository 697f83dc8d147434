// Every link of a page to a file of the project, or to a heading in it, leads there; and the README stays short.
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';
import { toAnchor } from '../../../site/links.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const PAGES = globSync(['*.md', 'client/*.md', 'docs/**/*.md', 'bench/**/*.md', 'examples/**/*.md'], {
  cwd: ROOT,
}).sort();
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const withoutCode = (text: string): string => text.replaceAll(/^```[\s\S]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, '');

const anchors = (text: string): string[] =>
  [...text.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => toAnchor(heading));

function broken(page: string): string[] {
  const links = [...withoutCode(read(page)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? page : relative(ROOT, resolve(ROOT, dirname(page), path));
    if (!existsSync(join(ROOT, target))) return true;
    return anchor !== undefined && !anchors(read(target)).includes(anchor);
  });
}

for (const page of PAGES) {
  test(`the links of ${page} lead somewhere`, () => assert.deepEqual(broken(page), []));
}

test('all pages of docs/reference are linked from the README', () => {
  const readme = read('README.md');
  const missing = PAGES.filter((page) => page.startsWith('docs/reference/') && !readme.includes(`(${page}`));
  assert.deepEqual(missing, []);
  assert.ok(readme.split('\n').length <= 201, 'the README has more than 200 lines');
});

test('the query of the README is one of the example that it links', () => {
  const query = /\/chinook\/music\/([^"]+)"/.exec(read('README.md'))?.[1] ?? '';
  assert.ok(query.length > 50 && read('examples/chinook/README.md').includes(`"$API/${query}"`), query);
});
