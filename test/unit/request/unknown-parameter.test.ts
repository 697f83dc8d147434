// Parameters that an operation does not take: the refusal says which one was probably meant.
import { test } from 'node:test';
import { readQuery } from '../../../src/request/read-parameters.ts';
import { refuses } from '../../support/error-response.ts';

for (const [operation, query, suggestion] of [
  ['list', 'limit=3', 'size'],
  ['list', 'per_page=3', 'size'],
  ['list', 'pageSize=3', 'size'],
  ['list', 'cursor=x', 'after'],
  ['list', 'order=title', 'sort'],
  ['list', 'include=author', 'expand'],
  ['read', 'include=author', 'expand'],
  ['list', 'select=title', 'fields'],
  ['list', 'q=tea', 'search'],
  ['list', 'offset=3', 'page, a number of pages (0 is the first) and not of records'],
  ['list', 'sise=3', 'size'],
  ['workspaceChanges', 'entity=orders', 'entities'],
  ['changes', 'type=created', 'types'],
  ['list', 'type=new', 'filter=type,eq,<value>'],
  ['list', 'price=10', 'filter=price,eq,<value>'],
  ['list', 'constructor=10', 'filter=constructor,eq,<value>'],
  ['list', 'author.name=Ada', 'filter=author.name,eq,<value>'],
  ['aggregate', 'price=10', 'filter=price,eq,<value>'],
  ['list', 'books.fields=title', 'fields=books.<field>'],
  ['read', 'books.fields=title', 'fields=books.<field>'],
  ['list', 'books.expand=author', 'expand=books.<relation>'],
  ['list', 'books.sise=1', 'books.size'],
] as const) {
  test(`${operation}?${query} is refused, with the hint ${suggestion}`, () => {
    const name = query.slice(0, query.indexOf('='));
    const words = `Unknown query parameter ${name}. Did you mean ${suggestion}? Known: `;
    refuses(() => readQuery(operation, query), new RegExp(`^${RegExp.escape(words)}`));
  });
}

for (const [operation, query] of [
  ['read', 'limit=3'],
  ['read', 'price=10'],
  ['read', 'page=0'],
  ['aggregate', 'fields=id'],
  ['list', 'na%20me=1'],
  ['create', 'offset=1'],
] as const) {
  test(`${operation}?${query} is refused without a hint`, () =>
    refuses(() => readQuery(operation, query), /^Unknown query parameter [\w ]+\. Known: /));
}

test('the parameters of an expanded list are listed where its path is named', () =>
  refuses(
    () => readQuery('read', 'books.foo=1'),
    'Unknown query parameter books.foo. Known: expand, fields, books.size, books.sort, books.filter, books.search',
  ));
