// Documents of users with roles: they show what these may send and get, and nothing else.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateDocument } from '../../../src/openapi/document.ts';
import { deskFor } from '../../support/desk-document.ts';

const FACTS = {
  publicUrl: 'https://api.acme.org',
  tokenUrl: 'https://api.acme.org/oauth/token',
  maxPageSize: 1000,
  maxBulk: 1000,
  maxBatch: 100,
};

interface Parts {
  readonly [name: string]: {
    readonly required?: readonly string[];
    readonly properties: Readonly<
      Record<string, { readonly type?: string | readonly string[]; readonly readOnly?: true }>
    >;
    readonly 'x-wda'?: object;
  };
}
interface Document {
  readonly paths: Readonly<Record<string, object>>;
  readonly tags: readonly { readonly name: string }[];
  readonly components: { readonly schemas: Parts; readonly [kind: string]: Readonly<Record<string, object>> };
}

const textFor = (selection: 'free' | 'fixed', ...roles: readonly string[]): string =>
  [
    ...generateDocument(
      deskFor(...roles),
      { kind: 'external', mayWrite: true },
      { selection, entities: undefined },
      FACTS,
    ),
  ].join('');
const documentFor = (...roles: readonly string[]): Document => JSON.parse(textFor('free', ...roles));

for (const roles of [
  [],
  ['agent'],
  ['customer'],
  ['robot'],
  ['auditor'],
  ['robot', 'auditor'],
  ['agent', 'customer'],
]) {
  for (const selection of ['free', 'fixed'] as const) {
    test(`every component is referred to, and every reference leads to one: ${selection} of ${roles.join(' and ')}`, () => {
      const text = textFor(selection, ...roles);
      const { components } = JSON.parse(text) as Document;
      const references = new Set([...text.matchAll(/"#\/components\/([^"]+)"/g)].map(([, name]) => name));
      const names = Object.entries(components)
        .filter(([kind]) => kind !== 'securitySchemes')
        .flatMap(([kind, parts]) => Object.keys(parts).map((name) => `${kind}/${name}`))
        // The schemas of the refusals are the same in every document.
        .filter((name) => references.has(name) || !name.startsWith('schemas/wda.Error'));
      assert.deepEqual([...references].toSorted(), names.toSorted());
    });
  }
}

test('entities, paths and fields are those of the role', () => {
  const customer = documentFor('customer');
  assert.deepEqual(
    customer.tags.map(({ name }) => name),
    ['This workspace', 'companies', 'tickets', 'comments', 'news'],
  );
  const paths = Object.entries(customer.paths).filter(([path]) => path.startsWith('/companies'));
  assert.deepEqual(
    paths.map(([path, item]) => [path, ...Object.keys(item)].join(' ')),
    [
      '/companies get',
      '/companies/_query post',
      '/companies/_aggregate get post',
      '/companies/_export get',
      '/companies/{id} parameters get',
    ],
  );
  // An import has notes of its own.
  const text = textFor('free', 'customer').replaceAll('"notes":{"type":"array"', '');
  assert.equal(/notes|"rate"|robot/.exec(text)?.[0], undefined);
  const { schemas } = customer.components;
  assert.deepEqual(Object.keys(schemas['tickets.Create']?.properties ?? {}), ['subject', 'status', 'code']);
  assert.deepEqual(schemas['tickets.Create']?.required, ['subject']);
  assert.equal(schemas['tickets.Update'], undefined);
  const { subject, status, priority, companyId } = schemas['tickets.Read']?.properties ?? {};
  // Each of the two grants that read shows fields that the other does not.
  const types = [subject, status, priority, companyId].map((schema) => [schema?.type].flat().join(' or '));
  assert.deepEqual(types, ['string or null', 'string or null', 'integer or null', 'integer or null']);
  assert.deepEqual([subject?.readOnly, priority?.readOnly, companyId?.readOnly], [undefined, true, true]);
});

test('what cannot be read after a write is the id alone', () => {
  const { tags, paths, components } = documentFor('robot');
  assert.deepEqual(
    tags.map(({ name }) => name),
    ['This workspace', 'companies', 'tickets', 'news'],
  );
  assert.deepEqual(
    Object.keys(paths).filter((path) => path.startsWith('/tickets')),
    ['/tickets', '/tickets/_import', '/tickets/_bulk'],
  );
  const { 'tickets.Read': read, tickets } = components.schemas;
  assert.equal(read, undefined);
  assert.deepEqual([tickets?.required, Object.keys(tickets?.properties ?? {})], [['id'], ['id']]);
  assert.deepEqual(tickets?.['x-wda'], { entity: 'tickets', expandDepth: 3, mayHideWritten: true, relations: {} });

  const { comments } = documentFor('customer').components.schemas;
  assert.deepEqual([comments?.required, Object.keys(comments?.properties ?? {}).length], [['id'], 4]);
  assert.equal(documentFor('customer').components.schemas.tickets?.required?.length, 5);
});

test('an entity with which a role can do nothing is not described, and relations to it are null', () => {
  const auditor = documentFor('auditor');
  assert.deepEqual(
    auditor.tags.map(({ name }) => name),
    ['This workspace', 'comments', 'news'],
  );
  const read = auditor.components.schemas['comments.Read'];
  assert.deepEqual(read?.properties.ticket, { type: 'null' });
  assert.deepEqual((read?.['x-wda'] as { relations: object } | undefined)?.relations, {
    ticket: { kind: 'belongsTo', entity: 'tickets', isList: false, isNullable: true, isEmpty: true, key: 'ticketId' },
  });
});
