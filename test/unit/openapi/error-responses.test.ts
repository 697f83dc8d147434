// The refusals of OpenAPI documents: every code has its status, and every example is a body that the schema takes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { ERROR_CODES, type ErrorCode } from '../../../src/errors.ts';
import {
  buildErrorRefs,
  ERROR_SCHEMAS,
  errorResponses,
  type Part,
  withStatuses,
} from '../../../src/openapi/error-responses.ts';

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
const isError = ajv.compile({
  $ref: '#/$defs/wda.Error',
  $defs: JSON.parse(JSON.stringify(ERROR_SCHEMAS).replaceAll('#/components/schemas/', '#/$defs/')),
});

for (const code of Object.keys(ERROR_CODES) as ErrorCode[]) {
  test(`${code} has a response with its words and an example`, () => {
    const [status] = Object.keys(buildErrorRefs([code]));
    assert.equal(status, String(ERROR_CODES[code]));
    const [response] = Object.values(errorResponses(withStatuses([code])));
    assert.match(String(response?.description), new RegExp(`^.${code}. .[0-9]{3}.: .+[.]$`));
  });
}

test('a response has the codes of its status, and no others', () => {
  for (const [name, { description }] of Object.entries(errorResponses())) {
    const statuses = [...String(description).matchAll(/`[A-Z_]+` \((\d+)\)/g)].map(([, status]) => status);
    assert.equal(new Set(statuses).size, 1, `${name}: ${description}`);
  }
});

test('a code that comes with a status of its own is told there', () => {
  const { Conflict } = errorResponses([{ code: 'SCHEMA_MIGRATION_IN_PROGRESS', status: 409 }]);
  assert.match(String(Conflict?.description), /^`SCHEMA_MIGRATION_IN_PROGRESS` \(409\): /);
});

test('every reference to a response is to one that there is', () => {
  const responses = errorResponses();
  for (const reference of Object.values(buildErrorRefs(Object.keys(ERROR_CODES) as ErrorCode[]))) {
    const name = String(reference.$ref).replace('#/components/responses/', '');
    assert.ok(Object.hasOwn(responses, name), name);
  }
});

test('every example is a body of the schema, with a code of its status', () => {
  for (const [name, response] of Object.entries(errorResponses())) {
    const examples = Object.values(examplesOf(response));
    assert.ok(examples.length > 0, name);
    for (const { value } of examples) {
      assert.ok(isError(value), JSON.stringify(isError.errors));
      const [reference] = Object.values(buildErrorRefs([value.error.code]));
      assert.equal(reference?.$ref, `#/components/responses/${name}`);
    }
  }
});

interface Example {
  readonly value: { readonly error: { readonly code: ErrorCode } };
}

function examplesOf({ content }: Part): Readonly<Record<string, Example>> {
  return (content as { 'application/json': { examples: Record<string, Example> } })['application/json'].examples;
}
