// The site of the documentation: each page has a place in its sidebar, and links lead to pages of the site.
import assert from 'node:assert/strict';
import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { findDeadLinks } from '../../../site/finish.ts';
import { replaceLinks } from '../../../site/links.ts';
import { PAGES } from '../../../site/outline.ts';
import { toSitePath } from '../../../site/pages.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');

test('each page of docs and examples has one place in the sidebar', () => {
  const pages = globSync(['*.md', 'docs/**/*.md', 'examples/*/README.md'], { cwd: ROOT });
  assert.deepEqual(
    pages.filter((page) => !PAGES.includes(page)),
    [],
  );
  assert.deepEqual(
    PAGES.filter((page) => !existsSync(join(ROOT, page))),
    [],
  );
  assert.equal(new Set(PAGES.map(toSitePath)).size, PAGES.length);
});

test('links to files are replaced, those in code and to other hosts stay', () => {
  const text = [
    'See [limits](limits.md), [totals](../glossary.md#kept-total), [above](#rows), [RFC](https://www.rfc-editor.org).',
    '`[a](b.md)`',
    '```md\n[c](d.md)\n```',
    '![Orders](../images/console-records.png)',
  ].join('\n');
  assert.equal(
    replaceLinks('docs/reference/page.md', text, (path) => `<${path}>`),
    text
      .replace('limits.md', '<docs/reference/limits.md>')
      .replace('../glossary.md#', '<docs/glossary.md>#')
      .replace('../images/console-records.png', '<docs/images/console-records.png>'),
  );
});

test('dead links of a site are those without a file or an element', () => {
  const links = [
    ...[
      '/docs/',
      '/docs/limits',
      './limits.html',
      '/docs/limits#rows',
      '#top',
      'https://example.com/x',
      '/docs/app.js',
    ],
    ...['/docs/limit', '/docs/limits#columns', '/', '../limits', '/docs/recipes/'],
  ];
  const files = new Set(['index.html', 'limits.html', 'app.js']);
  const pages = [
    { name: 'index.html', ids: new Set(['top']), links },
    { name: 'limits.html', ids: new Set(['rows']), links: [] },
  ];
  assert.deepEqual(
    findDeadLinks(pages, files, '/docs/'),
    links.slice(7).map((link) => `index.html: ${link}`),
  );
});
