// A plain HTTP server for the documents of an identity provider: key sets and discovery as no real provider would give
// them, and answers that never come.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Answering = (response: ServerResponse) => void;

export interface KeyServer {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  /** Requests so far, by path. */
  count(path: string): number;
  /** What a path answers from now on: a value is sent as JSON. */
  serve(path: string, answer: Answering | object): void;
  stop(): Promise<void>;
}

/** Everything is 404 until it is served. */
export async function startKeyServer(): Promise<KeyServer> {
  const answers = new Map<string, Answering>();
  const counts = new Map<string, number>();
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    counts.set(path, (counts.get(path) ?? 0) + 1);
    const answer = answers.get(path);
    if (answer === undefined) response.writeHead(404).end();
    else answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    count: (path) => counts.get(path) ?? 0,
    serve(path, answer) {
      answers.set(
        path,
        typeof answer === 'function' ? (answer as Answering) : (response) => sendJson(response, answer),
      );
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function sendJson(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
