// The next message of a webhook: events of the feed after its position, its range, id and text.
import { createHmac, hkdfSync } from 'node:crypto';
import type { EventReader, EventSelection, EventSource, ReadEvent, ReadEvents } from '../data-api/event-reader.ts';
import type { Assignment, MessageKey, Range, StoredMessage } from '../store/webhook-work.ts';
import { formatBody, type MessageBody, type MessageEvent, selectForMessage } from './message.ts';

export interface OutgoingMessage extends MessageKey {
  readonly body: string;
  /** Attempts so far. */
  readonly attempts: number;
}

/** Returns the id of a message: the same whoever sends it. */
export type MakeMessageId = (webhookId: string, epoch: string, range: Range, kind?: 'expired') => string;

const ID_BYTES = 24;

/** `secret`: the same in all processes. */
export function makeMessageIds(secret: string): MakeMessageId {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'webhook message', 32));
  return (webhookId, epoch, { first, last }, kind) => {
    const text = JSON.stringify([webhookId, epoch, first, last, ...(kind === undefined ? [] : [kind])]);
    return `msg_${createHmac('sha256', key).update(text).digest().subarray(0, ID_BYTES).toString('base64url')}`;
  };
}

export interface OutgoingDeps {
  readonly read: EventReader['read'];
  readonly makeId: MakeMessageId;
  readonly now: () => number;
}

/** Events of a webhook from its position on, as far as they were read. */
export interface Outgoing {
  /** Returns the next message after the position, or undefined when there are no events. */
  readonly find: (assignment: Assignment, after: number) => Promise<OutgoingMessage | undefined>;
  /** Returns the next message if its events are there without another read. */
  readonly peek: (assignment: Assignment, after: number) => OutgoingMessage | undefined;
  /** Returns a message with its text, which is made again unless it was stored; undefined when its changes are gone. */
  readonly restore: (assignment: Assignment, message: StoredMessage) => Promise<OutgoingMessage | undefined>;
  /** Position up to which events were looked for. */
  readonly end: () => number;
  readonly epoch: () => string;
}

/** A webhook as far as the texts of its messages depend on it. */
export type MessageSource = EventSource & EventSelection & Pick<Assignment, 'maxBatch'>;

/** Makes the text of a message again from its changes; undefined when they are gone, or are not of the webhook any more. */
export async function remakeBody(
  read: EventReader['read'],
  source: MessageSource,
  { first, last }: Range,
): Promise<MessageBody | undefined> {
  const { organization, workspace, maxBatch } = source;
  const members: ReadEvent[] = [];
  for (let place = first - 1, more = true; more && place < last; ) {
    const page = await read(source, source, place);
    if (page.expired !== undefined) return undefined;
    members.push(...page.events.filter(({ position }) => position <= last));
    ({ more } = page);
    place = page.end;
  }
  const [event, ...rest] = members;
  if (event === undefined) return undefined;
  return formatBody(`${organization}/${workspace}`, [event, ...rest], maxBatch > 1 || rest.length > 0);
}

type Selection = Pick<Assignment, 'entities' | 'types' | 'fields' | 'filter' | 'previous'>;

const getSelection = ({ entities, types, fields, filter, previous }: Assignment): Selection => ({
  entities,
  types,
  fields,
  filter,
  previous,
});

/** `pending`: messages of the webhook that wait for another attempt. `beforeRead` is called before events are read. */
export function makeOutgoing(
  { read, makeId, now }: OutgoingDeps,
  pending: readonly StoredMessage[],
  beforeRead: () => Promise<void>,
): Outgoing {
  let events: readonly ReadEvent[] = [];
  let selection = '';
  let end = 0;
  let epoch = '';

  async function readAfter(assignment: Assignment, after: number | undefined): Promise<ReadEvents> {
    const { organization, workspace, workspaceId } = assignment;
    await beforeRead();
    const page = await read({ organization, workspace, workspaceId }, getSelection(assignment), after);
    epoch = page.epoch;
    return page;
  }

  /** Drops events that were sent, and all when the administrator has changed what the webhook is about. */
  function dropOld(assignment: Assignment, after: number): void {
    const text = JSON.stringify(getSelection(assignment));
    if (text !== selection) events = [];
    selection = text;
    events = events.filter(({ position }) => position > after);
  }

  /** Makes the message of the first events. */
  function build(assignment: Assignment): OutgoingMessage | undefined {
    const [first] = events;
    if (first === undefined) return undefined;
    const stored = pending.find((one) => one.first === first.position && one.epoch === epoch);
    if (stored?.body !== undefined && stored.body !== null) return { ...stored, body: stored.body };
    const { id, organization, workspace, maxBatch, singleUntil } = assignment;
    const isSingle = singleUntil !== null && first.position <= singleUntil;
    // After a crash the range of the message under way is that of before.
    const isUnderWay = assignment.first === first.position && assignment.last !== null;
    const limit = isUnderWay ? events.filter(({ position }) => position <= Number(assignment.last)).length : maxBatch;
    const members = selectForMessage(events, isSingle || maxBatch === 1 ? 1 : limit);
    const range = { first: first.position, last: members.at(-1)!.position };
    const text = formatBody(`${organization}/${workspace}`, members as [ReadEvent, ...ReadEvent[]], maxBatch > 1);
    return { ...range, ...text, id: makeId(id, epoch, range), events: members.length, epoch, attempts: 0 };
  }

  /** Makes the message that tells that changes are gone. */
  function buildReset(assignment: Assignment, after: number, expired: number): OutgoingMessage {
    const { id, organization, workspace, maxBatch, entities } = assignment;
    const range = { first: after + 1, last: expired };
    const stored = pending.find((one) => one.first === range.first && one.body !== null);
    if (stored !== undefined) return { ...stored, body: stored.body as string };
    const messageId = makeId(id, epoch, range, 'expired');
    const entity = entities?.length === 1 ? (entities[0] as string) : null;
    const at = new Date(now()).toISOString();
    const eventId = `e_${messageId.slice(4, 26)}`;
    const text = JSON.stringify({ id: eventId, type: 'reset', entity, at, reason: 'expired' });
    const event: MessageEvent = { type: 'reset', entity, at, text };
    const body = formatBody(`${organization}/${workspace}`, [event], maxBatch > 1);
    return { ...range, ...body, id: messageId, events: 1, epoch, attempts: 0 };
  }

  return {
    async find(assignment, after) {
      const { first, last } = assignment;
      const underWay = pending.find((one) => one.first === first && one.last === last);
      if (underWay !== undefined && underWay.body !== null) return { ...underWay, body: underWay.body };
      dropOld(assignment, after);
      for (let place = after; events.length === 0; ) {
        const page = await readAfter(assignment, assignment.position === null ? undefined : place);
        end = page.end;
        if (page.expired !== undefined) return buildReset(assignment, place, page.expired);
        events = page.events;
        if (!page.more) break;
        place = page.end;
      }
      return build(assignment);
    },
    peek(assignment, after) {
      dropOld(assignment, after);
      return build(assignment);
    },
    async restore(assignment, message) {
      if (message.body !== null) return { ...message, body: message.body };
      const text = await remakeBody(read, assignment, message);
      return text && { ...message, ...text };
    },
    end: () => end,
    epoch: () => epoch,
  };
}
