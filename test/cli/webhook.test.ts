// `wda webhook` against a real server.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseCondition } from '../../src/cli/filter-option.ts';
import { startReceiver } from '../support/receiver.ts';
import { use, useServer } from '../support/resources.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { verifyMessage } from '../support/standard-webhooks.ts';
import { wda } from './wda.ts';

const server = useServer({ WDA_WEBHOOK_PRIVATE_NETWORK: 'allow' });
const receiver = use(startReceiver, (one) => one.stop());
use(() => server.workspace('acme/still', { entities: { notes: { fields: { text: { type: 'text' } } } } }));
use(() =>
  server.workspace('acme/shop', {
    entities: {
      orders: {
        fields: {
          status: { type: 'string' },
          total: { type: 'decimal', precision: 20, scale: 2 },
          open: { type: 'boolean' },
        },
        settings: { changes: 'feed' },
      },
      notes: { fields: { text: { type: 'text' } }, settings: { changes: 'feed' } },
    },
  }),
);

async function run(args: readonly string[], code = 0) {
  const env = { WDA_URL: server.url, WDA_KEY: ADMIN_KEY, WDA_WORKSPACE: 'acme/shop' };
  const outcome = await wda(['webhook', ...args], { env });
  assert.equal(outcome.code, code, `wda webhook ${args.join(' ')}\n${outcome.stderr}`);
  return outcome;
}
const print = async (args: readonly string[]): Promise<string> => (await run(args)).stdout;
const read = async (args: readonly string[]) => JSON.parse(await print([...args, '--json']));
const fail = async (args: readonly string[], code = 1): Promise<string> => (await run(args, code)).stderr;

describe('a webhook', () => {
  test('of a workspace that keeps no changes is created with a word on what is missing', async () => {
    const create = ['create', 'all', '--to', `${receiver.origin}/hooks`];
    const { stderr } = await run([...create, '-w', 'acme/still']);
    assert.match(stderr, /^No entity keeps changes yet.*wda changes set/);
  });

  test('is created with every option, and its secret is printed this once', async () => {
    assert.equal(await print(['list']), 'No webhooks in acme/shop\n');
    const shown = await print([
      ...['create', 'shop to ERP', '--to', `${receiver.origin}/hooks`, '--entities', 'orders'],
      ...['--types', 'updated,removed', '--fields', 'id,status', '--previous', '--batch', '10', '--ordering', 'strict'],
      ...[
        '--filter',
        'status,in,paid,sent',
        '--filter',
        'total,gte,100.50',
        '--header',
        'Authorization: Bearer of-the-receiver',
      ],
    ]);
    assert.match(shown, /^Secret +whsec_[A-Za-z0-9+/]{43}=$/m);
    assert.match(shown, /Keep the secret now: it is not shown again/);
    assert.match(shown, /^Headers +Authorization$/m);
    const [webhook] = await read(['list']);
    const { entities, types, fields, previous, maxBatch, ordering, headers, filter, state } = webhook;
    assert.deepEqual(
      { entities, types, fields, previous, maxBatch, ordering, headers, state },
      {
        entities: ['orders'],
        types: ['updated', 'removed'],
        fields: ['id', 'status'],
        previous: true,
        maxBatch: 10,
        ordering: 'strict',
        headers: { Authorization: null },
        state: 'ok',
      },
    );
    assert.deepEqual(filter, {
      and: [
        { field: 'status', op: 'in', value: ['paid', 'sent'] },
        { field: 'total', op: 'gte', value: 100.5 },
      ],
    });
    assert.match(await print(['list']), /shop to ERP +http:\S+ +orders +ok +0 /);
    const byName = await print(['show', 'shop to ERP']);
    assert.equal(byName, await print(['show', String(webhook.id)]));
    assert.ok(!byName.includes('whsec_') && !byName.includes('of-the-receiver'));
    assert.match(await fail(['show', 'shop to CRM']), /There is no webhook shop to CRM\. Known: shop to ERP/);
  });

  test('is changed: what is not given stays', async () => {
    const headers = { Authorization: null, 'X-Shop': null };
    const changed = await read(['update', 'shop to ERP', '--batch', '2', '--no-previous', '--header', 'X-Shop: a']);
    assert.deepEqual([changed.maxBatch, changed.previous, changed.headers], [2, false, headers]);
    assert.deepEqual(changed.fields, ['id', 'status']);
    const fewer = await read(['update', 'shop to ERP', '--remove-header', 'x-shop', '--all-records', '--name', 'erp']);
    assert.deepEqual([fewer.headers, fewer.filter, fewer.name], [{ Authorization: null }, null, 'erp']);
    assert.deepEqual((await read(['update', 'erp', '--filter', 'open,eq,true'])).filter, {
      field: 'open',
      op: 'eq',
      value: true,
    });
    const tree = '{"not": {"field": "status", "op": "isNull"}}';
    assert.deepEqual((await read(['update', 'erp', '--filter', tree])).filter, JSON.parse(tree));
    const all = await read(['update', 'erp', '--all-entities']);
    assert.deepEqual([all.entities, all.fields, all.filter], [null, null, null]);
    receiver.clear();
    await run(['test', 'erp']);
    assert.equal((await receiver.receive(1))[0]?.headers.authorization, 'Bearer of-the-receiver');
  });

  test('is stopped, let go on, and deleted', async () => {
    assert.match(await print(['disable', 'erp']), /^State +disabled \(administrator\)$/m);
    assert.match(await print(['enable', 'erp']), /^State +ok$/m);
    const { id } = await read(['create', 'off', '--to', receiver.origin, '--disabled']);
    assert.equal((await read(['show', String(id)])).state, 'disabled');
    assert.equal(await print(['delete', 'off']), 'Deleted webhook off of acme/shop\n');
    assert.match(await fail(['delete', String(id)]), /does not exist/);
  });

  test('is tested: exit code 1 when the message was not delivered', async () => {
    assert.match(await print(['test', 'erp']), /^Delivered +yes$/m);
    receiver.answer(500);
    const outcome = await run(['test', 'erp', '--json'], 1);
    assert.deepEqual([JSON.parse(outcome.stdout).delivered, JSON.parse(outcome.stdout).status], [false, 500]);
    assert.match(outcome.stderr, /was not delivered: the answer is 500/);
    receiver.answer(204);
  });

  test('gets another secret', async () => {
    const shown = await print(['rotate-secret', 'erp', '--keep-hours', '0']);
    const [, secret = ''] = /^Secret +(\S+)$/m.exec(shown) ?? [];
    assert.match(shown, /^Older secret until +now$/m);
    receiver.clear();
    await run(['test', 'erp']);
    const [message] = await receiver.receive(1);
    verifyMessage(secret, message!.body, message!.headers);
    assert.match((await read(['rotate-secret', 'erp'])).previousSecretUntil, /^\d{4}-/);
  });
});

describe('messages', () => {
  test('are listed, shown, sent again and given up', async () => {
    const { id } = await read(['create', 'log', '--to', receiver.origin]);
    await run(['disable', 'log']);
    assert.equal(await print(['deliveries', 'log']), 'No messages\n');
    const attempts = [
      { at: '2026-11-22T00:43:53.838Z', status: 500, error: null, durationMs: 1234, responseBody: 'no' },
    ];
    for (const state of ['failed', 'failed', 'pending'])
      await server.database.query(
        `insert into wda.webhook_delivery (webhook_id, message_id, type, events, first_position, last_position, epoch, state, attempts,
  attempt_log, body, last_status) values ($1, 'msg_' || gen_random_uuid(), 'orders.created', 1, 1, 1, '', $2, 1, $3, '{"a":1}', 500)`,
        [id, state, JSON.stringify(attempts)],
      );
    const all = await read(['deliveries', 'log']);
    assert.deepEqual(
      all.map(({ state }: { state: string }) => state),
      ['pending', 'failed', 'failed'],
    );
    assert.equal((await read(['deliveries', 'log', '--first', '1'])).length, 1);
    assert.match(await print(['deliveries', 'log', '--state', 'failed']), / orders\.created +1 +failed +1 +500 /);
    const [pending, failed] = all.map((one: { id: string }) => one.id);
    const shown = await print(['delivery', 'log', failed]);
    assert.match(shown, /2026-11-22T00:43:53\.838Z +500 +- +1,234 ms +no/);
    assert.ok(shown.endsWith('{"a":1}\n'));
    assert.match(await fail(['redeliver', 'log', failed]), /is disabled/);
    assert.match(await print(['discard', 'log', pending]), /^Given up: d_\d+ \(orders\.created, msg_/);
    assert.match(await fail(['discard', 'log', pending]), /is not pending/);
    assert.match(await fail(['delivery', 'log', 'd_99999']), /does not exist/);
  });

  test('are replayed from a time, a place, or the failed ones', async () => {
    const since = new Date(Date.now() - 60_000).toISOString();
    assert.match(await print(['replay', 'log', '--since', since]), /goes on from there: 0 events to send/);
    assert.match(await print(['replay', 'log', '--from', 'now']), /0 events/);
    await server.database.query("update wda.webhook set url = 'http://127.0.0.1:9/' where name = 'log'");
    await run(['enable', 'log']);
    assert.match(await print(['replay', 'log', '--failed']), /sends its failed messages again/);
    assert.match(await fail(['replay', 'log'], 2), /Give one of --since, --from and --failed/);
    assert.match(await fail(['replay', 'log', '--failed', '--from', 'now'], 2), /Give one of/);
  });
});

test('wrong usage is refused before a request', async () => {
  const create = ['create', 'x', '--to', 'https://example.com/'];
  for (const [args, words] of [
    [[...create, '--batch', '101'], /1 to 100/],
    [[...create, '--header', 'Authorization'], /'<name>: <value>'/],
    [[...create, '--filter', 'status,eq,paid'], /name it by --entities/],
    [[...create, '--entities', 'orders', '--filter', 'status'], /<field>,<op>/],
    [[...create, '--entities', 'orders', '--filter', '{"and"'], /filter as JSON/],
    [[...create, '--entities', 'orders,'], /separated by commas/],
    [['rotate-secret', '1', '--keep-hours', '169'], /0 to 168/],
    [['update', 'erp'], /Nothing to change/],
    [['update', 'erp', '--remove-header', 'X-None'], /no header X-None/],
    [['create', 'x'], /--to/],
  ] as const)
    assert.match(await fail(args, 2), words);
});

test('conditions become nodes of a filter tree, with values of the type of the field', () => {
  const types: Readonly<Record<string, string>> = { text: 'string', count: 'integer', sum: 'decimal', open: 'boolean' };
  for (const [text, expected] of [
    ['text,eq,12', { field: 'text', op: 'eq', value: '12' }],
    ['text,eq,a\\,b', { field: 'text', op: 'eq', value: 'a,b' }],
    ['text,eq,', { field: 'text', op: 'eq', value: '' }],
    ['count,in,1,2', { field: 'count', op: 'in', value: [1, 2] }],
    ['sum,between,1.5,2', { field: 'sum', op: 'between', value: [1.5, 2] }],
    ['customerId,eq,7', { field: 'customerId', op: 'eq', value: 7 }],
    ['createdAt,gte,2026-01-31T00:00:00Z', { field: 'createdAt', op: 'gte', value: '2026-01-31T00:00:00Z' }],
    ['open,eq,false', { field: 'open', op: 'eq', value: false }],
    ['text,isNull', { field: 'text', op: 'isNull' }],
  ] as const)
    assert.deepEqual(
      parseCondition(text, (field) => types[field]),
      expected,
      text,
    );
});
