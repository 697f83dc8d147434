// The modules of src/ as one list: what each is in charge of, what it may import, whether it is pure. The architecture test
// holds the code to it, and docs/architecture.md shows it: `node test/support/modules.ts` writes the table.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Module {
  /** No I/O, no clock, no `await`, nothing of Node. */
  readonly isPure?: true;
  readonly purpose: string;
  /**
   * Modules and single files besides errors.ts, and `type …` where only its form may be known. A file that may import more
   * than its module has a line in FILES.
   */
  readonly imports: readonly string[];
  /** Files that other modules may import; missing: every file. Other files may change without regard to other modules. */
  readonly entryFiles?: readonly string[];
}

/** In the order of their layers: a module imports only from those above it in this list. */
export const MODULES: Readonly<Record<string, Module>> = {
  model: {
    isPure: true,
    purpose: 'a workspace as values: entities, fields, relations, field types, principals, names in the database',
    entryFiles: [
      'access-report.ts',
      'agent-settings.ts',
      'claim.ts',
      'closest.ts',
      'constraint-owner.ts',
      'credential.ts',
      'date-time.ts',
      'decimal.ts',
      'entity.ts',
      'limits.ts',
      'long-text.ts',
      'mail-address.ts',
      'exact-json.ts',
      'field-types.ts',
      'grant.ts',
      'grant-words.ts',
      'granted.ts',
      'hash.ts',
      'json-digits.ts',
      'label.ts',
      'operators.ts',
      'origin.ts',
      'physical-name.ts',
      'principal.ts',
      'relation.ts',
      'restricted.ts',
      'trial.ts',
      'workspace.ts',
      'writable.ts',
    ],
    imports: [],
  },
  schema: {
    isPure: true,
    purpose: 'the schema document: its form, its mistakes with their paths, the tables that follow from it',
    entryFiles: [
      'document.ts',
      'entities.ts',
      'format.ts',
      'grants.ts',
      'identities.ts',
      'renames.ts',
      'report.ts',
      'shape.ts',
      'tables.ts',
      'type.ts',
    ],
    imports: ['model'],
  },
  'embedded-postgres': {
    purpose: 'the PostgreSQL that comes with the server: its files, its process, its roles',
    entryFiles: ['embedded.ts'],
    imports: [],
  },
  'http-client': {
    purpose:
      'requests to identity providers and receivers of webhooks: allowed addresses, key sets, discovery. The only importer of undici',
    entryFiles: ['errors.ts', 'http-client.ts'],
    imports: [],
  },
  limits: {
    purpose: 'rate limit, throttled errors, permits for transfers, time slices of the thread, memory for bodies',
    imports: ['type database', 'database/errors.ts', 'type metric.ts'],
  },
  workers: {
    purpose: 'several processes on one port: the primary, its workers, messages between them',
    imports: ['limits'],
  },
  request: {
    isPure: true,
    purpose: 'HTTP syntax → typed requests: query strings, filters, sorts, cursors, bodies. Knows no schema',
    imports: ['model'],
  },
  plan: {
    isPure: true,
    purpose:
      'request + snapshot + principal → plan: names looked up, values decoded, row rules attached. After planning only the data can be wrong',
    imports: ['model', 'request'],
  },
  sql: {
    isPure: true,
    purpose: 'plan → statement (text, slots), compiled once for each shape',
    entryFiles: [
      'change-statements.ts',
      'internal-names.ts',
      'compile.ts',
      'unique-values.ts',
      'expression.ts',
      'feed.ts',
      'fragment.ts',
      'import.ts',
      'row-readers.ts',
      'text-expressions.ts',
      'statement-forms.ts',
      'table.ts',
    ],
    imports: ['model', 'plan'],
  },
  response: {
    isPure: true,
    purpose: 'rows → envelopes, errors → bodies, files of exports',
    imports: ['model', 'plan', 'request'],
  },
  openapi: {
    isPure: true,
    purpose: 'the operations that principals may use in a workspace, and the OpenAPI documents',
    imports: ['schema/format.ts', 'model', 'plan', 'request', 'response'],
  },
  // Statements go in as values; how they are made is the business of sql/.
  database: {
    purpose: 'connections, pools, transactions, COPY, errors of PostgreSQL. The only importer of the driver',
    entryFiles: [
      'cluster-dialect.ts',
      'connect.ts',
      'connection-url.ts',
      'copy.ts',
      'errors.ts',
      'executor.ts',
      'install.ts',
      'listener.ts',
      'pool.ts',
      'pooler-check.ts',
      'transaction.ts',
    ],
    imports: ['type metric.ts', 'model', 'sql/fragment.ts', 'sql/internal-names.ts', 'tracing.ts'],
  },
  jobs: {
    purpose: 'background work at intervals, in each process or in one of the installation',
    entryFiles: ['exclusive.ts', 'jobs.ts'],
    imports: ['database', 'type metric.ts', 'sql/fragment.ts'],
  },
  topology: {
    purpose:
      'where the tables of workspaces are, as one interface: in the database itself, or on nodes that it coordinates (`citus/`)',
    imports: ['database', 'model', 'sql/fragment.ts'],
  },
  'workspace-schema': {
    purpose:
      'internal tables and triggers in the schema of a workspace: totals, idempotency keys, stored changes, columns that change their type; common words of its texts',
    entryFiles: [
      'change-figures.ts',
      'change-numbering.ts',
      'change-retention.ts',
      'common-words.ts',
      'count.ts',
      'history-copy.ts',
      'idempotency-keys.ts',
      'record-changes.ts',
      'sync.ts',
      'totals.ts',
    ],
    imports: [
      'database',
      'type metric.ts',
      'model',
      'sql/change-statements.ts',
      'sql/internal-names.ts',
      'sql/fragment.ts',
    ],
  },
  store: {
    purpose:
      'the control tables: organizations, workspaces with documents and migrations, credentials, signing keys, webhooks, processes; snapshots and their cache',
    imports: ['workspace-schema', 'database', 'schema', 'type metric.ts', 'model', 'sql/fragment.ts', 'topology'],
  },
  auth: {
    purpose:
      'Authorization header or session → principal: API keys, internal tokens, tokens of identity providers. The only importer of jose, openid-client and oidc-provider',
    imports: ['store', 'type metric.ts', 'model', 'http-client', 'limits', 'type database'],
  },
  migrations: {
    purpose:
      'difference of two schema documents → operations → statements in phases, and the runner that completes them or rolls them back',
    entryFiles: [
      'errors.ts',
      'followers.ts',
      'lock-holders.ts',
      'preview.ts',
      'publish.ts',
      'runner.ts',
      'workspace-lock.ts',
      'workspace.ts',
    ],
    imports: [
      'topology',
      'workspace-schema',
      'store',
      'database',
      'schema',
      'type metric.ts',
      'model',
      'sql/change-statements.ts',
      'sql/internal-names.ts',
      'sql/fragment.ts',
      'sql/text-expressions.ts',
    ],
  },
  backup: {
    purpose: 'a snapshot of the instance or of a workspace as a file, and its restore',
    entryFiles: ['backup.ts', 'demo-check.ts', 'format.ts', 'schedule.ts'],
    imports: [
      'topology',
      'workspace-schema',
      'store',
      'database',
      'schema',
      'type metric.ts',
      'migrations',
      'model',
      'limits',
      'jobs/exclusive.ts',
      'sql/fragment.ts',
    ],
  },
  http: {
    purpose: 'bytes ↔ values: listens, finds mount and route of a request, answers errors',
    entryFiles: ['body.ts', 'built-files.ts', 'request.ts', 'router.ts', 'server.ts'],
    imports: ['model', 'observer.ts', 'type openapi', 'limits', 'request', 'response', 'tracing.ts'],
  },
  'data-api': {
    purpose: 'the data API: from a request to its reply; `import/` and `export/` have files',
    entryFiles: ['context.ts', 'event-reader.ts', 'internal-request.ts', 'quotas.ts', 'router.ts'],
    imports: [
      'auth',
      'type workspace-schema',
      'workspace-schema/change-numbering.ts',
      'store',
      'type config.ts',
      'type metric.ts',
      'database',
      'http/body.ts',
      'type http',
      'migrations',
      'model',
      'openapi',
      'limits',
      'plan',
      'request',
      'response',
      'sql',
    ],
  },
  webhooks: {
    purpose: 'messages to receivers of webhooks: their bodies and signatures, when they are sent and sent again',
    imports: [
      'topology',
      'store',
      'type config.ts',
      'type metric.ts',
      'type database',
      'model',
      'http-client',
      'type data-api',
      'sql/feed.ts',
    ],
  },
  rollouts: {
    purpose: 'versions of shared schemas on their way to workspaces: waves, states, and the work of a process on them',
    entryFiles: ['commands.ts', 'state.ts', 'waves.ts', 'worker.ts'],
    imports: ['store', 'type metric.ts', 'type database', 'migrations'],
  },
  mcp: {
    purpose: 'agents: tools as requests of the data API, and their protocol. The only importer of the MCP SDK',
    entryFiles: ['confirmation.ts', 'endpoint.ts'],
    imports: [
      'type config.ts',
      'http/body.ts',
      'type http',
      'model',
      'openapi',
      'type limits',
      'plan',
      'data-api/internal-request.ts',
      'type data-api',
      'request',
      'response',
      'tracing.ts',
    ],
  },
  routes: {
    purpose: 'OAuth, health, metrics, and the site of the documentation',
    imports: [
      'type data-api',
      'data-api/internal-request.ts',
      'auth',
      'type backup',
      'store',
      'type config.ts',
      'database',
      'schema',
      'http',
      'migrations',
      'model',
      'openapi/operation.ts',
      'http-client',
      'plan',
      'request',
      'response',
      'sql',
    ],
  },
  'admin-api': {
    purpose: 'the admin API: its routes with their rights and descriptions',
    entryFiles: ['response.ts', 'cluster.ts', 'routes.ts'],
    imports: [
      'type data-api',
      'data-api/internal-request.ts',
      'auth',
      'type backup',
      'store',
      'type config.ts',
      'database',
      'schema',
      'http',
      'migrations',
      'model',
      'openapi/operation.ts',
      'http-client',
      'plan',
      'request',
      'response',
      'sql',
      'webhooks',
      'rollouts',
      'type statistics.ts',
    ],
  },
  // Loaded where the database coordinates a cluster, and nowhere else: nobody imports it but services.ts, at that moment.
  citus: {
    purpose: 'everything that is done only where the database is the coordinator of a Citus cluster',
    entryFiles: ['citus.ts'],
    imports: [
      'workspace-schema',
      'store',
      'database',
      'type metric.ts',
      'type jobs',
      'migrations/workspace-lock.ts',
      'model',
      'plan',
      'admin-api',
      'sql',
      'topology',
    ],
  },
  'console-api': {
    purpose:
      'the server side of the console: its page, sign-in, and the entry by which a session reaches the handlers of the API',
    entryFiles: ['session-proxy.ts', 'page.ts', 'session.ts', 'sign-in.ts', 'build-id.ts'],
    imports: ['auth/sessions.ts', 'type auth/openid-sign-in.ts', 'http', 'model', 'type limits', 'request', 'response'],
  },
  // The demo is made as any client would make it, before there is a server to ask.
  bootstrap: {
    purpose: 'the first start: operator key, demo workspace',
    entryFiles: ['bootstrap.ts'],
    imports: [
      'auth',
      'backup/demo-check.ts',
      'store',
      'type config.ts',
      'database',
      'schema',
      'migrations',
      'model',
      'plan',
      'sql',
    ],
  },
  // A client of the HTTP API; only `serve` runs the server.
  cli: {
    purpose: 'the command line; `serve` runs the server, all other commands are clients of the HTTP API',
    entryFiles: ['program.ts'],
    imports: ['backup/format.ts', 'config.ts', 'model/exact-json.ts', 'webhooks/message.ts', 'webhooks/signature.ts'],
  },
};

/** Files that lie in no module, and those that may import more than their module. */
export const FILES: Readonly<Record<string, readonly string[]>> = {
  'error-codes.ts': [],
  'api-error.ts': ['error-codes.ts'],
  'errors.ts': ['api-error.ts', 'error-codes.ts'],
  'routes/health.ts': ['request', 'database', 'http', 'observer.ts', 'openapi/operation.ts', 'response', 'sql'],
  // The schema of a workspace that does not exist yet has no server that could check it.
  'cli/config-actual.ts': ['schema/document.ts'],
  'cli/serve.ts': [
    'app.ts',
    'config.ts',
    'database',
    'embedded-postgres',
    'observer.ts',
    'workers',
    'type readiness.ts',
    'type bootstrap',
    'tracing.ts',
  ],
  'metric.ts': [],
  'otel.ts': ['type tracing.ts'],
  'readiness.ts': [],
  'request-metrics.ts': [],
  'statistics.ts': [],
  'tracing.ts': [],
  'credential-services.ts': [
    'auth',
    'store',
    'type config.ts',
    'console-api/sign-in.ts',
    'type database',
    'type observer.ts',
    'type http-client',
    'type readiness.ts',
    'workers',
  ],
  'services.ts': [
    'credential-services.ts',
    'type model',
    'topology',
    'citus',
    'auth',
    'backup',
    'workspace-schema',
    'store',
    'type config.ts',
    'database',
    'store',
    'mcp',
    'migrations',
    'observer.ts',
    'http-client',
    'limits',
    'workers',
    'type readiness.ts',
    'data-api',
    'request',
    'routes/oauth.ts',
    'webhooks',
    'rollouts',
  ],
  'mounts.ts': [
    'auth',
    'type config.ts',
    'settings.ts',
    'console-api',
    'type services.ts',
    'http',
    'type observer.ts',
    'openapi/admin.ts',
    'type readiness.ts',
    'routes',
    'admin-api',
  ],
  'app.ts': [
    'topology',
    'type citus',
    'auth',
    'store',
    'type config.ts',
    'database',
    'services.ts',
    'http',
    'jobs',
    'type observer.ts',
    'readiness.ts',
    'mounts.ts',
    'bootstrap',
  ],
  'main.ts': ['cli'],
  'config.ts': ['type database', 'model/closest.ts', 'setting-list.ts', 'setting-values.ts'],
  'setting-list.ts': [],
  'setting-values.ts': ['database/connection-url.ts', 'model/origin.ts'],
  'settings.ts': ['type config.ts'],
  'observer.ts': ['type config.ts', 'type metric.ts', 'request-metrics.ts', 'statistics.ts', 'workers'],
};

/** The table of docs/architecture.md. */
export function renderTable(): string {
  const rows = Object.entries(MODULES).map(
    ([name, { isPure, purpose, imports }]) =>
      `| \`${name}/\`${isPure ? ' [P]' : ''} | ${purpose} | ${imports.map((one) => one.replace(/\.ts$/, '')).join(', ')} |`,
  );
  return ['| Folder | Task | Imports |', '|---|---|---|', ...rows].join('\n');
}

export const PAGE = join(import.meta.dirname, '..', '..', 'docs', 'architecture.md');
const BEGIN = '<!-- folders: written by test/support/modules.ts -->';
const END = '<!-- end of folders -->';

/** The page with the table as it must be. */
export function withRooms(page: string): string {
  const [before, rest] = page.split(BEGIN) as [string, string | undefined];
  if (rest === undefined || !rest.includes(END)) throw new Error(`${PAGE} has no place for the modules`);
  const after = rest.slice(rest.indexOf(END));
  return `${before}${BEGIN}\n\n${renderTable()}\n\n${after}`;
}

if (import.meta.main) writeFileSync(PAGE, withRooms(readFileSync(PAGE, 'utf8')));
