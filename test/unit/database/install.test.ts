// The files of install/ keep to what the runner, and a schema that is dumped, moved or distributed, need of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { INSTALL_FILES } from '../../../src/database/install.ts';

const withoutComments = (statement: string): string => statement.replaceAll(/^[ \t]*--.*\n/gm, '').trim();

for (const [folder, files] of Object.entries(INSTALL_FILES)) {
  test(`install/${folder}: files have numbers of six digits, from 1 on`, () => {
    assert.deepEqual(
      files.map(({ name }) => /^(\d{6})-[a-z-]+$/.exec(name)?.[1]),
      files.map((_, index) => String(index + 1).padStart(6, '0')),
    );
  });

  for (const { name, statements } of files) {
    test(`install/${folder}/${name}: an empty line follows each statement, and none is in it`, () => {
      for (const statement of statements.map(withoutComments)) {
        assert.match(statement, /^(?:create|alter|revoke|drop|insert|update|delete|comment|do)\b/, statement);
        assert.doesNotMatch(statement, /\n\n/, statement);
        assert.doesNotMatch(statement, /;\n(?:create|alter|revoke|drop)\b/, statement);
      }
    });
  }
}

for (const { name, statements } of INSTALL_FILES.workspace) {
  test(`install/workspace/${name}: statements are about the schema of the workspace alone`, () => {
    for (const statement of statements.map(withoutComments)) {
      assert.match(statement, /\{schema\}/, statement);
      assert.doesNotMatch(statement, /\bwda\b/, statement);
      // All that is named there begins with $, as no entity does.
      for (const [, one] of statement.matchAll(/\{schema\}\."([^"]+)"/g)) assert.match(one as string, /^\$/, statement);
    }
  });

  test(`install/workspace/${name}: functions have their own search path`, () => {
    const functions = statements.map(withoutComments).filter((one) => /^create (?:or replace )?function/.test(one));
    // Those for single values run with that of their caller.
    const isForValues = (statement: string): boolean => /\bimmutable\b|"\$reached_id"/.test(statement);
    for (const statement of functions.filter((one) => !isForValues(one))) {
      assert.match(statement, /set search_path = pg_catalog, pg_temp/, statement);
    }
    for (const statement of functions.filter(isForValues))
      assert.doesNotMatch(statement, /security definer/, statement);
  });
}
