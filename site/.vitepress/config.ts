// How VitePress builds the site: from the pages that ../pages.ts has written, without a request to another server.
import { defineConfig } from 'vitepress';
import { toAnchor } from '../links.ts';
import { buildSidebar } from '../pages.ts';

const { DOCS_BASE: base = '/docs/', DOCS_VERSION: version = 'dev', DOCS_VERSIONS: versions = '[]' } = process.env;
/** Sites of other versions: folders of the newest site, which is their parent. VitePress puts the base before a link. */
const otherVersions = (JSON.parse(versions) as string[]).map((name) => ({
  text: name,
  link: name === 'newest' ? '/../' : `/${name}/`,
  target: '_self',
}));
const API_PAGES = [
  { text: 'Admin API', link: `/api/admin.html`, target: '_self' },
  { text: 'Data API of demo/shop', link: `/api/demo-shop.html`, target: '_self' },
];

const guessLanguage = (code: string): string =>
  /^(?:curl|docker|export|ln|npm|npx|sudo|wda) /m.test(code) ? 'sh' : /^[[{]/.test(code) ? 'json' : 'text';

export default defineConfig({
  title: 'Workspace Data API',
  description: 'A self-hosted server that turns the schema of a workspace into a REST API over PostgreSQL',
  base,
  lang: 'en',
  srcDir: '.pages',
  cleanUrls: true,
  metaChunk: true,
  // Addresses of examples.
  ignoreDeadLinks: 'localhostLinks',
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  markdown: {
    // Text such as <id> is text, and cli.md is no host.
    html: false,
    linkify: false,
    // Braces in a text are no attributes.
    attrs: { disable: true },
    config(md) {
      // Indented blocks of code look as those between fences do.
      md.renderer.rules.code_block = (tokens, index, options, env, self) => {
        tokens[index].info = guessLanguage(tokens[index].content);
        return md.renderer.rules.fence(tokens, index, options, env, self);
      };
    },
    anchor: { slugify: toAnchor },
  },
  vite: { build: { chunkSizeWarningLimit: 2000 } },
  themeConfig: {
    outline: [2, 3],
    search: { provider: 'local' },
    sidebar: [...buildSidebar(), { text: 'OpenAPI', collapsed: true, items: API_PAGES }],
    nav: [
      { text: 'Start here', link: '/overview' },
      { text: 'Recipes', link: '/recipes/' },
      { text: 'Reference', link: '/reference/data-api' },
      { text: 'OpenAPI', items: API_PAGES },
      { text: version, items: [{ text: 'Changelog', link: '/changelog' }, ...otherVersions] },
    ],
  },
});
