// A receiver of webhooks: a plain HTTP server that remembers what came, and answers as a test wants.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from './wait-until.ts';

export interface ReceivedMessage {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

type Answering = (response: ServerResponse, message: ReceivedMessage) => void;

export interface Receiver {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  /** Messages so far, the first one first. */
  readonly messages: readonly ReceivedMessage[];
  /** What is answered from now on: a status, or a function. */
  answer(answer: number | Answering): void;
  /** Resolves with the messages once there are as many. */
  receive(count: number): Promise<readonly ReceivedMessage[]>;
  /** Forgets the messages. */
  clear(): void;
  stop(): Promise<void>;
}

/** Answers 204 until a test wants something else. */
export async function startReceiver(): Promise<Receiver> {
  const messages: ReceivedMessage[] = [];
  let answering: Answering = (response) => response.writeHead(204).end();
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      const message = { path: request.url ?? '/', headers: request.headers, body };
      messages.push(message);
      answering(response, message);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    messages,
    answer(answer) {
      answering = typeof answer === 'number' ? (response) => response.writeHead(answer).end() : answer;
    },
    async receive(count) {
      await until(`${count} messages`, () => messages.length >= count);
      return messages;
    },
    clear() {
      messages.length = 0;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
