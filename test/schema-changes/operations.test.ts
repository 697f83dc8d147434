// Every operation on entities, fields and relations, by one proof (test/support/operation-proof.ts). Changes of type and
// of what fields demand are in operations-demands.test.ts.
import { test } from 'node:test';
import type { Json } from '../support/migration.ts';
import { type OperationCase, proveBlocking, proveOnline } from '../support/operation-proof.ts';
import { useServer } from '../support/resources.ts';

const server = useServer();

const TEXT = { type: 'string' };
const notes = (fields: Json, more: Json = {}, others: Json = {}): Json => ({
  entities: { notes: { fields, ...more }, ...others },
});
const people = { people: { fields: { name: TEXT } } };
const PEOPLE = { people: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] };
const author = (more: Json = {}): Json => ({ relations: { author: { kind: 'belongsTo', entity: 'people', ...more } } });
const person = (n: number): number => (n % 3) + 1;
const text = (n: number): Json => ({ text: `t${n}` });
const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

const CASES: readonly OperationCase[] = [
  {
    name: 'a new entity that refers to one in use, beside an index that is built',
    before: notes({ text: TEXT }),
    after: notes(
      { text: { ...TEXT, index: true } },
      {},
      {
        tags: { fields: { label: TEXT }, relations: { note: { kind: 'belongsTo', entity: 'notes', required: true } } },
      },
    ),
    write: text,
    middle: 'notes',
  },
  {
    name: 'an entity that goes, with a relation to it',
    before: notes({ text: TEXT }, author(), people),
    after: notes({ text: TEXT }),
    others: PEOPLE,
    write: (n) => ({ ...text(n), authorId: person(n) }),
    writeAfter: text,
    shows: (written) => ({ text: written.text }),
    refusals: ['VALIDATION_FAILED', 'BAD_REQUEST'],
    reads: ['notes?size=3&expand=author', 'notes/1'],
    readsAfter: ['notes?size=3', 'notes/1'],
    middle: null,
  },
  {
    name: 'an entity that is renamed, with a relation to itself and one from outside',
    before: notes(
      { text: TEXT },
      { relations: { parent: { kind: 'belongsTo', entity: 'notes' } } },
      { tags: { relations: { note: { kind: 'belongsTo', entity: 'notes' } } } },
    ),
    after: {
      entities: {
        tags: { relations: { note: { kind: 'belongsTo', entity: 'pages' } } },
        pages: {
          renamedFrom: 'notes',
          fields: { text: TEXT },
          relations: { parent: { kind: 'belongsTo', entity: 'pages' } },
        },
      },
    },
    entity: ['notes', 'pages'],
    write: text,
    refusals: ['NOT_FOUND'],
    reads: ['notes?size=3&expand=parent', 'tags?expand=note'],
    readsAfter: ['pages?size=3&expand=parent', 'tags?expand=note'],
    middle: null,
  },
  {
    name: 'an entity that is renamed while one of its fields changes its type',
    before: notes({ text: TEXT, rank: { type: 'integer' } }),
    after: { entities: { pages: { renamedFrom: 'notes', fields: { text: TEXT, rank: TEXT } } } },
    entity: ['notes', 'pages'],
    write: (n) => ({ ...text(n), rank: n }),
    writeAfter: (n) => ({ ...text(n), rank: `${n}` }),
    shows: (written) => ({ ...written, rank: `${written.rank}` }),
    refusals: ['NOT_FOUND'],
    middle: 'notes',
  },
  {
    name: 'a new field with a default',
    before: notes({ text: TEXT }),
    after: notes({ text: TEXT, colour: { type: 'string', default: 'red', required: true } }),
    write: text,
    shows: (written) => ({ ...written, colour: 'red' }),
    middle: null,
  },
  {
    name: 'a new field with a default and bounds',
    before: notes({ text: TEXT }),
    after: notes({ text: TEXT, rank: { type: 'integer', default: 3, min: 1, max: 5, required: true } }),
    write: text,
    shows: (written) => ({ ...written, rank: 3 }),
    middle: 'notes',
  },
  {
    name: 'a new required field of generated values',
    before: notes({ text: TEXT }),
    after: notes({ text: TEXT, key: { type: 'uuid', default: 'uuid', required: true, unique: true } }),
    write: text,
    middle: 'notes',
  },
  {
    name: 'time stamps that are added',
    before: notes({ text: TEXT }),
    after: notes({ text: TEXT }, { timestamps: true }),
    write: text,
    middle: null,
  },
  {
    name: 'a field that goes',
    before: notes({ text: TEXT, rank: { type: 'integer', index: true } }),
    after: notes({ text: TEXT }),
    write: (n) => ({ ...text(n), rank: n }),
    writeAfter: text,
    shows: (written) => ({ text: written.text }),
    refusals: ['VALIDATION_FAILED', 'BAD_REQUEST'],
    reads: ['notes?size=3&sort=rank', 'notes?filter=rank,gt,5&size=2'],
    readsAfter: ['notes?size=3'],
    middle: null,
  },
  {
    name: 'a field that is renamed',
    before: notes({ text: { ...TEXT, maxLength: 20, required: true }, rank: { type: 'integer', unique: true } }),
    after: notes({
      title: { ...TEXT, maxLength: 20, required: true, renamedFrom: 'text' },
      rank: { type: 'integer', unique: true },
    }),
    write: (n) => ({ text: `t${n}`, rank: n }),
    writeAfter: (n) => ({ title: `t${n}`, rank: n }),
    shows: (written) => ({ title: written.text, rank: written.rank }),
    refusals: ['VALIDATION_FAILED', 'BAD_REQUEST'],
    reads: ['notes?size=3&fields=text', 'notes?filter=text,eq,t5'],
    readsAfter: ['notes?size=3&fields=title', 'notes?filter=title,eq,t5'],
    middle: null,
  },
  {
    name: 'a new relation',
    before: notes({ text: TEXT }, {}, people),
    after: notes({ text: TEXT }, author({ onDelete: 'cascade' }), people),
    others: PEOPLE,
    write: text,
    shows: (written) => ({ ...written, authorId: null }),
    middle: 'snapshot',
  },
  {
    name: 'a relation that goes',
    before: notes({ text: TEXT }, author(), people),
    after: notes({ text: TEXT }, {}, people),
    others: PEOPLE,
    write: (n) => ({ ...text(n), authorId: person(n) }),
    writeAfter: text,
    shows: (written) => ({ text: written.text }),
    refusals: ['VALIDATION_FAILED', 'BAD_REQUEST'],
    reads: ['notes?size=3&expand=author', 'people'],
    readsAfter: ['notes?size=3', 'people'],
    middle: null,
  },
  {
    name: 'a relation that is renamed',
    before: notes({ text: TEXT }, author({ required: true }), people),
    after: notes(
      { text: TEXT },
      { relations: { writer: { kind: 'belongsTo', entity: 'people', required: true, renamedFrom: 'author' } } },
      people,
    ),
    others: PEOPLE,
    write: (n) => ({ ...text(n), authorId: person(n) }),
    writeAfter: (n) => ({ ...text(n), writerId: person(n) }),
    shows: (written) => ({ text: written.text, writerId: written.authorId }),
    refusals: ['VALIDATION_FAILED', 'BAD_REQUEST'],
    reads: ['notes?size=3&expand=author', 'notes?filter=author.name,eq,a&size=2'],
    readsAfter: ['notes?size=3&expand=writer', 'notes?filter=writer.name,eq,a&size=2'],
    middle: null,
  },
  {
    name: 'a relation that leads elsewhere',
    before: notes({ text: TEXT }, author(), { ...people, teams: {} }),
    after: notes(
      { text: TEXT },
      { relations: { author: { kind: 'belongsTo', entity: 'teams' } } },
      { ...people, teams: {} },
    ),
    others: { people: [...PEOPLE.people, {}, {}], teams: [{}, {}, {}] },
    write: (n) => ({ ...text(n), authorId: person(n) }),
    conflict: { records: [{ authorId: 4 }, { authorId: 5 }, { authorId: 4 }], field: 'authorId' },
    reads: ['notes?size=3&expand=author'],
    readsAfter: ['notes?size=3&expand=author'],
    middle: 'notes',
  },
  {
    name: 'another onDelete',
    before: notes({ text: TEXT }, author(), people),
    after: notes({ text: TEXT }, author({ onDelete: 'setNull' }), people),
    others: PEOPLE,
    write: (n) => ({ ...text(n), authorId: person(n) }),
    middle: 'notes',
  },
  {
    name: 'a field that becomes a relation',
    before: notes({ text: TEXT, authorId: { type: 'integer' } }, {}, people),
    after: notes({ text: TEXT }, author(), people),
    others: PEOPLE,
    write: (n) => ({ ...text(n), authorId: person(n) }),
    conflict: { records: [{ authorId: 4 }, { authorId: -1 }], field: 'authorId' },
    middle: 'notes',
  },
  {
    name: 'a wide field that becomes a required relation',
    before: notes({ text: TEXT, authorId: { type: 'bigint' } }, {}, people),
    after: notes({ text: TEXT }, author({ required: true }), people),
    others: PEOPLE,
    write: (n) => ({ ...text(n), authorId: person(n) }),
    conflict: { records: [{ authorId: 4 }, { authorId: 0 }], field: 'authorId' },
    middle: 'notes',
  },
  {
    name: 'a relation that becomes a field',
    before: notes({ text: TEXT }, author({ required: true }), people),
    after: notes({ text: TEXT, authorId: { type: 'bigint', min: 1, max: 3 } }, {}, people),
    others: { people: [...PEOPLE.people, {}] },
    write: (n) => ({ ...text(n), authorId: person(n) }),
    conflict: { records: [{ authorId: 4 }], field: 'authorId' },
    middle: 'notes',
  },
  {
    name: 'an index',
    before: notes({ text: TEXT, rank: { type: 'integer' } }),
    after: notes(
      { text: { ...TEXT, index: true }, rank: { type: 'integer' } },
      { indexes: [{ fields: ['rank', 'text'] }] },
    ),
    write: (n) => ({ ...text(n), rank: n }),
    middle: 'snapshot',
  },
  {
    name: 'indexes and a unique field that go',
    before: notes(
      { text: { ...TEXT, index: true }, key: { type: 'uuid', unique: true } },
      { indexes: [{ fields: ['text', 'key'] }] },
    ),
    after: notes({ text: TEXT, key: { type: 'uuid' } }),
    write: (n) => ({ ...text(n), key: uuid(n) }),
    middle: null,
  },
];

for (const one of CASES) test(`online: ${one.name}`, () => proveOnline(server, one));

// Each waits a second before it begins.
const AT_ONCE = [
  'a new required field of generated values',
  'a relation that leads elsewhere',
  'a field that becomes a relation',
];
for (const one of CASES.filter(({ name }) => AT_ONCE.includes(name))) {
  test(`at once: ${one.name}`, () => proveBlocking(server, one));
}
