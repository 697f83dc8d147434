// What every feed must be, whoever reads it: one order of changes in which each fits the one before. Pure.

/** An event of a feed, as far as it is compared. Events of entities, such as a change of their schema, have no record. */
export interface FeedEvent {
  readonly id: string;
  readonly type: string;
  readonly entity: string;
  readonly transaction?: string;
  readonly recordId?: number;
  readonly record?: Values;
  readonly previous?: Values;
  readonly changed?: readonly string[];
}

type Values = Readonly<Record<string, unknown>>;

/** Records by entity and id. */
export type Records = ReadonlyMap<string, Values>;

export const keyOf = (entity: string, id: number): string => `${entity} ${id}`;

export interface FeedOptions {
  /** Records at the beginning of the feed; none unless given. */
  readonly start?: Records;
  /** Fields whose values change without events, as those that a migration adds. */
  readonly unstable?: readonly string[];
}

/**
 * Applies a feed with previous values to the records at its beginning. Returns what they are at its end, and everything
 * that is wrong with the feed: an event that comes twice, a transaction in several pieces, a change whose record was not
 * as the change before has left it.
 */
export function applyFeed(
  feed: readonly FeedEvent[],
  { start = new Map(), unstable = [] }: FeedOptions = {},
): { readonly records: Records; readonly wrong: string[] } {
  const records = new Map(start);
  const wrong: string[] = [];
  const ids = new Set<string>();
  const transactions = new Set<string>();
  let transaction: string | undefined;
  for (const event of feed) {
    if (ids.has(event.id)) wrong.push(`${describe(event)} comes twice`);
    ids.add(event.id);
    if (event.recordId === undefined) continue;
    if (event.transaction !== transaction) {
      transaction = event.transaction ?? '';
      if (transactions.has(transaction)) wrong.push(`transaction ${transaction} is in several pieces`);
      transactions.add(transaction);
    }
    const key = keyOf(event.entity, event.recordId);
    const before = records.get(key);
    if ((before === undefined) !== (event.type === 'created'))
      wrong.push(`${describe(event)}, which ${before === undefined ? 'was not there' : 'was there'}`);
    for (const [name, value] of Object.entries(event.previous ?? {})) {
      if (before === undefined || unstable.includes(name) || !(name in before)) continue;
      if (JSON.stringify(before[name]) !== JSON.stringify(value))
        wrong.push(`${describe(event)}: ${name} was ${JSON.stringify(before[name])}, not ${JSON.stringify(value)}`);
    }
    if (event.record === undefined) records.delete(key);
    else records.set(key, event.record);
  }
  return { records, wrong };
}

/** Everything in which another reader of the same changes has had something else, or in another order. */
export function compareFeeds(name: string, feed: readonly FeedEvent[], expected: readonly FeedEvent[]): string[] {
  const at = expected.findIndex(({ id }, index) => feed[index]?.id !== id);
  if (at === -1 && feed.length === expected.length) return [];
  const index = at === -1 ? expected.length : at;
  const [one, other] = [feed[index], expected[index]].map((event) =>
    event === undefined ? 'nothing' : describe(event),
  );
  return [`${name}: event ${index} of ${expected.length} is ${one}, not ${other}`];
}

const describe = ({ id, type, entity, recordId }: FeedEvent): string =>
  `${id} (${type} ${recordId === undefined ? entity : keyOf(entity, recordId)})`;
