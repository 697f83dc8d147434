// `wda history` prints what happened to one record, a line each; `wda restore-record` writes it as it was.
import type { Command } from 'commander';
import {
  action,
  connect,
  entityPath,
  examples,
  type GlobalOptions,
  requireWorkspace,
  type WorkspaceAddress,
} from '../command.ts';
import { printResult } from '../io.ts';
import { printable } from '../table.ts';
import { type FeedEvent, formatActor, formatValues } from './changes.ts';
import { parseFirst } from './records.ts';

export function register(program: Command): void {
  const historyCommand = program
    .command('history')
    .description('print what happened to a record, the last change first')
    .argument('<entity>')
    .argument('<id>')
    .option('--first <number>', 'number of events', String(FIRST))
    .option('--fields <fields>', 'only changes of these fields, separated by commas')
    .action(action(showHistory));
  examples(historyCommand, [
    'wda history orders 42 -w acme/shop',
    'wda history orders 42 -w acme/shop --fields status --first 5',
  ]);
  const restoreCommand = program
    .command('restore-record')
    .description('write a record as it was after an event of its history, or before one that removed it')
    .argument('<entity>')
    .argument('<id>')
    .argument('<event>', 'begins with e_, see wda history')
    .action(action(restoreRecord));
  examples(restoreCommand, ['wda restore-record orders 42 e_VUPnHG-qFMXiW1_nIHJlGg -w acme/shop']);
}

interface HistoryOptions extends GlobalOptions {
  readonly first: string;
  readonly fields?: string;
}

interface HistoryEvent extends FeedEvent {
  readonly id: string;
  readonly redacted?: true;
  readonly unknown?: readonly string[];
}

interface HistoryMeta {
  readonly nextCursor: string | null;
  readonly completeSince: string | null;
}

const FIRST = 20;
// Limit of a page of the server.
const PAGE = 200;

const recordPath = (address: WorkspaceAddress, entity: string, id: string): string =>
  `${entityPath(address, entity)}/${encodeURIComponent(id)}`;

async function showHistory(entity: string, id: string, options: HistoryOptions): Promise<void> {
  const first = parseFirst(options.first, 'events');
  const path = `${recordPath(requireWorkspace(options), entity, id)}/_history`;
  const client = connect(options);
  const events: HistoryEvent[] = [];
  let after: string | null | undefined;
  let completeSince: string | null = null;
  while (after !== null && events.length < first) {
    const size = Math.min(PAGE, first - events.length);
    const { data, meta } = await client.send<readonly HistoryEvent[]>('GET', path, {
      query: [
        ['size', size],
        ['after', after],
        ['fields', options.fields],
      ],
    });
    events.push(...data);
    ({ nextCursor: after, completeSince } = meta as HistoryMeta);
  }
  await printResult(options, events, () => describeHistory(events, after === null, completeSince));
}

function describeHistory(events: readonly HistoryEvent[], isAll: boolean, completeSince: string | null): string {
  const rest = isAll ? `Complete since ${completeSince ?? 'now'}` : 'There is more: see --first';
  return [...events.map(formatEvent), rest].join('\n');
}

/** Formats an event as one line: its time in UTC, what happened, who did it, and its id for `restore-record`. */
function formatEvent(event: HistoryEvent): string {
  const { id, type, at = '', redacted, truncated, unknown = [], actor } = event;
  const values = redacted ? 'values removed' : truncated ? 'too large to be shown' : formatValues(event);
  const lost = unknown.length === 0 ? '' : `(of another type: ${unknown.join(', ')})`;
  return [at, type, values, lost, formatActor({ actor }), id]
    .filter((part) => part !== '')
    .map(printable)
    .join('  ');
}

async function restoreRecord(entity: string, id: string, event: string, options: GlobalOptions): Promise<void> {
  const path = `${recordPath(requireWorkspace(options), entity, id)}/_restore`;
  const { data } = await connect(options).send<object>('POST', path, { body: { event } });
  await printResult(options, data, () => `Restored ${printable(`${entity} ${id}`)}`);
}
