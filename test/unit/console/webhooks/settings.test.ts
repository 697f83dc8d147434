import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Digits } from '../../../../console/src/api/json.ts';
import { NEW_WEBHOOK, selectChanges, toBody, toSettings } from '../../../../console/src/webhooks/settings.ts';
import { parseWebhook } from '../../../../console/src/webhooks/webhooks-api.ts';

const SENT = {
  id: new Digits('7'),
  name: 'shop to ERP',
  url: 'https://erp.example.com/',
  entities: ['orders'],
  types: ['created'],
  fields: ['total'],
  filter: { field: 'total', op: 'gte', value: new Digits('12345678901234567890.10') },
  previous: false,
  maxBatch: new Digits('10'),
  ordering: 'strict',
  headers: { Authorization: null },
  enabled: true,
};

test('a stored webhook comes back as it was sent, with the digits of its filter, and nothing has changed', () => {
  const webhook = parseWebhook(SENT);
  assert.deepEqual([webhook.id, webhook.maxBatch], [7, 10]);
  const body = toBody(toSettings(webhook));
  const { id: _, enabled: __, ...members } = SENT;
  assert.deepEqual(body, members);
  assert.deepEqual(selectChanges(body, toBody(toSettings(webhook))), {});
});

test('a change has the members that differ alone; a new header goes with those that stay', () => {
  const before = toSettings(parseWebhook(SENT));
  const headers = [...before.headers, { name: 'X-Shop', value: 'demo' }, { name: '', value: '' }];
  assert.deepEqual(selectChanges(toBody({ ...before, maxBatch: '1', headers }), toBody(before)), {
    maxBatch: new Digits('1'),
    headers: { Authorization: null, 'X-Shop': 'demo' },
  });
});

test('fields and a filter go with one entity alone, and what is no number stays as it was typed', () => {
  const settings = { ...toSettings(parseWebhook(SENT)), entities: ['orders', 'customers'], maxBatch: 'many' };
  const { fields, filter, maxBatch } = toBody(settings);
  assert.deepEqual([fields, filter, maxBatch], [null, null, 'many']);
  assert.deepEqual(toBody(NEW_WEBHOOK).entities, null);
});
