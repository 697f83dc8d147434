// The rooms of src/ as one list: what each is in charge of, what it may import, whether it is pure. The architecture test
// holds the code to it, and docs/architecture.md shows it: `node test/support/rooms.ts` writes the table and the drawing.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Room {
  /** No I/O, no clock, no `await`, nothing of Node. */
  readonly isPure?: true;
  readonly purpose: string;
  /**
   * Rooms and single files besides errors.ts, and `type …` where only its form may be known. A file that may import more
   * than its room has a line in FILES.
   */
  readonly imports: readonly string[];
  /** Files that other rooms may import; missing: every file. What is no entrance may change without asking anybody. */
  readonly entrances?: readonly string[];
}

/** From the ground floor up: a room imports only from those above it in this list. */
export const ROOMS: Readonly<Record<string, Room>> = {
  model: {
    isPure: true,
    purpose: 'a workspace as values: entities, fields, relations, field types, principals, names in the database',
    entrances: [
      'agent-settings.ts',
      'closest.ts',
      'constraint-owner.ts',
      'credential.ts',
      'date-time.ts',
      'decimal.ts',
      'entity.ts',
      'exact-json.ts',
      'field-types.ts',
      'hash.ts',
      'json-digits.ts',
      'physical-name.ts',
      'principal.ts',
      'relation.ts',
      'restricted.ts',
      'trial.ts',
      'workspace.ts',
    ],
    imports: [],
  },
  document: {
    isPure: true,
    purpose: 'the schema document: its form, its mistakes with their paths, the tables that follow from it',
    entrances: [
      'document.ts',
      'entities.ts',
      'format.ts',
      'renames.ts',
      'report.ts',
      'shape.ts',
      'tables.ts',
      'type.ts',
    ],
    imports: ['model'],
  },
  embedded: {
    purpose: 'the PostgreSQL that comes with the server: its files, its process, its roles',
    entrances: ['embedded.ts'],
    imports: [],
  },
  outbound: {
    purpose: 'requests to others: addresses that may be asked, key sets and discovery. The only importer of undici',
    entrances: ['outbound.ts'],
    imports: [],
  },
  limits: {
    purpose: 'rate limit, throttled errors, permits of transfers, fair shares of the thread, memory for bodies',
    imports: ['type db', 'db/errors.ts', 'type figure.ts'],
  },
  processes: {
    purpose: 'several processes behind one port: the primary, its workers, questions between them',
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
      'request + snapshot + principal → plan: names looked up, values decoded, row policy attached. After planning only the data can be wrong',
    imports: ['model', 'request'],
  },
  sql: {
    isPure: true,
    purpose: 'plan → statement (text, slots), compiled once per shape',
    entrances: [
      'beside-names.ts',
      'compile.ts',
      'expression.ts',
      'fragment.ts',
      'import.ts',
      'indexed.ts',
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
    purpose: 'what a class of principals may do in a workspace, and the OpenAPI documents that say so',
    imports: ['document/format.ts', 'model', 'plan', 'request', 'response'],
  },
  // Statements go in as values; how they are made is the business of sql/.
  db: {
    purpose: 'the only importer of the driver: connections, pools, transactions, COPY, error translation',
    entrances: [
      'behind.ts',
      'connect.ts',
      'connection-url.ts',
      'copy.ts',
      'errors.ts',
      'executor.ts',
      'install.ts',
      'listen.ts',
      'pool.ts',
      'pooler.ts',
      'transaction.ts',
    ],
    imports: ['type figure.ts', 'model', 'sql/fragment.ts', 'trace.ts'],
  },
  jobs: {
    purpose: 'what runs at intervals in the background, in each process or in one of the installation',
    entrances: ['jobs.ts'],
    imports: ['db', 'type figure.ts', 'sql/fragment.ts'],
  },
  topology: {
    purpose:
      'where the tables of workspaces lie, as one interface: in the database itself, or on nodes that it coordinates (`citus/`)',
    imports: ['db', 'model', 'sql/fragment.ts'],
  },
  beside: {
    purpose:
      'what stands beside the tables of a workspace in its database: totals, keys of requests, syncs of columns that change their type; makes all triggers',
    entrances: ['count.ts', 'keys.ts', 'sync.ts', 'totals.ts'],
    imports: ['db', 'type figure.ts', 'model', 'sql/beside-names.ts', 'sql/fragment.ts'],
  },
  directory: {
    purpose:
      'the control tables of the installation (schema `wda`): organizations, which workspaces there are and in which database they lie, credentials, signing keys, living processes',
    imports: ['db', 'model', 'sql/fragment.ts', 'topology'],
  },
  catalog: {
    purpose:
      'the control tables of a workspace, in the database of its records: schema document, migrations; its snapshot and the cache of snapshots',
    imports: ['beside', 'db', 'directory', 'document', 'type figure.ts', 'model', 'sql/fragment.ts', 'type topology'],
  },
  auth: {
    purpose:
      'Authorization header or session → principal: API keys, tokens of our own, tokens of identity providers with their key sets. The only importer of jose and oidc-provider',
    imports: ['directory', 'type figure.ts', 'model', 'outbound', 'limits', 'type db'],
  },
  migrate: {
    purpose:
      'difference of two schema documents → operations → statements in phases, and the runner that takes them through or takes them back',
    entrances: ['holders.ts', 'plan.ts', 'runner.ts', 'workspace-lock.ts', 'workspace.ts'],
    imports: [
      'topology',
      'beside',
      'catalog',
      'db',
      'directory',
      'document',
      'type figure.ts',
      'model',
      'sql/beside-names.ts',
      'sql/fragment.ts',
      'sql/indexed.ts',
    ],
  },
  backup: {
    purpose: 'backups: a snapshot of the installation or of a workspace as a file, and workspaces of such a file',
    entrances: ['backup.ts', 'emptiness.ts', 'format.ts', 'schedule.ts'],
    imports: [
      'topology',
      'catalog',
      'db',
      'directory',
      'document',
      'type figure.ts',
      'migrate',
      'model',
      'limits',
      'sql/fragment.ts',
    ],
  },
  http: {
    purpose: 'bytes ↔ values: listens, finds the mount of a request and its route, answers what was thrown',
    entrances: ['body.ts', 'request.ts', 'router.ts', 'server.ts'],
    imports: ['model', 'observe.ts', 'type openapi', 'limits', 'request', 'response', 'trace.ts'],
  },
  records: {
    purpose: 'the data API: from a raw request to its reply; `import/` and `export/` have files',
    entrances: ['context.ts', 'internal-request.ts', 'router.ts'],
    imports: [
      'auth',
      'type beside',
      'catalog',
      'type config.ts',
      'db',
      'directory',
      'http/body.ts',
      'type http',
      'migrate',
      'model',
      'openapi',
      'limits',
      'plan',
      'request',
      'response',
      'sql',
    ],
  },
  mcp: {
    purpose:
      'agents: tools as requests of the data API, and the protocol that they speak. The only importer of the MCP SDK',
    entrances: ['confirmation.ts', 'endpoint.ts'],
    imports: [
      'type config.ts',
      'http/body.ts',
      'type http',
      'model',
      'openapi',
      'type limits',
      'plan',
      'records/internal-request.ts',
      'type records',
      'request',
      'response',
      'trace.ts',
    ],
  },
  routes: {
    purpose: 'all other handlers: OAuth, health and metrics, `admin/`',
    entrances: [
      'admin/response.ts',
      'admin/cluster.ts',
      'admin/routes.ts',
      'meta.ts',
      'oauth.ts',
      'resource-metadata.ts',
    ],
    imports: [
      'type records',
      'records/internal-request.ts',
      'auth',
      'type backup',
      'catalog',
      'type config.ts',
      'db',
      'directory',
      'document',
      'http',
      'migrate',
      'model',
      'openapi/operation.ts',
      'outbound',
      'plan',
      'request',
      'response',
      'sql',
    ],
  },
  // Loaded where the database coordinates a cluster, and nowhere else: nobody imports it but services.ts, at that moment.
  citus: {
    purpose: 'all that is done only where the database is the coordinator of a Citus cluster',
    entrances: ['citus.ts'],
    imports: [
      'beside',
      'catalog',
      'db',
      'directory',
      'type figure.ts',
      'type jobs',
      'migrate/workspace-lock.ts',
      'model',
      'plan',
      'routes',
      'sql',
      'topology',
    ],
  },
  console: {
    purpose:
      'the admin console: its page, sign in and out, and the door by which a session reaches the handlers of the API',
    entrances: ['session-proxy.ts', 'page.ts', 'session.ts', 'build-id.ts'],
    imports: ['auth/sessions.ts', 'http', 'model', 'type limits', 'request', 'response'],
  },
  // The demo is made as any client would make it, before there is a server to ask.
  setup: {
    purpose: 'what the first start leaves behind: operator key, demo workspace',
    entrances: ['bootstrap.ts'],
    imports: [
      'auth',
      'backup/emptiness.ts',
      'catalog',
      'type config.ts',
      'db',
      'directory',
      'document',
      'migrate',
      'model',
      'plan',
      'sql',
    ],
  },
  // A client of the HTTP API; only `serve` runs the server.
  cli: {
    purpose: 'the command line; `serve` runs the server, everything else is a client of the HTTP API',
    entrances: ['run.ts'],
    imports: ['backup/format.ts', 'config.ts', 'model/exact-json.ts'],
  },
};

/** Files that lie in no room, and those that may import more than their room. */
export const FILES: Readonly<Record<string, readonly string[]>> = {
  'error-codes.ts': [],
  'api-error.ts': ['error-codes.ts'],
  'errors.ts': ['api-error.ts', 'error-codes.ts'],
  'routes/meta.ts': ['request', 'db', 'http', 'observe.ts', 'openapi/operation.ts', 'response', 'sql'],
  'cli/serve.ts': [
    'app.ts',
    'config.ts',
    'db',
    'embedded',
    'observe.ts',
    'processes',
    'type readiness.ts',
    'type setup',
    'trace.ts',
  ],
  'figure.ts': [],
  'otel.ts': ['type trace.ts'],
  'readiness.ts': [],
  'trace.ts': [],
  'services.ts': [
    'type model',
    'topology',
    'citus',
    'auth',
    'backup',
    'beside',
    'catalog',
    'type config.ts',
    'db',
    'directory',
    'mcp',
    'migrate',
    'observe.ts',
    'outbound',
    'limits',
    'processes',
    'type readiness.ts',
    'records',
    'request',
    'routes/oauth.ts',
  ],
  'app.ts': [
    'topology',
    'type citus',
    'auth',
    'catalog',
    'config.ts',
    'console',
    'db',
    'directory',
    'services.ts',
    'http',
    'jobs',
    'type observe.ts',
    'openapi/admin.ts',
    'readiness.ts',
    'routes',
    'setup',
  ],
  'main.ts': ['cli'],
  'config.ts': ['db/connection-url.ts', 'type db', 'model/closest.ts'],
  'observe.ts': ['type config.ts', 'type figure.ts', 'processes'],
};

/** The table of docs/architecture.md. */
export function renderTable(): string {
  const rows = Object.entries(ROOMS).map(
    ([name, { isPure, purpose, imports }]) =>
      `| \`${name}/\`${isPure ? ' [P]' : ''} | ${purpose} | ${imports.map((one) => one.replace(/\.ts$/, '')).join(', ')} |`,
  );
  return ['| Room | In charge of | ← |', '|---|---|---|', ...rows].join('\n');
}

/** The drawing of docs/architecture.md: which room imports which; of arrows that follow from others only the short ones. */
export function renderDrawing(): string {
  const targets = new Map(
    Object.entries(ROOMS).map(([name, { imports }]) => [
      name,
      [...new Set(imports.map((one) => one.replace(/^type /, '').split('/')[0] as string))].filter(
        (one) => one in ROOMS && one !== name,
      ),
    ]),
  );
  const reaches = (from: string, to: string): boolean =>
    (targets.get(from) ?? []).some((next) => next === to || reaches(next, to));
  const arrows = [...targets].flatMap(([name, near]) =>
    near
      .filter((target) => !near.some((other) => other !== target && reaches(other, target)))
      .map((target) => `    ${name} --> ${target}`),
  );
  const pure = Object.keys(ROOMS).filter((name) => ROOMS[name]?.isPure);
  return [
    '```mermaid',
    'flowchart BT',
    ...Object.keys(ROOMS).map((name) => `    ${name}[${name}/]`),
    ...arrows,
    '    classDef pure fill:#e8f4ea,stroke:#2f7d3b,color:#000',
    `    class ${pure.join()} pure`,
    '```',
  ].join('\n');
}

export const PAGE = join(import.meta.dirname, '..', '..', 'docs', 'architecture.md');
const BEGIN = '<!-- rooms: written by test/support/rooms.ts -->';
const END = '<!-- end of rooms -->';

/** The page with table and drawing as they must be. */
export function withRooms(page: string): string {
  const [before, rest] = page.split(BEGIN) as [string, string | undefined];
  if (rest === undefined || !rest.includes(END)) throw new Error(`${PAGE} has no place for the rooms`);
  const after = rest.slice(rest.indexOf(END));
  return `${before}${BEGIN}\n\n${renderTable()}\n\n${renderDrawing()}\n\n${after}`;
}

if (import.meta.main) writeFileSync(PAGE, withRooms(readFileSync(PAGE, 'utf8')));
