// Documents of workspaces and of the admin API as others judge them: Spectral's rules for OpenAPI, and the JSON Schema of
// OpenAPI 3.1 by the OpenAPI Initiative. The judges are in a folder of their own: npm ci --prefix test/tools/linters
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { DEMO_SCHEMA } from '../../../src/bootstrap/demo.ts';
import type { Workspace } from '../../../src/model/workspace.ts';
import { generateDocument } from '../../../src/openapi/document.ts';
import type { PrincipalClass } from '../../../src/openapi/view.ts';
import { ADMIN_DOCUMENT } from '../../support/admin-document.ts';
import { deskFor } from '../../support/desk-document.ts';
import { makeShop, workspaceOf } from '../../support/field-types-fixture.ts';
import { wideDocument } from '../../support/wide-document.ts';

const TOOLS = join(import.meta.dirname, '../../tools/linters');
const isInstalled = existsSync(join(TOOLS, 'node_modules'));
const skip = isInstalled ? false : 'the linters are not installed: npm ci --prefix test/tools/linters';

const FACTS = {
  publicUrl: 'https://api.acme.org',
  tokenUrl: 'https://api.acme.org/oauth/token',
  maxPageSize: 1000,
  maxBulk: 1000,
  maxBatch: 100,
};
const RULES = { rowRules: [{ column: 'customerId', claim: 'customer', enabled: true }] };
const CLASSES: readonly PrincipalClass[] = (['owner', 'external'] as const).flatMap((kind) =>
  [true, false].map((mayWrite) => ({ kind, mayWrite })),
);
const SELECTIONS = ['free', 'fixed'] as const;

function documentFor(workspace: Workspace, who: PrincipalClass, selection: 'free' | 'fixed'): unknown {
  return JSON.parse([...generateDocument(workspace, who, { selection, entities: undefined }, FACTS)].join(''));
}

/** Of each form of the workspace, by the name of the form. */
const documentsOf = (name: string, workspace: Workspace): readonly (readonly [string, unknown])[] =>
  CLASSES.flatMap((who) =>
    SELECTIONS.map(
      (selection) =>
        [
          `${name}, ${who.kind} who ${who.mayWrite ? 'writes' : 'reads'}, ${selection}`,
          documentFor(workspace, who, selection),
        ] as const,
    ),
  );

const ADMIN = ['admin', JSON.parse(JSON.stringify(ADMIN_DOCUMENT))] as const;
const SHOP = documentsOf('shop', makeShop({ orders: RULES }));
const ROLES = ['agent', 'customer', 'robot', 'auditor'].map((role) => {
  const document = documentFor(deskFor(role), { kind: 'external', mayWrite: true }, 'free');
  return [`desk, ${role}`, document] as const;
});

/** What the tests use of the packages, which are not among those of the project. */
interface Spectral {
  setRuleset(ruleset: unknown): void;
  run(
    document: unknown,
  ): Promise<readonly { readonly code: string; readonly message: string; readonly path: unknown }[]>;
}
interface Validator {
  validate(document: unknown): Promise<{ readonly valid: boolean; readonly errors?: unknown }>;
  readonly version: string;
}

if (isInstalled) {
  const require = createRequire(join(TOOLS, 'package.json'));

  test('the schema of OpenAPI 3.1 takes every document', async () => {
    const { href } = pathToFileURL(require.resolve('@seriousme/openapi-schema-validator'));
    const { Validator } = (await import(href)) as { readonly Validator: new () => Validator };
    const wide = documentFor(workspaceOf(wideDocument(200)), { kind: 'owner', mayWrite: true }, 'free');
    for (const [name, document] of [ADMIN, ...SHOP, ...ROLES, ['wide', wide] as const]) {
      const validator = new Validator();
      const { valid, errors } = await validator.validate(document);
      assert.ok(valid, `${name}: ${JSON.stringify(errors)}`);
      assert.equal(validator.version, '3.1');
    }
  });

  test('Spectral finds nothing', async () => {
    const { Spectral } = require('@stoplight/spectral-core') as { readonly Spectral: new () => Spectral };
    const spectral = new Spectral();
    spectral.setRuleset({ extends: [require('@stoplight/spectral-rulesets').oas] });
    const demo = documentsOf('demo', workspaceOf(DEMO_SCHEMA));
    for (const [name, document] of [ADMIN, demo[0], SHOP.at(-1), ...ROLES] as readonly (readonly [string, unknown])[]) {
      const found = await spectral.run(document);
      // Whom to ask about the records of somebody is not ours to tell.
      const others = found.filter(({ code }) => code !== 'info-contact');
      assert.deepEqual(others, [], name);
    }
  });
} else {
  test('documents as other linters see them', { skip }, () => undefined);
}
