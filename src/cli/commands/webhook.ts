// `wda webhook`: webhooks of a workspace and their messages. The secret of a webhook is shown once, when it is created or rotated.
import type { Command } from 'commander';
import type {
  Changes,
  Webhook,
  WebhookCreated,
  WebhookSecretRotated,
  WebhookTested,
} from '../../../admin-types/admin-api.d.ts';
import type { AdminClient } from '../admin-client.ts';
import {
  action,
  collect,
  examples,
  FILTER_HELP,
  type GlobalOptions,
  printList,
  requireWorkspace,
  workspaceName,
  workspacePath,
} from '../command.ts';
import { runtimeFailure, usageFailure } from '../failure.ts';
import { type FieldTypes, loadFieldTypes, parseFilterOption } from '../filter-option.ts';
import { printResult } from '../io.ts';
import { formatCount, renderPairs } from '../table.ts';
import { connectTo, findPath, WEBHOOK_HELP, type WebhookContext } from '../webhook-path.ts';
import { registerMessages } from './webhook-messages.ts';

export function register(program: Command): void {
  const group = program
    .command('webhook')
    .description('webhooks of a workspace: changes of records as messages to a URL');
  const creation = addMemberOptions(
    group
      .command('create')
      .description('create a webhook; its secret is shown once')
      .argument('<name>', 'what it is for')
      .requiredOption('--to <url>', 'where messages are sent'),
  )
    .option('--disabled', 'it sends nothing until it is enabled')
    .action(action(createWebhook));
  examples(creation, [
    'wda webhook create "shop to ERP" -w acme/shop --to https://erp.example.com/hooks/shop --entities orders',
    "wda webhook create paid -w acme/shop --to https://example.com/paid --entities orders --filter status,eq,paid --header 'Authorization: Bearer …'",
  ]);
  group.command('list').description('list the webhooks: state, and how many events wait').action(action(listWebhooks));
  group.command('show').description('show a webhook').argument('<webhook>', WEBHOOK_HELP).action(action(showWebhook));
  addMemberOptions(
    group
      .command('update')
      .description('change a webhook; what is not given stays')
      .argument('<webhook>', WEBHOOK_HELP)
      .option('--name <name>', 'what it is for')
      .option('--to <url>', 'where messages are sent'),
  )
    .option('--all-entities', 'all entities that keep changes, without fields and filter')
    .option('--all-fields', 'all fields')
    .option('--all-records', 'no filter')
    .option('--no-previous', 'without the values before')
    .option('--remove-header <name>', 'a header that is not sent any more', collect)
    .action(action(updateWebhook));
  group
    .command('enable')
    .description('let a webhook go on')
    .argument('<webhook>', WEBHOOK_HELP)
    .action(action(enable(true)));
  group
    .command('disable')
    .description('stop a webhook where it is')
    .argument('<webhook>', WEBHOOK_HELP)
    .action(action(enable(false)));
  group
    .command('delete')
    .description('delete a webhook with its messages')
    .argument('<webhook>', WEBHOOK_HELP)
    .action(action(deleteWebhook));
  group
    .command('test')
    .description('send a message without an event; exit code 1 when it is not delivered')
    .argument('<webhook>', WEBHOOK_HELP)
    .action(action(testWebhook));
  group
    .command('rotate-secret')
    .description('give a webhook another secret, which is shown once')
    .argument('<webhook>', WEBHOOK_HELP)
    .option('--keep-hours <number>', 'hours in which the secret so far signs as well, from 0 to 168 (default: 24)')
    .action(action(rotateSecret));
  registerMessages(group);
  examples(group, [
    'wda webhook create "shop to ERP" -w acme/shop --to https://erp.example.com/hooks/shop --entities orders',
    'wda webhook test 7 -w acme/shop',
    'wda webhook deliveries 7 -w acme/shop --state failed',
    'wda webhook replay 7 -w acme/shop --since 2026-01-31T12:00:00Z',
  ]);
}

function loadTypes(client: AdminClient, workspace: string, entity: string | undefined): Promise<FieldTypes> {
  if (entity === undefined) throw usageFailure('--filter needs one entity: name it by --entities');
  return loadFieldTypes(client, `${workspace}/schema`, entity);
}

const addMemberOptions = (command: Command): Command =>
  command
    .option('--entities <names>', 'entities that keep changes, separated by commas (default: all)')
    .option('--types <types>', 'created, updated, removed, schema: some of them, separated by commas')
    .option('--filter <filter>', `${FILTER_HELP}, or a filter as JSON; of one entity, own fields alone`, collect)
    .option('--fields <fields>', 'only these fields of one entity, separated by commas')
    .option('--previous', 'with the values before')
    .option('--batch <number>', 'events of one message, from 1 to 100')
    .option('--ordering <ordering>', 'relaxed: sets messages aside that fail for long; strict: waits for them')
    .option('--header <header>', "'<name>: <value>' of each request; repeat it for more", collect);

interface MemberOptions extends GlobalOptions {
  readonly name?: string;
  readonly to?: string;
  readonly entities?: string;
  readonly types?: string;
  readonly filter?: readonly string[];
  readonly fields?: string;
  readonly previous?: boolean;
  readonly batch?: string;
  readonly ordering?: string;
  readonly header?: readonly string[];
  readonly disabled?: boolean;
  readonly allEntities?: boolean;
  readonly allFields?: boolean;
  readonly allRecords?: boolean;
  readonly removeHeader?: readonly string[];
}

/** Builds the members of a body. `entities`: those of the webhook so far. */
async function buildMembers(options: MemberOptions, { client }: WebhookContext, stored?: Webhook) {
  const { name, to, types, fields, filter, previous, batch, ordering, header, removeHeader } = options;
  const entities = options.entities === undefined ? undefined : parseNames('--entities', options.entities);
  const workspace = workspacePath(requireWorkspace(options));
  const isReset = options.allEntities === true;
  const members = {
    name,
    url: to,
    entities: isReset ? null : entities,
    types: types === undefined ? undefined : parseNames('--types', types),
    fields: isReset || options.allFields ? null : fields === undefined ? undefined : parseNames('--fields', fields),
    filter:
      isReset || options.allRecords
        ? null
        : filter === undefined
          ? undefined
          : await parseFilterOption(filter, () =>
              loadTypes(client, workspace, (entities ?? stored?.entities ?? [])[0]),
            ),
    previous,
    maxBatch: batch === undefined ? undefined : parseBatch(batch),
    ordering,
    headers: header === undefined && removeHeader === undefined ? undefined : parseHeaders(options, stored),
    enabled: options.disabled === true ? false : undefined,
  };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

function parseNames(option: string, text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.includes('')) throw usageFailure(`${option} takes names separated by commas, not ${text || '""'}`);
  return names;
}

function parseBatch(text: string): number {
  if (/^\d{1,3}$/.test(text) && Number(text) >= 1 && Number(text) <= 100) return Number(text);
  throw usageFailure(`--batch takes a number from 1 to 100, not ${text}`);
}

/** Returns the headers with those of the webhook so far, which keep their values. */
function parseHeaders({ header = [], removeHeader = [] }: MemberOptions, stored: Webhook | undefined) {
  const headers = new Map(Object.keys(stored?.headers ?? {}).map((name) => [name.toLowerCase(), [name, null]]));
  for (const name of removeHeader)
    if (!headers.delete(name.toLowerCase())) throw usageFailure(`The webhook has no header ${name}`);
  for (const text of header) {
    const [, name, value] = /^([^\s:]+):\s*(.*\S)\s*$/.exec(text) ?? [];
    if (name === undefined || value === undefined)
      throw usageFailure("--header takes '<name>: <value>', such as 'Authorization: Bearer secret'");
    headers.set(name.toLowerCase(), [name, value]);
  }
  return Object.fromEntries(headers.values());
}

async function createWebhook(name: string, options: MemberOptions): Promise<void> {
  const context = connectTo(options);
  const body = { name, ...(await buildMembers(options, context)) };
  const { data } = await context.client.send<WebhookCreated>('POST', context.path, { body });
  await printResult(
    options,
    data,
    () =>
      `${renderPairs([['Secret', data.secret], ...describeWebhook(data)])}\n\nKeep the secret now: it is not shown again.`,
  );
  if (data.entities !== null) return;
  const { data: changes } = await context.client.send<Changes>('GET', context.path.replace(/webhooks$/, 'changes'));
  if (changes.entities.length === 0)
    options.io.stderr.write('No entity keeps changes yet, so none is sent: wda changes set <entity> --keep feed\n');
}

async function listWebhooks(options: GlobalOptions): Promise<void> {
  const { client, path } = connectTo(options);
  const webhooks = await client.readAll<Webhook>(path);
  const empty = `No webhooks in ${workspaceName(requireWorkspace(options))}`;
  const head = ['ID', 'NAME', 'URL', 'ENTITIES', 'STATE', 'WAITING', 'SINCE', 'LAST ATTEMPT'];
  await printList(options, webhooks, empty, head, (webhook) => [
    webhook.id,
    webhook.name,
    webhook.url,
    webhook.entities?.join(', ') ?? 'all',
    formatState(webhook),
    formatPending(webhook),
    webhook.oldestPendingAt,
    webhook.lastAttemptAt,
  ]);
}

const formatState = ({ state, disabledReason }: Webhook): string =>
  disabledReason === null ? state : `${state} (${disabledReason})`;

const MAX_PENDING = 10_000;
const formatPending = ({ pending }: Webhook): string =>
  pending >= MAX_PENDING ? `${formatCount(MAX_PENDING)} or more` : formatCount(pending);

const describeWebhook = (webhook: Webhook): readonly (readonly [string, unknown])[] => [
  ['Id', webhook.id],
  ['Name', webhook.name],
  ['URL', webhook.url],
  ['Entities', webhook.entities?.join(', ') ?? 'all'],
  ['Types', webhook.types.join(', ')],
  ['Fields', webhook.fields?.join(', ') ?? 'all'],
  ['Filter', webhook.filter === null ? 'none' : JSON.stringify(webhook.filter)],
  ['Values before', webhook.previous ? 'yes' : 'no'],
  ['Events of a message', webhook.maxBatch],
  ['Ordering', webhook.ordering],
  ['Headers', Object.keys(webhook.headers).join(', ') || 'none'],
  ['State', formatState(webhook)],
  ['Waiting', formatPending(webhook)],
  ...(webhook.oldestPendingAt === null ? [] : [['Waiting since', webhook.oldestPendingAt] as const]),
  ...(webhook.lastAttemptAt === null
    ? []
    : [['Last attempt', `${webhook.lastAttemptAt}, ${webhook.lastStatus ?? 'no answer'}`] as const]),
  ...(webhook.nextAttemptAt === null ? [] : [['Next attempt', webhook.nextAttemptAt] as const]),
  ...(webhook.previousSecretUntil === null ? [] : [['Older secret until', webhook.previousSecretUntil] as const]),
];

const printWebhook = (options: GlobalOptions, webhook: Webhook): Promise<void> =>
  printResult(options, webhook, () => renderPairs(describeWebhook(webhook)));

async function showWebhook(id: string, options: GlobalOptions): Promise<void> {
  const context = connectTo(options);
  await printWebhook(options, (await context.client.send<Webhook>('GET', await findPath(context, id))).data);
}

async function updateWebhook(id: string, options: MemberOptions): Promise<void> {
  const context = connectTo(options);
  const path = await findPath(context, id);
  const { data: stored } = await context.client.send<Webhook>('GET', path);
  const body = await buildMembers(options, context, stored);
  if (Object.keys(body).length === 0) throw usageFailure('Nothing to change: give --to, --entities or another option');
  await printWebhook(options, (await context.client.send<Webhook>('PUT', path, { body })).data);
}

const enable =
  (enabled: boolean) =>
  async (id: string, options: GlobalOptions): Promise<void> => {
    const context = connectTo(options);
    const path = await findPath(context, id);
    await printWebhook(options, (await context.client.send<Webhook>('PUT', path, { body: { enabled } })).data);
  };

async function deleteWebhook(id: string, options: GlobalOptions): Promise<void> {
  const context = connectTo(options);
  await context.client.send('DELETE', await findPath(context, id));
  await printResult(
    options,
    { deleted: id },
    () => `Deleted webhook ${id} of ${workspaceName(requireWorkspace(options))}`,
  );
}

/** Prints how the message was answered, then fails if it was not delivered. */
async function testWebhook(id: string, options: GlobalOptions): Promise<void> {
  const context = connectTo(options);
  const { data } = await context.client.send<WebhookTested>('POST', `${await findPath(context, id)}/test`);
  const { delivered, status, error, durationMs, responseBody } = data;
  await printResult(options, data, () =>
    renderPairs([
      ['Delivered', delivered ? 'yes' : 'no'],
      ['Status', status],
      ['Error', error],
      ['Duration', `${formatCount(durationMs)} ms`],
      ['Answer', responseBody],
    ]),
  );
  if (!delivered) throw runtimeFailure(`The message was not delivered: ${error ?? `the answer is ${status}`}`);
}

async function rotateSecret(id: string, options: GlobalOptions & { readonly keepHours?: string }): Promise<void> {
  const { keepHours } = options;
  if (keepHours !== undefined && !(/^\d{1,3}$/.test(keepHours) && Number(keepHours) <= 168))
    throw usageFailure(`--keep-hours takes a number from 0 to 168, not ${keepHours}`);
  const context = connectTo(options);
  const path = `${await findPath(context, id)}/rotate-secret`;
  const body = keepHours === undefined ? {} : { keepHours: Number(keepHours) };
  const { data } = await context.client.send<WebhookSecretRotated>('POST', path, { body });
  await printResult(
    options,
    data,
    () =>
      `${renderPairs([
        ['Secret', data.secret],
        ['Older secret until', data.previousSecretUntil ?? 'now'],
      ])}\n\nKeep the secret now: it is not shown again.`,
  );
}
