// Query strings of lists, reads and exports become requests; nothing unknown passes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { encodeCursor } from '../../../src/request/page.ts';
import { listParameterNames } from '../../../src/request/parameters.ts';
import type { ExpandTree, FieldTree } from '../../../src/request/paths.ts';
import { parseExportRequest, parseListRequest, parseReadRequest } from '../../../src/request/record-request.ts';
import { refusalOf, refuses, unlessBadRequest } from '../../support/error-response.ts';
import { LIMITS } from '../../support/field-types-fixture.ts';
import { filterText } from './filter-text.ts';

const list = (query: string) => parseListRequest(query, LIMITS);
const read = (query: string) => parseReadRequest(query, LIMITS);
const names = (tree: ExpandTree | FieldTree | 'all' | undefined) =>
  tree === undefined || tree === 'all' ? tree : Object.keys(tree).join(',');

test('a list without parameters has the defaults', () => {
  assert.deepEqual(list(''), {
    kind: 'list',
    selection: { expand: undefined, fields: undefined, narrowings: [] },
    page: 0,
    size: 20,
    after: undefined,
    count: 'exact',
    sort: [],
    filter: undefined,
  });
});

test('a list with every parameter', () => {
  const after = encodeCursor({ sort: 'name,desc;id,desc', keys: ['x', '1'] });
  const query = `size=5&sort=name,desc&sort=total&filter=a,eq,1&filter=b,isNull&or=c,eq,1;d,eq,2&expand=x.y&expand=z&fields=a&fields=b&count=none&after=${after}`;
  const request = list(query);
  assert.equal(request.size, 5);
  assert.equal(request.count, 'none');
  assert.deepEqual(request.after, { sort: 'name,desc;id,desc', keys: ['x', '1'] });
  assert.deepEqual(request.sort, [
    { path: ['name'], direction: 'desc' },
    { path: ['total'], direction: 'asc' },
  ]);
  assert.equal(filterText(request.filter), '(a eq [1] & b isNull & (c eq [1] | d eq [2]))');
  assert.equal(names(request.selection.expand), 'x,z');
  assert.equal(names(request.selection.fields), 'a,b');
});

for (const [query, versions, preview] of [
  ['', undefined, undefined],
  ['versions=true', true, undefined],
  ['versions=false', false, undefined],
  ['preview=1', undefined, 1],
  ['preview=10000&versions=true', true, 10_000],
] as const) {
  test(`a list with ${query || 'nothing'} tells versions ${versions} and previews ${preview}`, () => {
    const request = list(query);
    assert.deepEqual([request.versions, request.preview], [versions, preview]);
  });
}

for (const [query, message] of [
  ['versions=1', 'versions must be true or false, not 1'],
  ['versions=true&versions=true', 'Query parameter versions may be given only once'],
  ['preview=0', 'preview must be an integer from 1 to 10000'],
  ['preview=10001', 'preview must be an integer from 1 to 10000'],
] as const) {
  test(`a list with ${query} is refused`, () => refuses(() => list(query), message));
}

for (const query of ['versions=true', 'preview=10']) {
  test(`${query} is for lists alone`, () => {
    refuses(() => read(query), /^Unknown query parameter /);
    refuses(() => parseExportRequest(query), /^Unknown query parameter /);
  });
}

test('the default size is not above the maximum of the installation', () => {
  assert.equal(parseListRequest('', { maxPageSize: 5 }).size, 5);
  refuses(() => parseListRequest('size=6', { maxPageSize: 5 }), 'size must be an integer from 1 to 5');
});

test('expand and fields: not given, empty and named are three things', () => {
  for (const parse of [list, read]) {
    assert.equal(names(parse('').selection.expand), undefined);
    assert.equal(names(parse('expand=').selection.expand), '');
    assert.equal(names(parse('expand=a&expand=').selection.expand), 'a');
    assert.equal(names(parse('').selection.fields), undefined);
    assert.equal(names(parse('fields=').selection.fields), 'all');
    assert.equal(names(parse('fields').selection.fields), 'all');
    assert.equal(names(parse('fields=a&fields=').selection.fields), 'a');
  }
});

const LIST_KNOWN = listParameterNames('list', 'query');

for (const [query, message] of [
  ['limit=5', `Unknown query parameter limit. Did you mean size? Known: ${LIST_KNOWN}`],
  ['pgae=1', `Unknown query parameter pgae. Did you mean page? Known: ${LIST_KNOWN}`],
  ['page=1&page=2', 'Query parameter page may be given only once'],
  ['page=0&after=x', 'page and after do not go together: after continues from a cursor'],
  ['page=x', 'page must be an integer from 0 to 1000000000000'],
  ['size=0', 'size must be an integer from 1 to 1000'],
  ['count=all', 'Unknown count all. Known: exact, estimated, none'],
  ['orders.limit=5', /^Unknown query parameter orders\.limit\./],
  ['.size=5', /^Unknown query parameter \.size\./],
  ['orders.size=0', 'orders.size must be an integer from 1 to 1000'],
  ['orders.size=1&orders.size=2', 'Query parameter orders.size may be given only once'],
  ['orders.filter=a', /^filter a is malformed/],
] as const) {
  test(`a list with ?${query} is refused`, () => refuses(() => list(query), message));
}

test('a parameter that no other operation would miss is unknown to a read', () => {
  for (const query of ['page=0', 'size=1', 'sort=a', 'filter=a,eq,1', 'count=none', 'after=x']) {
    const name = query.slice(0, query.indexOf('='));
    refuses(() => read(query), new RegExp(`^Unknown query parameter ${name}\\..* Known: expand, fields$`));
  }
});

test('names that start with _ are ignored, whatever they hold', () => {
  assert.deepEqual(list('_=1700000000&_=2&_x.size=junk&__proto__=1'), list(''));
  assert.deepEqual(read('_=1'), read(''));
  assert.deepEqual(parseExportRequest('_=1'), parseExportRequest(''));
});

test('expanded lists are narrowed by size, sort and filter below their path', () => {
  const { narrowings } = read(
    'expand=orders.items&orders.size=5&orders.sort=placedAt,desc&orders.sort=id&orders.items.filter=quantity,gt,1&orders.filter=status,eq,paid&orders.filter=total,gt,1',
  ).selection;
  assert.deepEqual(
    narrowings.map(({ path, size, sort, filter }) => ({
      path: path.join('.'),
      size,
      sort: sort.map((term) => `${term.path.join('.')} ${term.direction}`),
      filter: filterText(filter),
    })),
    [
      { path: 'orders', size: 5, sort: ['placedAt desc', 'id asc'], filter: '(status eq [paid] & total gt [1])' },
      { path: 'orders.items', size: undefined, sort: [], filter: 'quantity gt [1]' },
    ],
  );
});

test('an export takes a format, filters, a sort and fields', () => {
  const request = parseExportRequest('format=ndjson&filter=a,eq,1&or=b,eq,1;c,eq,2&sort=a,desc&fields=b,a');
  assert.equal(request.format, 'ndjson');
  assert.equal(names(request.fields), 'b,a');
  assert.deepEqual(request.sort, [{ path: ['a'], direction: 'desc' }]);
  assert.equal(filterText(request.filter), '(a eq [1] & (b eq [1] | c eq [2]))');
  assert.equal(parseExportRequest('').format, 'csv');
  assert.equal(parseExportRequest('fields=').fields, undefined);
});

for (const [query, message] of [
  ['format=xml', 'Unknown format xml. Known: csv, ndjson'],
  ['page=1', /^Unknown query parameter page\./],
  ['expand=a', /^Unknown query parameter expand\./],
  ['orders.size=1', /^Unknown query parameter orders\.size\./],
] as const) {
  test(`an export with ?${query} is refused`, () => refuses(() => parseExportRequest(query), message));
}

test('no query string makes anything but a request or a 400', () => {
  const name = fc.oneof(
    fc.constantFrom(...LIST_KNOWN.split(', '), 'orders.size', 'orders.sort', 'orders.filter', '_', '.', 'format'),
    fc.string({ maxLength: 5 }),
  );
  const value = fc.oneof(fc.constantFrom('', '0', '5', 'a', 'a,eq,1', 'a,desc', 'none'), fc.string({ maxLength: 6 }));
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value), { maxLength: 5 }), (pairs) => {
      const query = pairs.map(([key, text]) => `${encodeURIComponent(key)}=${encodeURIComponent(text)}`).join('&');
      for (const parse of [list, read, parseExportRequest]) {
        if (unlessBadRequest(() => parse(query)) !== undefined) continue;
        assert.equal(refusalOf(() => parse(query)).code, 'BAD_REQUEST');
      }
    }),
  );
});
