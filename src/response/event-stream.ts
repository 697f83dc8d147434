// Messages of an event stream (WHATWG HTML, 9.2 Server-sent events).

/** Tells clients to reconnect after two seconds. */
export const STREAM_START = 'retry: 2000\n\n';

/** Keeps proxies from closing a connection on which nothing happens. */
export const HEARTBEAT = ': \n\n';

/** Returns a message. `id`: cursor after it, or undefined for a message that moves nothing. `data`: JSON text. */
export function formatMessage(name: string, id: string | undefined, data: string): string {
  // A line feed between the values of a JSON text means nothing there, and ends a line of data here.
  const line = data.replaceAll(/[\r\n]/g, ' ');
  return `event: ${name}\n${id === undefined ? '' : `id: ${id}\n`}data: ${line}\n\n`;
}

/** Returns a message without data, which only moves the id from which a client goes on. */
export const formatId = (id: string): string => `id: ${id}\n\n`;

/** Returns whether an event stream is the first media type of an `Accept` header. */
export const prefersStream = (accept: string | undefined): boolean =>
  accept?.split(',', 1)[0]?.split(';', 1)[0]?.trim().toLowerCase() === 'text/event-stream';
