// The OpenAPI document of what is served outside the data API, as it is served: to whom, how, and whether it says all.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { adminDocument } from '../../../src/openapi/admin.ts';
import { ADMIN_DOCUMENT, makeValidator, mistakesOf, pathOf } from '../../support/admin-document.ts';
import { ADMIN_PREFIX, OPERATIONS } from '../../support/admin-routes.ts';
import { useServer } from '../../support/resources.ts';

const run = promisify(execFile);
const PUBLIC_URL = 'https://data.example.org';
const PLACE = `${ADMIN_PREFIX}/openapi.json`;

const server = useServer({ PUBLIC_URL });

interface Part {
  readonly [name: string]: Part;
}

const PATHS = ADMIN_DOCUMENT.paths as Readonly<Record<string, Readonly<Record<string, Part>>>>;

test('it is served to anybody, and says all that the server serves outside the data API', async () => {
  const answer = await server.call(PLACE);
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
  assert.deepEqual(answer.json, JSON.parse(JSON.stringify(adminDocument(OPERATIONS, PUBLIC_URL))));
  assert.deepEqual(answer.json.servers, [{ url: PUBLIC_URL }]);
});

for (const path of [PLACE, `${ADMIN_PREFIX}/schema.json`]) {
  test(`${path} has a tag: who has it gets 304, and HEAD the headers`, async () => {
    const tag = (await server.call(path)).headers.get('etag') ?? '';
    assert.match(tag, /^"[\w-]{22}"$/);
    const again = await server.call(path, { headers: { 'if-none-match': `"old", W/${tag}` } });
    assert.deepEqual([again.status, again.text, again.headers.get('etag')], [304, '', tag]);
    assert.equal((await server.call(path, { headers: { 'if-none-match': '"old"' } })).status, 200);
    const head = await server.call(path, { method: 'HEAD' });
    assert.deepEqual([head.status, head.text, head.headers.get('etag')], [200, '', tag]);
  });
}

test('each path takes the methods of the document, and refuses all others with their list', async () => {
  for (const [path, operations] of Object.entries(PATHS)) {
    const described = Object.keys(operations).map((method) => method.toUpperCase());
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      const { status, headers } = await server.call(path.replaceAll(/\{\w+\}/g, '1'), { method });
      assert.equal(status === 405, !described.includes(method), `${method} ${path}: ${status}`);
      if (status !== 405) continue;
      const allowed = (headers.get('allow') ?? '').split(', ').filter((one) => one !== 'HEAD');
      assert.deepEqual(allowed.sort(), [...described].sort(), path);
    }
  }
});

test('the linter of OpenAPI documents finds nothing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'wda-openapi-'));
  try {
    await writeFile(join(folder, 'admin.json'), JSON.stringify(adminDocument(OPERATIONS, PUBLIC_URL)));
    const linter = join(import.meta.dirname, '../../../node_modules/@redocly/cli/bin/cli.js');
    const { stdout } = await run(
      process.execPath,
      [linter, 'lint', '--extends=recommended', '--format=json', 'admin.json'],
      { cwd: folder, env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' } },
    );
    const { problems } = JSON.parse(stdout) as { readonly problems: readonly object[] };
    assert.deepEqual(problems, []);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('every schema is one, and none has what generators of clients misread', () => {
  const validator = makeValidator().addVocabulary(['components']);
  const { components } = ADMIN_DOCUMENT as unknown as { readonly components: { readonly schemas: object } };
  validator.compile({ $id: 'all.json', components, $ref: 'all.json#/components/schemas/SchemaDocument' });
  walk(ADMIN_DOCUMENT, (part, path) => {
    assert.ok(!('allOf' in part), `${path}: allOf`);
    assert.ok(!('nullable' in part), `${path}: nullable`);
    if (!path.includes('/parameters/') && !path.endsWith('/properties'))
      assert.ok(!('default' in part), `${path}: default`);
  });
});

test('every example is as its schema says', () => {
  for (const [path, operations] of Object.entries(PATHS)) {
    for (const [method, { requestBody, parameters = {} }] of Object.entries(operations)) {
      const place = ['paths', path, method];
      for (const [type, { example }] of Object.entries(requestBody?.content ?? {})) {
        // Bytes cannot be told in JSON.
        if (type === 'application/octet-stream') continue;
        assert.notEqual(example, undefined, `${method} ${path}`);
        assert.equal(mistakesOf(example, ...place, 'requestBody', 'content', type, 'schema'), undefined);
      }
      for (const [index, { example }] of Object.entries(parameters)) {
        if (example === undefined) continue;
        assert.equal(mistakesOf(example, ...place, 'parameters', index, 'schema'), undefined, `${method} ${path}`);
      }
    }
  }
});

test('summaries and operation ids are unique, and each operation has words, one tag and its parameters', () => {
  const all = OPERATIONS.map(
    (operation) => [operation, PATHS[pathOf(operation)]?.[operation.method.toLowerCase()]] as const,
  );
  for (const member of ['operationId', 'summary']) {
    const values = all.map(([, part]) => String(part?.[member]));
    assert.equal(new Set(values).size, OPERATIONS.length, member);
  }
  for (const [{ pattern, describe }, part] of all) {
    assert.ok(describe.description.length > 0, describe.id);
    assert.deepEqual(part?.tags, [describe.id.split('.')[0]]);
    const places = Object.values(part?.parameters ?? {}).filter(({ in: place }) => String(place) === 'path');
    assert.deepEqual(
      places.map(({ name }) => name),
      [...pattern.matchAll(/:(\w+)/g)].map(([, name]) => name),
    );
  }
});

/** Calls `visit` with each object of a document and its place; what examples hold is no part of it. */
function walk(value: unknown, visit: (part: object, path: string) => void, path = ''): void {
  if (typeof value !== 'object' || value === null) return;
  visit(value, path);
  for (const [name, member] of Object.entries(value)) {
    if (!['example', 'examples'].includes(name)) walk(member, visit, `${path}/${name}`);
  }
}
