// The files of install/workspace keep to what a schema that is dumped, moved or distributed needs of them.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const FOLDER = new URL('../../../install/workspace/', import.meta.url);
const FILES = readdirSync(FOLDER).sort();

test('files have numbers of six digits, from 1 on', () => {
  assert.deepEqual(
    FILES.map((file) => /^(\d{6})-[a-z-]+\.sql$/.exec(file)?.[1]),
    FILES.map((_, index) => String(index + 1).padStart(6, '0')),
  );
});

for (const file of FILES) {
  const text = readFileSync(new URL(file, FOLDER), 'utf8');
  const statements = text
    .replaceAll(/^[ \t]*--.*\n/gm, '')
    .split(/;\n(?:\n|$)/)
    .map((statement) => statement.trim())
    .filter(Boolean);

  test(`${file}: one statement a text, about the schema of the workspace alone`, () => {
    for (const statement of statements) {
      assert.doesNotMatch(statement, /\n\n/, statement);
      assert.match(statement, /^(?:create|alter|revoke|drop|insert|update|delete|comment|do)\b/, statement);
      assert.match(statement, /\{schema\}/, statement);
      assert.doesNotMatch(statement, /\bwda\b/, statement);
      // All that is named there begins with $, as no entity does.
      for (const [, name] of statement.matchAll(/\{schema\}\."([^"]+)"/g))
        assert.match(name as string, /^\$/, statement);
    }
  });

  test(`${file}: functions have their own search path`, () => {
    const functions = statements.filter((statement) => /^create (?:or replace )?function/.test(statement));
    // Those for single values run with that of their caller.
    const isForValues = (statement: string): boolean => /\bimmutable\b|"\$reached_id"/.test(statement);
    for (const statement of functions.filter((one) => !isForValues(one))) {
      assert.match(statement, /set search_path = pg_catalog, pg_temp/, statement);
    }
    for (const statement of functions.filter(isForValues))
      assert.doesNotMatch(statement, /security definer/, statement);
  });
}
