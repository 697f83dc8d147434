// Messages of responses without an end, as chunks of the chunked transfer coding (RFC 9112 section 7.1): what many clients get
// is encoded once, and they share its bytes.

/** A connection that gets messages as they come. */
export interface MessageSink {
  /** Sends a message, a chunk; returns whether there is room for more, which is false also when the client is gone. */
  readonly send: (chunk: Uint8Array) => boolean;
  /** Returns whether the client has not read what was sent. */
  readonly isFull: () => boolean;
  readonly isClosed: () => boolean;
  /** Calls the listener when there is room again, or the client is gone. There is one listener. */
  readonly onDrain: (listener: (() => void) | undefined) => void;
  /** Calls the listener once the connection is closed. */
  readonly onClose: (listener: () => void) => void;
  /** Ends the response. */
  readonly end: () => void;
  /** Closes the connection, so that the client sees an incomplete response. */
  readonly destroy: () => void;
}

const CRLF_BYTES = 2;
const LINE_FEED = 10;

export const toChunk = (text: string): Uint8Array =>
  Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);

/** Returns the bytes of the text of a chunk. */
export const readChunk = (chunk: Uint8Array): Uint8Array =>
  chunk.subarray(chunk.indexOf(LINE_FEED) + 1, chunk.length - CRLF_BYTES);

export const LAST_CHUNK = '0\r\n\r\n';
