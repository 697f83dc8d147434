// The result of a handler: a status, headers and a body as a value; http/ writes the bytes.
import type { Readable } from 'node:stream';
import type { LongText, Text } from '../model/long-text.ts';
import type { MessageSink } from './chunk.ts';

export type ReplyBody =
  | { readonly kind: 'empty' }
  | { readonly kind: 'text'; readonly contentType: string; readonly text: string }
  | { readonly kind: 'long'; readonly contentType: string; readonly parts: readonly [string, LongText, string] }
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

/** Returns a reply of JSON text in three parts, of which the middle one may be long. */
export function jsonParts(status: number, parts: readonly [string, Text, string], headers = NONE): Reply {
  const [start, middle, end] = parts;
  if (typeof middle === 'string') return jsonText(status, `${start}${middle}${end}`, headers);
  return { status, headers, body: { kind: 'long', contentType: JSON_TYPE, parts: [start, middle, end] } };
}

/** Returns the text of a body, or '' if it has none. A long text is released. */
export function readBodyText(body: ReplyBody): string {
  if (body.kind === 'text') return body.text;
  if (body.kind !== 'long') return '';
  const [start, { bytes, release }, end] = body.parts;
  const text = `${start}${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)}${end}`;
  release();
  return text;
}

export function json(status: number, value: unknown, headers = NONE): Reply {
  return jsonText(status, JSON.stringify(value), headers);
}

export function noContent(headers = NONE): Reply {
  return { status: 204, headers, body: { kind: 'empty' } };
}
