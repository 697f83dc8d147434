// HTTP by hand, for requests that fetch will not send: any bytes in the path, the headers and the body.
import { connect, type Socket } from 'node:net';
import { noteAnswer } from './error-catalog.ts';

export interface RawAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
}

/** Sends bytes as they are and reads one answer, with or without the request having ended. */
export async function sendBytes(url: string, bytes: string | Uint8Array): Promise<RawAnswer> {
  const { socket, answer } = openConnection(url);
  socket.write(bytes);
  try {
    return await answer;
  } finally {
    socket.destroy();
  }
}

/** A request line, headers and perhaps a body, as text. `Connection: close` is added. */
export function rawRequest(method: string, path: string, headers: readonly string[], body = ''): string {
  const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  return [`${method} ${path} HTTP/1.1`, 'Host: test', 'Connection: close', ...headers, ...length, '', body].join(
    '\r\n',
  );
}

/** The socket, and the promise of the first answer on it. */
export function openConnection(url: string): { readonly socket: Socket; readonly answer: Promise<RawAnswer> } {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const answer = new Promise<RawAnswer>((resolve, reject) => {
    const chunks: Buffer[] = [];
    const look = (ended: boolean): void => {
      const parsed = parseAnswer(Buffer.concat(chunks), ended);
      if (parsed !== undefined) resolve(parsed);
      else if (ended) reject(new Error(`no answer, but ${Buffer.concat(chunks).toString().slice(0, 200)}`));
    };
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      look(false);
    });
    socket.on('error', reject);
    socket.on('close', () => look(true));
  });
  answer.catch(() => undefined);
  return { socket, answer };
}

function parseAnswer(bytes: Buffer, ended: boolean): RawAnswer | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [line = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const headers = new Map(
    lines.map((header) => {
      const at = header.indexOf(':');
      return [header.slice(0, at).toLowerCase(), header.slice(at + 1).trim()] as const;
    }),
  );
  const body = bytes.subarray(end + 4);
  const length = headers.get('content-length');
  if (!ended && (length === undefined || body.length < Number(length))) return undefined;
  const text = body.toString();
  noteAnswer(text);
  return { status: Number(line.split(' ')[1]), headers, text };
}
