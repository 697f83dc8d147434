// What is no aggregate: refused with what is wrong and what there is, in few bytes, and nothing is asked of the database.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused } from '../../support/hostile-input.ts';
import { use, useServer } from '../../support/resources.ts';
import { makeShop } from '../../support/shop.ts';

const server = useServer();
const shop = use(() => makeShop(server));

const FIELDS = 'Known: id, status, total, placedAt, note, customerId';

for (const [query, message] of [
  ['', /^select is missing/],
  ['group=status', /^select is missing/],
  ['select=total', /^Unknown function total in select\. Known: count, countDistinct, sum, avg, min, max/],
  ['select=sum', 'select sum needs a field: sum:<field>'],
  ['select=sum:totl', `Unknown field totl on entity orders. Did you mean total? ${FIELDS}`],
  ['select=sum:customer', /^select: customer is a relation of orders/],
  ['select=sum:customer.nme', /^Unknown field nme on entity customers\. Did you mean name\?/],
  ['select=sum:items.quantity', /^select items\.quantity crosses items, which leads to many records/],
  ['select=sum:note', /It applies to integer, bigint, decimal, float; to note apply count, countDistinct, min, max$/],
  ['select=count,count', 'select names count twice'],
  ['select=count&group=statu', `Unknown field statu on entity orders. Did you mean status? ${FIELDS}`],
  ['select=count&group=tags.name', /^group tags\.name crosses tags, which leads to many records/],
  ['select=count&group=status:month', /^group status:month: a field of type enum has no month/],
  ['select=count&group=placedAt:minute', /Known: year, quarter, month, week, day, hour$/],
  ['select=count&group=status,status', 'group names status twice'],
  ['select=count&group=id,status,total,note,customerId,placedAt', 'group names more than 5'],
  [`select=${Array.from({ length: 21 }, () => 'sum:total').join()}`, 'select names more than 20'],
  ['select=count&tz=Europe/Berln', /^Unknown time zone Europe\/Berln\. Did you mean Europe\/Berlin\?/],
  ['select=count&tz=CET', /^Unknown time zone CET\./],
  ['select=count&tz=%2B02:00', /^Unknown time zone \+02:00\./],
  ['select=count&tz=', /^Unknown time zone \. /],
  ['select=count&having=sum:total,gt,5', 'having names sum:total, which is not selected. Known: count'],
  ['select=count&having=count,gt,many', 'Filter value for count must be an integer'],
  ['select=count&having=count,gt', /count,gt: gt takes one value$/],
  ['select=count&having=count', /^having count is malformed/],
  ['select=count&sort=total', 'sort names total, which is neither a group nor selected. Known: count'],
  ['select=count&sort=count,sideways', /^Unknown sort direction sideways/],
  ['select=count&size=0', 'size must be an integer from 1 to 1000'],
  ['select=count&size=1001', 'size must be an integer from 1 to 1000'],
  ['select=count&size=1&size=2', 'Query parameter size may be given only once'],
  ['select=count&page=1.5', /^page must be an integer/],
  ['select=count&filter=total,gt,much', /^Filter value for total must be a number/],
  ['select=count&fields=id', /^Unknown query parameter fields\. Known: page, filter, /],
  ['select=count&expand=customer', /^Unknown query parameter expand\./],
  ['select=count&after=x', /^Unknown query parameter after\./],
  ['select=count&count=none', /^Unknown query parameter count\./],
  ['selct=count', /^Unknown query parameter selct\. Did you mean select\?/],
] as const) {
  test(`?${query.slice(0, 60)}`, async () => {
    const answer = await shop.call(`orders/_aggregate?${query}`);
    assertRefused(answer);
    const { code, message: said } = answer.json.error;
    assert.equal(code, 'BAD_REQUEST');
    if (typeof message === 'string') assert.equal(said, message);
    else assert.match(said, message);
  });
}

const LONG = 'x'.repeat(500_000);
const condition = { field: 'count', op: 'gt', value: 1 };

for (const [name, body] of [
  ['no object', [1]],
  ['an unknown member', { select: ['count'], gruop: [] }],
  ['a long unknown member', { select: ['count'], [LONG]: 1 }],
  ['a long function', { select: [LONG] }],
  ['a long field', { select: [`sum:${LONG}`] }],
  ['a long path', { select: [`sum:${'customer.'.repeat(9_000)}id`] }],
  ['a path that leads in circles', { select: ['count:customer.referrer.referrer.referrer.referrer.referrer.id'] }],
  ['a long group', { select: ['count'], group: [`placedAt:${LONG}`] }],
  ['a long zone', { select: ['count'], tz: `Europe/${LONG}` }],
  ['a zone that is no text', { select: ['count'], tz: 1 }],
  ['a long condition', { select: ['count'], having: [`${LONG},gt,1`] }],
  ['a long value', { select: ['count'], having: [`count,gt,${LONG}`] }],
  ['a long sort', { select: ['count'], sort: [LONG] }],
  ['many functions', { select: Array(100_000).fill('count') }],
  ['many groups', { select: ['count'], group: Array(100_000).fill('status') }],
  ['many conditions', { select: ['count'], having: Array(20_000).fill('count,gt,1') }],
  ['many nodes', { select: ['count'], having: Array(20_000).fill(condition) }],
  [
    'a deep node',
    {
      select: ['count'],
      having: [
        Array(40)
          .fill(0)
          .reduce((node: object) => ({ not: node }), condition),
      ],
    },
  ],
  ['having that is no array', { select: ['count'], having: condition }],
  ['having of numbers', { select: ['count'], having: [1] }],
  ['having of a record that was not selected', { select: ['count'], having: [{ ...condition, field: 'total' }] }],
  ['a size beyond', { select: ['count'], size: 1001 }],
  ['a size that is no number', { select: ['count'], size: '10' }],
  ['a page beyond', { select: ['count'], page: 1e300 }],
  ['a filter of another form', { select: ['count'], filter: 'total,gt,5' }],
] as const) {
  test(`a body with ${name}`, async () => {
    assertRefused(await shop.call('orders/_aggregate', { method: 'POST', body }));
  });
}
