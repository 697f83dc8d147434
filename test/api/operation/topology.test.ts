// What is for a cluster is loaded where the database coordinates one, and nowhere else.
import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { test } from 'node:test';

const CITUS = /\/src\/citus\//;
// Support of tests imports the errors of a cluster by itself.
const IMPORTER = /\/src\/(?!citus\/)/;

const loaded: string[] = [];
registerHooks({
  resolve(specifier, context, next) {
    const result = next(specifier, context);
    if (IMPORTER.test(context.parentURL ?? '')) loaded.push(result.url);
    return result;
  },
});

test('a server on one PostgreSQL loads nothing that is for a cluster', async (t) => {
  const { isCluster } = await import('../../support/citus.ts');
  const { startTestServer } = await import('../../support/server.ts');
  const server = await startTestServer();
  t.after(() => server.stop());
  assert.ok(loaded.some((url) => url.endsWith('/src/store/databases.ts')));
  assert.equal(
    loaded.some((url) => CITUS.test(url)),
    isCluster,
  );
});
