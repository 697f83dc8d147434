// Drafts of links, and the members of a body that they become.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringifyExact } from '../../../../console/src/api/json.ts';
import { parseSchema } from '../../../../console/src/api/schema.ts';
import {
  addLink,
  type LinkDraft,
  listWrittenRelations,
  NO_LINKS,
  printLinks,
  removeLink,
} from '../../../../console/src/records/link-draft.ts';

const STORED = ['1', '2'];

for (const [name, steps, expected] of [
  ['a new one is added once', [addLink, '3', addLink, '3'], { added: ['3'], removed: [] }],
  ['a linked one stays', [addLink, '1'], NO_LINKS],
  ['a linked one is removed once', [removeLink, '1', removeLink, '1'], { added: [], removed: ['1'] }],
  ['what was removed is linked again', [removeLink, '1', addLink, '1'], NO_LINKS],
  ['what was added is taken back', [addLink, '3', removeLink, '3'], NO_LINKS],
] as const) {
  test(name, () => {
    let draft: LinkDraft = NO_LINKS;
    for (let at = 0; at < steps.length; at += 2)
      draft = (steps[at] as typeof addLink)(draft, steps[at + 1] as string, STORED);
    assert.deepEqual(draft, expected);
  });
}

test('bodies have the relations that change, with every digit of the ids', () => {
  const drafts = new Map([
    ['tags', { added: ['9007199254740991'], removed: ['2'] }],
    ['others', NO_LINKS],
  ]);
  const print = (isNew: boolean) => stringifyExact(Object.fromEntries(printLinks(drafts, isNew)));
  assert.equal(print(false), '{"tags":{"$add":[9007199254740991],"$remove":[2]}}');
  assert.equal(print(true), '{"tags":[9007199254740991]}');
});

test('relations are written whose entity between the two requires nothing else, and may be written', () => {
  const tags = (through: string) => ({ kind: 'manyToMany', entity: 'tags', through, from: 'post', to: 'tag' });
  const key = { kind: 'belongsTo', entity: 'tags', required: true };
  const make = (operations: readonly string[], fields: object, relations = {}) => ({
    fields,
    relations: { post: key, tag: key, ...relations },
    operations,
  });
  const schema = parseSchema({
    organization: 'o',
    workspace: 'w',
    name: 'w',
    entities: {
      posts: {
        fields: {},
        relations: {
          plain: tags('plain'),
          ranked: tags('ranked'),
          noted: tags('noted'),
          owned: tags('owned'),
          fixed: tags('fixed'),
          shrinking: tags('shrinking'),
          hidden: tags('hidden'),
        },
      },
      plain: make(['list', 'create'], {}),
      ranked: make(['create'], { rank: { type: 'integer', required: true, default: 1 } }),
      noted: make(['create'], { note: { type: 'text', required: true } }),
      owned: make(['create'], {}, { owner: key }),
      fixed: make(['list'], {}),
      shrinking: make(['delete'], {}),
    },
  } as unknown as Parameters<typeof parseSchema>[0]);
  const posts = schema.entities.get('posts');
  assert.ok(posts);
  const list = (isNew: boolean) => listWrittenRelations(posts, schema, isNew).map(({ name }) => name);
  assert.deepEqual(list(false), ['plain', 'ranked', 'shrinking']);
  assert.deepEqual(list(true), ['plain', 'ranked']);
});
