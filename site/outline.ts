// Order of the pages on the site: its sections with their pages, as paths in the repository. A page that is missing here
// fails test/unit/docs/site.test.ts.

export interface Section {
  readonly title: string;
  /** True for sections that are open when the site is. */
  readonly isOpen: boolean;
  /** A page is its path, or its path with a title for the sidebar in place of its own. */
  readonly pages: readonly (string | readonly [path: string, title: string])[];
}

/** Page that the site begins with. */
export const HOME = 'docs/README.md';

export const SECTIONS: readonly Section[] = [
  {
    title: 'Start here',
    isOpen: true,
    pages: [
      ['README.md', 'In five minutes'],
      'docs/start/backend.md',
      'docs/start/customers.md',
      'docs/start/live-table.md',
      'docs/start/agents-and-clients.md',
      'docs/start/something-else.md',
    ],
  },
  {
    title: 'Recipes',
    isOpen: false,
    pages: [
      ['docs/recipes/README.md', 'All recipes, by task'],
      'docs/recipes/dashboard.md',
      'docs/recipes/search-as-you-type.md',
      'docs/recipes/order-with-lines.md',
      'docs/recipes/live-board.md',
      'docs/recipes/public-website.md',
      'docs/recipes/files-from-a-spreadsheet.md',
      'docs/recipes/nightly-sync.md',
      'docs/recipes/search-index.md',
      'docs/recipes/mail-at-a-new-record.md',
      'docs/recipes/customers-and-agents.md',
      'docs/recipes/reference-data.md',
      'docs/recipes/one-provider-many-workspaces.md',
      'docs/recipes/200-tenants-one-schema.md',
      'docs/recipes/backfill.md',
      'docs/recipes/who-changed-this.md',
      'docs/recipes/staging-copy.md',
      'docs/recipes/yesterday-of-one-customer.md',
    ],
  },
  {
    title: 'Examples',
    isOpen: false,
    pages: ['examples/helpdesk/README.md', 'examples/sign-up/README.md', 'examples/chinook/README.md'],
  },
  {
    title: 'Data API',
    isOpen: true,
    pages: [
      'docs/reference/data-api.md',
      'docs/reference/import-export.md',
      'docs/reference/changes.md',
      'docs/reference/webhooks.md',
      'docs/reference/errors.md',
      'docs/reference/limits.md',
      'docs/reference/openapi.md',
    ],
  },
  {
    title: 'Schema',
    isOpen: true,
    pages: [
      'docs/reference/schema-document.md',
      ['docs/reference/migrations.md', 'Changing a schema'],
      'docs/reference/shared-schemas.md',
      'docs/reference/rollouts.md',
    ],
  },
  {
    title: 'Access',
    isOpen: true,
    pages: [
      'docs/reference/identity-provider.md',
      'docs/reference/grants.md',
      'docs/reference/row-rules.md',
      'docs/reference/scopes.md',
      'docs/reference/oauth.md',
    ],
  },
  {
    title: 'Administration',
    isOpen: true,
    pages: [
      'docs/reference/console.md',
      'docs/reference/sign-in.md',
      'docs/reference/cli.md',
      'docs/reference/config-file.md',
      'docs/reference/admin-api.md',
      'docs/reference/settings.md',
    ],
  },
  {
    title: 'Clients and agents',
    isOpen: false,
    pages: [
      ['docs/clients/README.md', 'All clients and tools'],
      'docs/clients/typescript.md',
      'docs/clients/tanstack-query.md',
      'docs/clients/react-admin.md',
      'docs/clients/refine.md',
      'docs/clients/generators.md',
      'docs/clients/agents.md',
      'docs/clients/postman-bruno.md',
      'docs/clients/viewers.md',
      ['client/README.md', 'Package of the client'],
    ],
  },
  {
    title: 'Operation',
    isOpen: false,
    pages: [
      'docs/deployment.md',
      'docs/operations/running.md',
      'docs/operations/backup.md',
      'docs/operations/scaling.md',
      'docs/operations/poolers.md',
      'docs/operations/traces.md',
      ['SECURITY.md', 'Security'],
    ],
  },
  {
    title: 'Performance',
    isOpen: false,
    pages: [
      ['docs/performance.md', 'Requests'],
      ['docs/performance-access.md', 'Access control'],
      ['docs/performance-changes.md', 'Changes of records'],
      ['docs/performance-migrations.md', 'Schema changes'],
      ['docs/performance-citus.md', 'Citus cluster'],
      ['bench/README.md', 'How it is measured'],
    ],
  },
  {
    title: 'Project',
    isOpen: false,
    pages: [
      'docs/glossary.md',
      'docs/architecture.md',
      ['CONTRIBUTING.md', 'Contributing'],
      ['CHANGELOG.md', 'Changelog'],
    ],
  },
];

/** All pages of the site, by their paths in the repository. */
export const PAGES: readonly string[] = [
  HOME,
  ...SECTIONS.flatMap(({ pages }) => pages.map((page) => (typeof page === 'string' ? page : page[0]))),
];
