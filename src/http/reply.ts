// Writes a reply to the response, with the headers that every answer carries.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream';
import type { Release, Transfer } from '../limits/memory-budget.ts';
import { type MinRate, makeRateMeter } from '../limits/upload.ts';
import type { CorsOrigins } from '../model/origin.ts';
import type { Reply } from '../response/reply.ts';
import { startMessages } from './message-connection.ts';

/** Builds the headers of every response, flat as name, value, name, value: Node.js writes such a list without converting it. */
export function buildCommonHeaders(corsOrigins: CorsOrigins, origin: string | undefined): readonly string[] {
  if (corsOrigins === '*') return OPEN;
  return origin !== undefined && corsOrigins.includes(origin)
    ? [...CLOSED, 'Access-Control-Allow-Origin', origin, ...EXPOSED]
    : CLOSED;
}

const EXPOSED = [
  'Access-Control-Expose-Headers',
  'Changes-Cursor, ETag, Idempotent-Replayed, Import-Dry-Run, Import-Inserted, Import-Rejected, Import-Skipped, Import-Updated, Link, Location, Retry-After, WWW-Authenticate, X-Request-Id',
] as const;
const CLOSED: readonly string[] = [
  'X-Content-Type-Options',
  'nosniff',
  'Cache-Control',
  'private, no-cache',
  'Vary',
  'Authorization, Origin',
];
const OPEN: readonly string[] = [...CLOSED, 'Access-Control-Allow-Origin', '*', ...EXPOSED];

/** Replaces a reply where a library writes the answer itself, in addition to the headers of every response. */
export interface Delegation {
  readonly serve: (message: IncomingMessage, response: ServerResponse) => Promise<void>;
}

export interface DelegationOptions {
  readonly id: string;
  readonly common: readonly string[];
  /** Time after which the connection of an incomplete body is ended: the library would wait for ever. */
  readonly bodyTimeoutMs: number;
  /** Receives the status once the library has answered. */
  readonly observe: (status: number) => void;
}

/** Lets the library answer. */
export function delegate(
  response: ServerResponse,
  { serve }: Delegation,
  { id, common, bodyTimeoutMs, observe }: DelegationOptions,
): void {
  const { req: message } = response;
  const timer = setTimeout(() => message.destroy(), bodyTimeoutMs);
  const stop = (): void => clearTimeout(timer);
  message.once('end', stop).once('close', stop);
  response.once('close', () => observe(response.statusCode));
  response.setHeader('X-Request-Id', id);
  for (let at = 0; at < common.length; at += 2) response.setHeader(common[at] as string, common[at + 1] as string);
  serve(message, response).catch(() => response.destroy());
}

// Bytes that are handed to the connection at once: its buffer tells when they have left, not how many of them.
const PART_BYTES = 65_536;

/** Counts the bytes of an answer that are in memory until its client has read them. */
export interface UnreadMemory {
  readonly countUnread: (bytes: number, transfer: Transfer) => Release;
}

export interface WriteOptions {
  readonly id: string;
  readonly common: readonly string[];
  /** True if the body is omitted. */
  readonly isHead: boolean;
  /** Slowest reading of a large answer; a slower client loses its connection, as the answer would stay in memory. */
  readonly minRate: MinRate;
  /** Counts the bytes of a large text until they are released. Other bytes are of a cache, and not made for one answer. */
  readonly memory: UnreadMemory;
  /**
   * Resolves when the rest of the request was read; undefined if it is complete. The answer is sent at once and ended then:
   * Node.js closes a connection that is not kept alive when its answer ends, and a client that still sends loses the answer.
   */
  readonly rest?: Promise<void> | undefined;
  /** Takes the socket from the response, where it can be taken: for a body of messages. */
  readonly detach?: () => Socket | undefined;
}

export function writeReply(response: ServerResponse, reply: Reply, options: WriteOptions): void {
  const { id, common, isHead, rest, detach } = options;
  if (response.destroyed || response.headersSent) {
    if (reply.body.kind === 'stream') reply.body.stream.destroy();
    if (reply.body.kind === 'long') reply.body.parts[1].release();
    if (reply.body.kind === 'messages') reply.body.cancel();
    return;
  }
  const headers = ['X-Request-Id', id, ...common];
  for (const name in reply.headers) {
    // Two directives that contradict each other would be one header (RFC 9110, 5.3).
    const at = name === 'Cache-Control' ? headers.indexOf(name) : -1;
    if (at < 0) headers.push(name, reply.headers[name] as string);
    else headers[at + 1] = reply.headers[name] as string;
  }
  switch (reply.body.kind) {
    case 'empty':
      response.writeHead(reply.status, headers);
      endAfter(rest, response, undefined);
      return;
    case 'text': {
      const { text, contentType } = reply.body;
      // A text is joined with its headers and written at once; for a large one that would make another copy.
      const bytes = text.length > PART_BYTES ? Buffer.from(text) : undefined;
      headers.push('Content-Type', contentType, 'Content-Length', String(bytes?.length ?? Buffer.byteLength(text)));
      response.writeHead(reply.status, headers);
      if (isHead || bytes === undefined) endAfter(rest, response, isHead ? undefined : text);
      else writeBytes(response, bytes, options);
      return;
    }
    case 'long': {
      const { parts, contentType } = reply.body;
      const [start, { bytes, release }, end] = parts;
      const length = Buffer.byteLength(start) + bytes.length + Buffer.byteLength(end);
      headers.push('Content-Type', contentType, 'Content-Length', String(length));
      response.writeHead(reply.status, headers);
      // Not before: the connection may still read them.
      response.once('close', release);
      if (!isHead) {
        response.write(start);
        writeBytes(response, bytes, options, end);
      } else endAfter(rest, response, undefined);
      return;
    }
    case 'bytes': {
      const { bytes, contentType } = reply.body;
      headers.push('Content-Type', contentType, 'Content-Length', String(bytes.length));
      response.writeHead(reply.status, headers);
      if (isHead) endAfter(rest, response, undefined);
      else writeBytes(response, bytes, { ...options, memory: NOT_COUNTED });
      return;
    }
    case 'stream': {
      headers.push('Content-Type', reply.body.contentType);
      response.writeHead(reply.status, headers);
      const { stream } = reply.body;
      if (isHead) {
        stream.destroy();
        response.end();
        return;
      }
      // An error in the middle destroys the socket: the client sees a broken transfer, never a short one that looks complete.
      pipeline(stream, response, () => undefined);
      return;
    }
    case 'messages':
      headers.push('Content-Type', reply.body.contentType);
      if (!isHead) {
        startMessages(response, { status: reply.status, headers, body: reply.body, socket: detach?.() });
        return;
      }
      reply.body.cancel();
      response.writeHead(reply.status, headers);
      response.end();
      return;
    default:
      reply.body satisfies never;
  }
}

const NOT_COUNTED: UnreadMemory = { countUnread: () => () => undefined };

/** True when the bytes of an answer have left for the client, or its connection is closed. */
export function isSent({ destroyed, writableEnded, writableLength }: ServerResponse): boolean {
  return destroyed || (writableEnded && writableLength === 0);
}

function endAfter(
  rest: Promise<void> | undefined,
  response: ServerResponse,
  body: string | Uint8Array | undefined,
): void {
  if (rest === undefined) {
    response.end(body);
    return;
  }
  if (body === undefined || body.length === 0) response.flushHeaders();
  else response.write(body);
  rest.then(() => response.end());
}

// A transfer is late below this rate, after its first second: a slower client loses its answer when others need the memory.
const LATE_BYTES_PER_MS = 262;
const GRACE_MS = 1000;

/**
 * Writes bytes, and a short text after them. Large ones are written part by part, as fast as the client reads; below the
 * minimum rate the connection ends.
 */
function writeBytes(
  response: ServerResponse,
  body: Uint8Array,
  { minRate, memory, rest }: WriteOptions,
  end?: string,
): void {
  if (body.length <= PART_BYTES) {
    if (end !== undefined) response.write(body);
    endAfter(rest, response, end ?? body);
    return;
  }
  let startedAt = performance.now();
  const cutOff = (): void => {
    release();
    response.destroy();
  };
  let sentBytes = 0;
  let stopWaiting: (() => void) | undefined;
  const isLate = (): boolean => {
    const time = performance.now() - startedAt - GRACE_MS;
    return time > 0 && sentBytes < time * LATE_BYTES_PER_MS;
  };
  const release = memory.countUnread(body.length, { isLate, cutOff });
  const meter = makeRateMeter(minRate, cutOff);
  const finish = (): void => {
    stopWaiting?.();
    stopWaiting = undefined;
    release();
  };
  const writeNext = (offset: number): void => {
    stopWaiting?.();
    stopWaiting = undefined;
    meter.count(offset - sentBytes);
    sentBytes = offset;
    if (response.destroyed) return;
    if (offset >= body.length) {
      endAfter(rest, response, end);
      return;
    }
    const next = Math.min(offset + PART_BYTES, body.length);
    stopWaiting = meter.wait();
    // Other requests have a turn: while a client reads as fast as this writes, all parts would be written in one round.
    response.write(body.subarray(offset, next), () => setImmediate(writeNext, next));
  };
  response.once('close', finish);
  if (response.socket !== null) writeNext(0);
  else {
    // Answers before it on its connection are not read yet; it must not be cut off for their time.
    response.once('socket', () => {
      startedAt = performance.now();
      writeNext(0);
    });
  }
}
