// The table of parameters: what must hold of its entries together.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OPERATIONS, WORKSPACE_OPERATIONS } from '../../../src/request/operations.ts';
import {
  type AnyOperationName,
  getParameterName,
  getParameters,
  PARAMETER_ENTRIES,
} from '../../../src/request/parameters.ts';
import { readBody, readQuery } from '../../../src/request/read-parameters.ts';
import { refuses } from '../../support/error-response.ts';

const PLACES = [...Object.keys(OPERATIONS), ...Object.keys(WORKSPACE_OPERATIONS)] as AnyOperationName[];

for (const place of PLACES) {
  test(`${place} has one parameter of a name, and each that excludes another has that one`, () => {
    for (const where of ['query', 'body'] as const) {
      const keys = getParameters(place, where);
      assert.equal(new Set(keys.map(getParameterName)).size, keys.length);
      for (const [key, { excludes }] of PARAMETER_ENTRIES) {
        if (keys.includes(key) && excludes !== undefined) assert.ok(keys.map(getParameterName).includes(excludes[0]));
      }
    }
    assert.deepEqual(readQuery(place, ''), {});
    assert.deepEqual(readBody(place, {}), {});
    refuses(() => readQuery(place, 'nothing=1'), /^Unknown query parameter nothing\./);
    refuses(() => readBody(place, { nothing: 1 }), /^Unknown member nothing of the query\./);
  });
}

test('every parameter stands somewhere, and a word of its schema is read as itself, as text and as JSON', () => {
  for (const [key, { form, query = [], body = [] }] of PARAMETER_ENTRIES) {
    assert.ok(query.length + body.length > 0, key);
    const input = { name: key, limits: { maxPageSize: 9 }, count: { conditions: 0, nodes: 0 } };
    const { enum: words = [] } = form.schema(input.limits) as { readonly enum?: readonly string[] };
    for (const word of words) {
      assert.equal(form.fromText([word], input), word);
      assert.equal(form.fromJson(word, input), word);
    }
  }
});
