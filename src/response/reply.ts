// The result of a handler: a status, headers and a body as a value; http/ writes the bytes.
import type { Readable } from 'node:stream';
import type { MessageSink } from './chunk.ts';

export type ReplyBody =
  | { readonly kind: 'empty' }
  | { readonly kind: 'text'; readonly contentType: string; readonly text: string }
  | { readonly kind: 'bytes'; readonly contentType: string; readonly bytes: Uint8Array }
  | { readonly kind: 'stream'; readonly contentType: string; readonly stream: Readable }
  | MessagesBody;

/** Messages that are sent as they come. Either `start` is called with the connection, or `cancel` where nothing is sent. */
export interface MessagesBody {
  readonly kind: 'messages';
  readonly contentType: string;
  readonly start: (sink: MessageSink) => void;
  readonly cancel: () => void;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ReplyBody;
  /** Operation name in metrics, if the URL does not contain it: a word of a small set. */
  readonly operation?: string;
}

export const JSON_TYPE = 'application/json; charset=utf-8';
const NONE: Readonly<Record<string, string>> = {};

/** Returns a reply whose JSON text exists already. */
export function jsonText(status: number, text: string, headers = NONE): Reply {
  return { status, headers, body: { kind: 'text', contentType: JSON_TYPE, text } };
}

export function json(status: number, value: unknown, headers = NONE): Reply {
  return jsonText(status, JSON.stringify(value), headers);
}

export function noContent(headers = NONE): Reply {
  return { status: 204, headers, body: { kind: 'empty' } };
}
