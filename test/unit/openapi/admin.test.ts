// Operations as they are printed: shapes with titles, refusals by status, and what cannot be told apart.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminDocument } from '../../../src/openapi/admin.ts';
import type { Description, Operation } from '../../../src/openapi/operation.ts';

const operation = (id: Description['id'], more: Partial<Description> = {}): Operation => ({
  method: 'GET',
  pattern: `/${id}/:org`,
  describe: {
    id,
    summary: id,
    description: 'It is one.',
    credential: 'none',
    params: { org: { type: 'string', description: 'Whose.', examples: ['acme'] } },
    query: {},
    responses: { 204: null },
    errors: [],
    ...more,
  },
});

// biome-ignore lint/suspicious/noExplicitAny: tests look into it as they expect it to be
const print = (...operations: readonly Operation[]): any => adminDocument(operations, 'http://localhost');
const shape = (title: string, member: string) => ({
  title,
  type: 'object',
  properties: { [member]: { type: 'string' } },
});

test('a parameter has the words of its shape', () => {
  assert.deepEqual(print(operation('server.one')).paths['/server.one/{org}'].get.parameters, [
    { name: 'org', in: 'path', required: true, description: 'Whose.', schema: { type: 'string' }, example: 'acme' },
  ]);
});

test('a shape with a title is one component, wherever it stands', () => {
  const thing = shape('Thing', 'name');
  const list = {
    type: 'object',
    properties: { title: { type: 'array', items: thing }, one: { oneOf: [thing, { type: 'null' }] } },
  };
  const { paths, components } = print(operation('server.one', { responses: { 200: { shape: list } } }));
  const reference = { $ref: '#/components/schemas/Thing' };
  assert.deepEqual(paths['/server.one/{org}'].get.responses[200].content['application/json'].schema, {
    type: 'object',
    properties: { title: { type: 'array', items: reference }, one: { oneOf: [reference, { type: 'null' }] } },
  });
  assert.deepEqual(components.schemas.Thing, { type: 'object', properties: { name: { type: 'string' } } });
});

test('refusals with the same status are one response, which says when each of them comes', () => {
  const refusals = [
    { status: 409, code: 'CONFLICT', when: 'it is taken' },
    { status: 409, code: 'SCHEMA_MIGRATION_IN_PROGRESS', when: 'a migration is running' },
    { status: 404, code: 'NOT_FOUND', when: 'it is not there' },
  ];
  const { paths, components } = print(operation('server.one', { errors: refusals }));
  assert.deepEqual(paths['/server.one/{org}'].get.responses[409], {
    $ref: '#/components/responses/Conflict',
    description: '`CONFLICT`: it is taken. `SCHEMA_MIGRATION_IN_PROGRESS`: a migration is running.',
  });
  for (const name of ['Conflict', 'NotFound']) assert.ok(name in components.responses, name);
});

test('refusals in the words of OAuth have their schema', () => {
  const refusals = [{ status: 401, code: 'invalid_client', when: 'nobody knows it' }];
  const { paths } = print(operation('oauth.one', { errors: refusals, errorFormat: 'oauth' }));
  assert.deepEqual(paths['/oauth.one/{org}'].get.responses[401], {
    description: '`invalid_client`: nobody knows it.',
    content: { 'application/json': { schema: { $ref: '#/components/schemas/OAuthError' } } },
  });
});

test('only the tags that are used are listed', () => {
  assert.deepEqual(
    print(operation('oauth.one'), operation('oauth.two')).tags.map(({ name }: { name: string }) => name),
    ['oauth'],
  );
});

test('two operations with one id, and two shapes with one title, cannot be printed', () => {
  assert.throws(() => print(operation('server.one'), operation('server.one')), /two operations are called server\.one/);
  const responses = { 200: { shape: shape('Thing', 'name') }, 201: { shape: shape('Thing', 'other') } };
  assert.throws(() => print(operation('server.one', { responses })), /two shapes are called Thing/);
});
