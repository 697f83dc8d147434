// docs/reference/limits.md against the constants and settings that it tells.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { SETTINGS } from '../../../src/setting-list.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const ROWS = read('docs/reference/limits.md')
  .split('\n')
  .filter((line) => line.startsWith('| '));

/** What the row is about, and the constants of a file whose numbers stand in it. */
const CONSTANTS: readonly (readonly [row: string, file: string, ...names: string[]])[] = [
  ['query parameters', 'request/query-string.ts', 'MAX_PARAMETERS'],
  ['`filter` and `or` conditions', 'request/filter.ts', 'MAX_CONDITIONS'],
  ['nodes of the filter trees of one `_query`', 'request/filter.ts', 'MAX_NODES', 'MAX_TREE_DEPTH'],
  ['values of `in` and `nin`', 'request/filter.ts', 'MAX_VALUES'],
  ['sort keys', 'request/sort.ts', 'MAX_SORT_KEYS'],
  ['`search`', 'request/search.ts', 'MAX_SEARCH'],
  ['records that a search ranks', 'sql/rank.ts', 'MAX_RANKED'],
  ['characters of a record that a search ranks', 'sql/rank.ts', 'RANKED_CHARACTERS'],
  ['path of a filter, sort, function or group', 'plan/condition.ts', 'MAX_PATH_LENGTH'],
  [
    'functions, groups, groups of a page of an aggregate',
    'request/aggregate-terms.ts',
    'MAX_FUNCTIONS',
    'MAX_GROUPS',
    'MAX_SIZE',
  ],
  ['digits of an average after the point', 'plan/aggregate.ts', 'MAX_DIGITS'],
  ['paths in `expand` or `fields`', 'request/paths.ts', 'MAX_PATHS'],
  ['depth of `expand`', 'model/entity.ts', 'DEFAULT_MAX_EXPAND_DEPTH'],
  ['depth of `expand`', 'schema/format.ts', 'MAX_EXPAND_DEPTH'],
  ['relations that one request follows', 'model/entity.ts', 'MAX_STEPS'],
  ['ids of a many-to-many relation in a body', 'plan/links.ts', 'MAX_LINKED'],
  ['links of many-to-many relations that one request makes or compares', 'data-api/links.ts', 'MAX_LINKS'],
  ['nesting of a body', 'model/exact-json.ts', 'MAX_NESTING'],
  [
    'members of a record, and of the object that is the body, in a body of more than 8 KiB',
    'request/body.ts',
    'MAX_MEMBERS',
  ],
  ['members of any other object in such a body', 'model/exact-json.ts', 'MOST_MEMBERS'],
  ['values in such a body', 'request/body.ts', 'MAX_VALUES', 'LEAST_BYTES'],
  ['mistakes that are listed', 'plan/unknown-name.ts', 'MAX_DETAILS'],
  ['mistakes that are listed', 'schema/report.ts', 'MAX_DETAILS'],
  ['mistakes that are listed', 'request/parameters.ts', 'MAX_IMPORT_ERRORS'],
  ['names and values in messages', 'api-error.ts', 'SHOWN_CHARACTERS', 'LISTED_NAMES'],
  ['digits of a `decimal`, or of a number in `json`', 'model/decimal.ts', 'MAX_DIGITS'],
  ['digits of a `decimal`, or of a number in `json`', 'model/json-digits.ts', 'MAX_DIGITS'],
  ['characters by which numbers of a record grow without exponents', 'model/json-digits.ts', 'MAX_EXPANDED_BYTES'],
  ['rows of one file that each refer to the next', 'data-api/import/checks.ts', 'MAX_ROUNDS'],
  ['rejected rows that only PostgreSQL finds', 'data-api/import/write.ts', 'MAX_REFUSED_ROWS'],
  ['columns of a CSV file', 'plan/import-plan.ts', 'MAX_COLUMNS'],
  ['entries of `map`', 'request/field-names.ts', 'MAX_MAP_ENTRIES'],
  [
    'imports and exports that wait for their turn',
    'limits/concurrency.ts',
    'MAX_WAITING_OF_WORKSPACE',
    'MAX_WAITING_OF_USER',
    'RETRY_SECONDS',
  ],
  ['entities', 'schema/format.ts', 'MAX_ENTITIES'],
  ['fields, relations of an entity', 'schema/format.ts', 'MAX_FIELDS', 'MAX_RELATIONS'],
  ['indexes of an entity', 'schema/format.ts', 'MAX_INDEXES', 'MAX_INDEX_FIELDS'],
  ['row rules of an entity', 'schema/format.ts', 'MAX_ROW_RULES'],
  ['paths in `defaultExpand`, `expandable` or `defaultFields`', 'schema/format.ts', 'MAX_PATHS'],
  ['values of an `enum`', 'schema/format.ts', 'MAX_ENUM_VALUES'],
  ['`maxLength`', 'schema/format.ts', 'MAX_LENGTH'],
  ['`precision`', 'schema/format.ts', 'MAX_PRECISION'],
  ['a description', 'schema/format.ts', 'MAX_DESCRIPTION'],
  ['API keys, OAuth clients of a workspace', 'store/api-keys.ts', 'MAX_KEYS'],
  ['API keys, OAuth clients of a workspace', 'store/oauth-clients.ts', 'MAX_CLIENTS'],
  ['webhooks of a workspace', 'store/webhooks.ts', 'MAX_WEBHOOKS'],
  ['headers of a webhook', 'admin-api/webhook-body.ts', 'MAX_HEADERS'],
  ['`filter` of a webhook', 'admin-api/webhook-body.ts', 'MAX_FILTER_BYTES'],
  ['`pending` of a webhook', 'admin-api/webhook-feed.ts', 'MAX_PENDING'],
  ['`corsOrigins` of a workspace', 'model/origin.ts', 'MAX_ORIGINS', 'MAX_ORIGIN_LENGTH'],
  ['`requiredClaims` of an identity provider, `claims` of a key', 'admin-api/identity-provider.ts', 'MAX_CLAIMS_BYTES'],
  ['`requiredClaims` of an identity provider, `claims` of a key', 'admin-api/scopes.ts', 'MAX_CLAIMS_BYTES'],
  ['slugs that an owner may use for a workspace', 'store/workspaces.ts', 'MAX_SLUGS'],
  ['migrations at a time', 'services.ts', 'MAX_LONG_MIGRATIONS'],
  ['rollouts at a time', 'rollouts/worker.ts', 'PARALLEL'],
  ['rollouts and plans that are kept', 'store/rollouts.ts', 'MAX_ENDED', 'MAX_PLANS'],
  ['migrations that are kept', 'store/migrations.ts', 'MAX_MIGRATIONS'],
  ['`wait` of a schema change', 'admin-api/migration-wait.ts', 'MAX_WAIT_SECONDS'],
  ['requests of one `access/test`', 'admin-api/access-test.ts', 'MAX_REQUESTS'],
  ['refusals without a valid credential', 'limits/error-throttle.ts', 'PER_SECOND', 'BURST'],
  ['look-ups of unknown credentials', 'auth/bulkhead.ts', 'MAX_CONCURRENT'],
];

for (const [what, file, ...names] of CONSTANTS) {
  test(`the page tells ${names.join(' and ')} of ${file}`, () => {
    const row = ROWS.find((line) => line.startsWith(`| ${what} |`)) ?? '';
    const source = read(`src/${file}`);
    for (const name of names) {
      const digits = new RegExp(`^(?:export )?const ${name} = ([\\d_]+);`, 'm').exec(source)?.[1];
      assert.ok(digits !== undefined, `${name} is not in ${file}`);
      const shown = Number(digits.replaceAll('_', '')).toLocaleString('en-US');
      assert.match(row, new RegExp(`(?<![\\d,])${shown}(?![\\d,]\\d)`), `${name} is ${shown}: ${row}`);
    }
  });
}

test('the settings that the page names are settings', () => {
  const named = ROWS.flatMap((line) => [...(/^\| (`WDA_.*?) \|/.exec(line)?.[1] ?? '').matchAll(/`(WDA_\w+)`/g)]);
  const known = SETTINGS.map(({ name }) => name);
  assert.ok(named.length >= 15);
  for (const [, name = ''] of named) assert.ok(known.includes(name), name);
});
