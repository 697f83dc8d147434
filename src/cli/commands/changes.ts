// `wda watch` prints changes of records as they happen, a line each; `wda changes` shows and sets what is kept of them.
import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Changes } from '../../../admin-types/admin-api.d.ts';
import type { AdminClient, Query } from '../admin-client.ts';
import {
  action,
  collect,
  connect,
  entityPath,
  examples,
  FILTER_HELP,
  type GlobalOptions,
  getServer,
  RECORDS_PREFIX,
  repeated,
  requireWorkspace,
  workspaceName,
  workspacePath,
} from '../command.ts';
import { CommandFailure, runtimeFailure, usageFailure } from '../failure.ts';
import { type ForwardedEvent, makeForwarder } from '../forward.ts';
import { printResult, writeOut } from '../io.ts';
import { formatBytes } from '../progress.ts';
import { formatQuantity, printable, renderTable, shorten } from '../table.ts';

export function register(program: Command): void {
  const watchCommand = program
    .command('watch')
    .description('print changes of records as they happen, until Ctrl-C, which prints the cursor to go on from')
    .argument('[entity...]', 'entities that keep changes (default: all)')
    .option('--filter <filter>', `${FILTER_HELP}; of one entity, own fields alone`, collect)
    .option('--fields <fields>', 'only these fields of one entity, separated by commas')
    .option('--types <types>', 'created, updated, removed: some of them, separated by commas')
    .option('--previous', 'with --json or --forward: the values before, too, which lines always have')
    .option('--after <cursor>', 'changes after this place; oldest: all that are kept (default: now)')
    .option('--since <when>', 'changes from this date and time on, with Z or an offset')
    .option('--cursor-file <file>', 'goes on from the cursor in the file, and keeps it up to date')
    .option('--forward <url>', 'posts each event to this URL as a webhook does, signed, until it is accepted')
    .action(action(watch));
  examples(watchCommand, [
    'wda watch -w acme/shop',
    'wda watch orders -w acme/shop --filter status,eq,paid --fields id,status,total',
    'wda watch orders customers -w acme/shop --json --cursor-file changes.cursor | while read -r event; do …; done',
    'wda watch orders -w acme/shop --forward http://localhost:8080/hooks',
  ]);
  const changesCommand = program
    .command('changes')
    .description('show which entities keep the changes of their records')
    .action(action(showChanges));
  examples(changesCommand, ['wda changes -w acme/shop', 'wda changes set orders customers --keep feed -w acme/shop']);
  const setCommand = changesCommand
    .command('set')
    .description('keep the changes of entities, or keep them no longer')
    .argument('<entity...>')
    .requiredOption('--keep <what>', 'off; feed: for feeds; history: for longer, too')
    .option('--days <number>', 'days for which history is kept, from 1 to 36500')
    .action(action(setChanges));
  examples(setCommand, [
    'wda changes set orders customers --keep feed -w acme/shop',
    'wda changes set invoices --keep history --days 3650 -w acme/shop',
  ]);
}

interface WatchOptions extends GlobalOptions {
  readonly filter?: readonly string[];
  readonly fields?: string;
  readonly types?: string;
  readonly previous?: boolean;
  readonly after?: string;
  readonly since?: string;
  readonly cursorFile?: string;
  readonly forward?: string;
}

export interface FeedEvent {
  readonly id?: string;
  readonly type: string;
  readonly entity?: string;
  readonly at?: string;
  readonly recordId?: number;
  readonly reason?: string;
  readonly changed?: readonly string[];
  readonly record?: Readonly<Record<string, unknown>>;
  readonly previous?: Readonly<Record<string, unknown>>;
  readonly truncated?: true;
  /** Fields of an event `schema`. */
  readonly renamed?: Readonly<Record<string, string>>;
  readonly added?: readonly string[];
  readonly dropped?: readonly string[];
  readonly retyped?: readonly string[];
  readonly actor?: { readonly kind: string; readonly id: string; readonly name?: string | null } | null | undefined;
}

/** Start of a page. */
interface Place {
  readonly after?: string | undefined;
  readonly since?: string | undefined;
  /** Whether a page without events waits for one. */
  readonly isWaiting?: boolean;
}

// Proxies close connections that are idle for a minute.
const WAIT_SECONDS = 30;
const MAX_DELAY_SECONDS = 30;

/** Prints events until the process is interrupted. What passes is tried again, once a first page has come. */
async function watch(entities: readonly string[], options: WatchOptions): Promise<void> {
  const { io, after, since, cursorFile } = options;
  if (after !== undefined && since !== undefined) throw usageFailure('--after and --since exclude each other');
  const stored = cursorFile === undefined ? undefined : await readCursor(options, cursorFile);
  const readPage = makePageReader(connect(options), entities, options);
  const deliver = makeDelivery(entities, options);
  const interruption = new AbortController();
  const { signal } = interruption;
  const interrupt = (): void => interruption.abort();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, interrupt);
  let place: Place = stored === undefined ? { after, since } : { after: stored };
  let cursor: string | undefined;
  let lost: string | undefined;
  try {
    for (let failures = 0; !signal.aborted; ) {
      try {
        const page = await readPage(place, signal);
        if (failures > 0 || cursor === undefined) announce(options, entities);
        failures = 0;
        if (lost !== undefined) await deliver({ type: 'reset', reason: lost }, signal);
        lost = undefined;
        for (const event of page.events) await deliver(event, signal);
        cursor = page.cursor;
        place = { after: cursor, isWaiting: true };
        if (cursorFile !== undefined) await storeCursor(options, cursorFile, cursor);
      } catch (error) {
        if (signal.aborted) break;
        const lostCode = getLostCode(error);
        if (lostCode !== undefined) {
          lost = lostCode;
          place = {};
        } else if (cursor !== undefined && isPassing(error)) {
          if (failures++ === 0) io.stderr.write(`${printable((error as Error).message)}. Trying again.\n`);
          // Jitter separates readers that a restart of the server has cut off at once.
          const delay = (Math.min(MAX_DELAY_SECONDS, 2 ** failures) * (1 + Math.random())) / 2;
          await pause(delay * 1000, undefined, { signal }).catch(() => undefined);
        } else throw stored === undefined ? error : explainCursor(error, cursorFile);
      }
    }
  } finally {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, interrupt);
  }
  if (cursor !== undefined) io.stderr.write(`Cursor: ${cursor}\n`);
}

interface Page {
  readonly events: readonly FeedEvent[];
  readonly cursor: string;
}

function makePageReader(client: AdminClient, entities: readonly string[], options: WatchOptions) {
  const address = requireWorkspace(options);
  const [entity] = entities;
  const isOne = entities.length === 1 && entity !== undefined;
  const base = `${RECORDS_PREFIX}/${workspaceName(address)}`;
  const path = `${isOne ? entityPath(address, entity) : base}/_changes`;
  const parameters: Query = [
    ['entities', entities.length > 1 ? entities.join() : undefined],
    ['fields', options.fields],
    ['types', options.types],
    // An event that was accepted is not posted again after an interruption.
    ['size', options.forward === undefined ? undefined : 1],
    ['previous', options.previous === true || !options.json ? true : undefined],
    ...repeated('filter', options.filter),
  ];
  return async ({ after, since, isWaiting }: Place, signal: AbortSignal): Promise<Page> => {
    const wait = isWaiting ? WAIT_SECONDS : undefined;
    const query: Query = [...parameters, ['after', after], ['since', since], ['wait', wait]];
    const { data, meta } = await client.send<readonly FeedEvent[]>('GET', path, { query, signal });
    return { events: data, cursor: (meta as { cursor: string }).cursor };
  };
}

/** Says on stderr that events may come, as nothing else may be printed for long. */
function announce({ io, json, workspace }: WatchOptions, entities: readonly string[]): void {
  if (json) return;
  const what = entities.length === 0 ? (workspace ?? 'the workspace') : entities.join(', ');
  io.stderr.write(`Watching ${what}. Ctrl-C ends.\n`);
}

const print = (options: WatchOptions, event: FeedEvent): Promise<void> =>
  writeOut(options.io, `${options.json ? JSON.stringify(event) : formatEvent(event)}\n`);

/** Returns the function that prints an event, and posts it if it is to be forwarded. */
function makeDelivery(entities: readonly string[], options: WatchOptions) {
  const { forward: url, io } = options;
  if (url === undefined) return (event: FeedEvent): Promise<void> => print(options, event);
  const { secret, forward } = makeForwarder(io, url, workspaceName(requireWorkspace(options)), getServer(options).key);
  io.stderr.write(`Forwarding to ${url}, signed with ${secret}\n`);
  return async ({ previous, ...event }: FeedEvent, signal: AbortSignal): Promise<void> => {
    await print(options, previous === undefined ? event : { ...event, previous });
    const isShown = previous !== undefined && options.previous === true;
    await forward(
      event.id === undefined ? makeReset(entities) : toForwarded(isShown ? { ...event, previous } : event),
      signal,
    );
  };
}

const toForwarded = (event: FeedEvent): ForwardedEvent => event as FeedEvent & ForwardedEvent;

/** Returns the event by which webhooks tell that changes are gone. */
const makeReset = ([entity, ...others]: readonly string[]): ForwardedEvent & { readonly reason: string } => ({
  id: `e_${randomBytes(16).toString('base64url')}`,
  type: 'reset',
  entity: entity !== undefined && others.length === 0 ? entity : null,
  at: new Date().toISOString(),
  reason: 'expired',
});

/** Formats an event as one line, with the time of day of this machine. */
function formatEvent(event: FeedEvent): string {
  const { type, entity, at, recordId, reason, truncated } = event;
  const time = (at === undefined ? new Date() : new Date(at)).toTimeString().slice(0, 8);
  const subject = [entity, recordId].filter((part) => part !== undefined).join(' ');
  const values = truncated ? 'too large to be shown' : type === 'schema' ? formatFields(event) : formatValues(event);
  return [time, subject, type, reason, values, formatActor(event)]
    .filter((part) => part !== undefined && part !== '')
    .map((part) => printable(String(part)))
    .join('  ');
}

function formatFields({ renamed = {}, added = [], dropped = [], retyped = [] }: FeedEvent): string {
  const renames = Object.entries(renamed).map(([before, now]) => `${before} -> ${now}`);
  return Object.entries({ renamed: renames, added, dropped, retyped })
    .filter(([, names]) => names.length > 0)
    .map(([how, names]) => `${how}: ${names.join(', ')}`)
    .join('; ');
}

export function formatValues({ type, changed = [], record = {}, previous = {} }: FeedEvent): string {
  if (type === 'updated')
    return changed
      .map((name) => {
        const before = Object.hasOwn(previous, name) ? `${formatValue(previous[name])} -> ` : '';
        return `${name}: ${before}${formatValue(record[name])}`;
      })
      .join(', ');
  return Object.entries(record)
    .filter(([name, value]) => name !== 'id' && value !== null)
    .map(([name, value]) => `${name}: ${formatValue(value)}`)
    .join(', ');
}

const formatValue = (value: unknown): string => shorten(typeof value === 'string' ? value : JSON.stringify(value));

export function formatActor({ actor }: Pick<FeedEvent, 'actor'>): string {
  if (actor === undefined) return '';
  if (actor === null) return 'by SQL';
  const { kind, id, name } = actor;
  return `by ${kind === 'operator' ? kind : `${kind} ${name ?? id}`}`;
}

/** Returns the code of a refusal of a cursor whose place is lost. */
const getLostCode = (error: unknown): string | undefined =>
  error instanceof CommandFailure && error.failure.kind === 'refused' && error.failure.status === 410
    ? error.failure.error.code
    : undefined;

const isPassing = (error: unknown): boolean => {
  if (!(error instanceof CommandFailure)) return false;
  const { failure } = error;
  return (
    failure.kind === 'unreachable' || (failure.kind === 'refused' && (failure.status === 429 || failure.status >= 500))
  );
};

function explainCursor(error: unknown, file: string | undefined): unknown {
  if (!(error instanceof CommandFailure) || error.failure.kind !== 'refused') return error;
  if (error.failure.error.reason !== 'INVALID_CURSOR') return error;
  return new CommandFailure(error.failure, [
    `The cursor in ${file} goes with other entities, types, fields or filters. Remove the file to begin from now.`,
  ]);
}

/** Reads the cursor of a file; undefined if there is no file or it is empty. */
async function readCursor({ io }: WatchOptions, file: string): Promise<string | undefined> {
  try {
    return (await readFile(resolve(io.cwd, file), 'utf8')).trim() || undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw runtimeFailure(`Cannot read ${file}: ${(error as Error).message}`, undefined, error);
  }
}

/** Replaces the file in one step, so that an interrupted write leaves the cursor before. */
async function storeCursor({ io }: WatchOptions, file: string, cursor: string): Promise<void> {
  const path = resolve(io.cwd, file);
  try {
    await writeFile(`${path}.part`, `${cursor}\n`);
    await rename(`${path}.part`, path);
  } catch (error) {
    throw runtimeFailure(`Cannot write ${file}: ${(error as Error).message}`, undefined, error);
  }
}

/** Settings of an entity, as far as they are about changes. */
interface ChangeSettings {
  readonly changes: string | null;
  readonly historyDays: number | null;
  readonly historyForUsers: boolean | null;
  readonly changesOmit: readonly string[] | null;
}

interface Schema {
  readonly entities: Readonly<Record<string, { readonly settings?: Partial<ChangeSettings> }>>;
}

async function showChanges(options: GlobalOptions): Promise<void> {
  const path = workspacePath(requireWorkspace(options));
  const client = connect(options);
  const { data: schema } = await client.send<Schema>('GET', `${path}/schema`);
  const { data: changes } = await client.send<Changes>('GET', `${path}/changes`);
  const entities = Object.entries(schema.entities).map(([entity, { settings = {} }]) => ({
    ...describeSettings(entity, settings),
    since: changes.entities.find((one) => one.entity === entity)?.since ?? null,
  }));
  const head = ['ENTITY', 'CHANGES', 'SINCE', 'HISTORY DAYS', 'HISTORY FOR USERS', 'OMITTED'];
  const toRow = (one: (typeof entities)[number]): unknown[] => [
    one.entity,
    one.changes,
    one.since,
    one.changes === 'history' ? (one.historyDays ?? 'default') : null,
    one.changes === 'history' ? one.historyForUsers : null,
    one.changesOmit.join(', ') || null,
  ];
  await printResult(options, { ...changes, entities }, () => {
    if (entities.length === 0) return 'The workspace has no entities';
    const table = renderTable(head, entities.map(toRow));
    return changes.entities.length === 0 && changes.bytes === 0 ? table : `${table}\n\n${describeKept(changes)}`;
  });
}

function describeKept({ bytes, oldest, unnumbered, lagSeconds, streams, webhooks }: Changes): string {
  const late = unnumbered === 0 ? '' : `, for ${formatQuantity(Math.ceil(lagSeconds), 'second')}`;
  return [
    `${formatBytes(bytes)} kept, ${oldest === null ? 'none for feeds' : `feeds from ${oldest} on`}`,
    `${formatQuantity(unnumbered, 'change')} not yet read${late}`,
    `${formatQuantity(streams, 'stream')}, ${formatQuantity(webhooks, 'webhook')}`,
  ].join('\n');
}

/** Returns the settings of an entity with their defaults. */
const describeSettings = (entity: string, settings: Partial<ChangeSettings>) => ({
  entity,
  changes: settings.changes ?? 'off',
  historyDays: settings.historyDays ?? null,
  historyForUsers: settings.historyForUsers ?? false,
  changesOmit: settings.changesOmit ?? [],
});

interface SetOptions extends GlobalOptions {
  readonly keep: string;
  readonly days?: string;
}

const KEEPS = ['off', 'feed', 'history'];
const MAX_DAYS = 36_500;

async function setChanges(entities: readonly string[], options: SetOptions): Promise<void> {
  const { keep, days } = options;
  if (!KEEPS.includes(keep)) throw usageFailure(`--keep must be one of ${KEEPS.join(', ')}, not ${keep}`);
  if (days !== undefined && keep !== 'history') throw usageFailure('--days is about history: pass --keep history');
  if (days !== undefined && !(/^\d{1,5}$/.test(days) && Number(days) >= 1 && Number(days) <= MAX_DAYS))
    throw usageFailure(`--days takes a number from 1 to ${MAX_DAYS}, not ${days}`);
  const body = { changes: keep, ...(days === undefined ? {} : { historyDays: Number(days) }) };
  const client = connect(options);
  const workspace = workspacePath(requireWorkspace(options));
  const results: ReturnType<typeof describeSettings>[] = [];
  for (const entity of entities) {
    const path = `${workspace}/entities/${encodeURIComponent(entity)}/settings`;
    results.push(describeSettings(entity, (await client.send<ChangeSettings>('PUT', path, { body })).data));
  }
  const time = days === undefined ? '' : `, ${formatQuantity(Number(days), 'day')}`;
  await printResult(options, results, () => `Changes of ${entities.join(', ')}: ${keep}${time}`);
}
