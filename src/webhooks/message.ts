// Events -> the body of a message: one event, or a batch. Events are JSON texts of the feed, passed on as they are.
import { parseExact } from '../model/exact-json.ts';

export interface MessageEvent {
  readonly type: string;
  /** Null: all entities of the webhook. */
  readonly entity: string | null;
  /** Time of the change, ISO 8601. */
  readonly at: string;
  /** JSON text of the event. */
  readonly text: string;
}

/** Body of a message, and its type. */
export interface MessageBody {
  readonly type: string;
  readonly body: string;
}

export const MAX_BODY_BYTES = 1_048_576;
// Bytes of a body besides its events: names of the workspace, of the type, and the time.
const ENVELOPE_BYTES = 1024;

/** Returns the first events that one body can have, at least one and at most `maxBatch`. */
export function selectForMessage<E extends Pick<MessageEvent, 'text'>>(
  events: readonly E[],
  maxBatch: number,
): readonly E[] {
  let bytes = ENVELOPE_BYTES;
  const fitting = events.slice(0, maxBatch).findIndex(({ text }, index) => {
    bytes += Buffer.byteLength(text) + 1;
    return bytes > MAX_BODY_BYTES && index > 0;
  });
  return events.slice(0, fitting < 0 ? maxBatch : fitting);
}

/** `workspace`: organization and workspace, `demo/shop`. `isBatch`: whether the webhook takes several events at once. */
export function formatBody(workspace: string, events: readonly [MessageEvent, ...MessageEvent[]], isBatch: boolean) {
  const [first] = events;
  const texts = events.map(({ text }) => truncate(text));
  if (isBatch) return formatEnvelope('changes', first.at, workspace, `[${texts.join()}]`);
  const type = first.entity === null ? first.type : `${first.entity}.${first.type}`;
  return formatEnvelope(type, first.at, workspace, texts.join());
}

export interface PingOptions {
  /** Number of the webhook. */
  readonly webhook: number;
  readonly name: string;
  readonly at: string;
}

/** Returns the body of a message that tests whether the receiver is there. */
export const formatPing = (workspace: string, { webhook, name, at }: PingOptions): MessageBody =>
  formatEnvelope('ping', at, workspace, JSON.stringify({ webhook, name }));

function formatEnvelope(type: string, timestamp: string, workspace: string, data: string): MessageBody {
  const head = JSON.stringify({ type, timestamp, workspace }).slice(0, -1);
  return { type, body: `${head},"data":${data}}` };
}

/** Returns the event without its values if it does not fit into a body. */
function truncate(text: string): string {
  if (Buffer.byteLength(text) + ENVELOPE_BYTES <= MAX_BODY_BYTES) return text;
  const { record: _, previous: __, ...rest } = parseExact(text) as Record<string, unknown>;
  return JSON.stringify({ ...rest, truncated: true });
}
