// docs/clients/agents.md lists every tool with all of its arguments.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { TOOLS } from '../../../src/mcp/tools.ts';

const page = readFileSync(new URL('../../../docs/clients/agents.md', import.meta.url), 'utf8');

for (const [name, { properties }] of Object.entries(TOOLS)) {
  test(`the arguments of ${name}`, () => {
    const [, cell = ''] =
      new RegExp(`^\\| \`${name}\` \\| (.*?) \\|`, 'm').exec(page) ?? assert.fail(`no line for ${name}`);
    const documented = [...cell.matchAll(/`(\w+)`/g)].map(([, argument]) => argument);
    assert.deepEqual(documented.toSorted(), Object.keys(properties).toSorted());
  });
}
