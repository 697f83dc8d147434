import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExact } from '../../../../console/src/api/json.ts';
import {
  createDraft,
  deserializeDraft,
  hasNoEntities,
  isChange,
  isUnchanged,
  printExample,
  serializeDraft,
  setFormat,
  setText,
  setValue,
} from '../../../../console/src/schema/draft.ts';
import { setAt } from '../../../../console/src/schema/json-value.ts';
import { parseText } from '../../../../console/src/schema/text.ts';

const IN_FORCE = parseExact('{"entities":{"a":{"fields":{"n":{"type":"decimal","min":1.10}}}}}');
const valueOfDraft = (draft: Parameters<typeof serializeDraft>[0]) => parseText(draft.format, draft.text).value ?? null;

test('a fresh draft changes nothing, and every digit survives both forms and the storage', () => {
  const draft = setFormat(setFormat(createDraft(IN_FORCE, '"1"', 'yaml'), 'json'), 'yaml');
  assert.equal(isChange(valueOfDraft(draft), IN_FORCE), false);
  assert.deepEqual(deserializeDraft(serializeDraft(draft)), draft);
});

test("editors' $schema is no change, another order is", () => {
  const draft = createDraft(IN_FORCE, undefined, 'yaml');
  assert.equal(isChange(valueOfDraft(setText(draft, `$schema: x\n${draft.text}`)), IN_FORCE), false);
  const [one, two] = [parseExact('{"entities":{"a":{},"b":{}}}'), parseExact('{"entities":{"b":{},"a":{}}}')];
  assert.equal(isChange(one, two), true);
});

test('the draft of an empty workspace is empty; an example is a choice', () => {
  for (const format of ['yaml', 'json'] as const) {
    for (const inForce of [{ entities: {} }, {}]) {
      const draft = createDraft(inForce, undefined, format);
      assert.equal(isUnchanged(draft), true);
      assert.equal(hasNoEntities(valueOfDraft(draft)), true);
      const example = setText(draft, printExample('Simple', format));
      assert.equal(isChange(valueOfDraft(example), inForce), true);
      assert.equal(hasNoEntities(valueOfDraft(example)), false);
    }
  }
});

test('a draft that changes is no longer the one that is applied', () => {
  const draft = { ...createDraft(IN_FORCE, undefined, 'yaml' as const), applying: '7' };
  const changed = setValue(draft, setAt(IN_FORCE, ['entities', 'b'], {}));
  assert.equal(changed.applying, undefined);
  assert.match(changed.text, /^ {2}b: \{\}$/m);
});

test('a draft in another form is untouched, one that says something else is not', () => {
  const draft = setFormat(createDraft(IN_FORCE, undefined, 'yaml'), 'json');
  assert.equal(isUnchanged(draft), true);
  assert.equal(isUnchanged(setText(draft, `${draft.text},`)), false);
  assert.equal(isUnchanged(setValue(draft, setAt(IN_FORCE, ['entities', 'b'], {}))), false);
});

test('what is no draft is none', () => {
  for (const packed of [
    null,
    '',
    '{}',
    '{"format":"xml","text":"","base":"{}"}',
    '{"format":"yaml","text":"","base":"{"}',
  ])
    assert.equal(deserializeDraft(packed), undefined);
});
