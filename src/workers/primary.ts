// Requests of worker processes to the primary, over the channel of node:cluster, for state that the processes of a server
// share. Each request has a subject; one file sends it and responds to it.
import cluster from 'node:cluster';

export const isWorker = (): boolean => cluster.isWorker;

interface Message {
  readonly type?: string;
  readonly requestId: number;
  readonly content?: unknown;
  readonly failed?: true;
}

const pendingRequests = new Map<number, { resolve: (content: unknown) => void; reject: (error: Error) => void }>();
let nextRequestId = 0;
let isListening = false;

const isMessage = (message: unknown, type: string): message is Message =>
  typeof message === 'object' && message !== null && (message as Message).type === type;

const REQUEST = 'wda:ask ';
const RESPONSE = 'wda:answer';

/**
 * Sends `content`, a JSON value, from a worker to the primary and returns its response. Rejects when the primary fails, or
 * does not respond within `timeoutMs`.
 */
export function requestPrimary<Result>(subject: string, content: unknown, timeoutMs: number): Promise<Result> {
  if (!isListening) {
    isListening = true;
    process.on('message', (message) => {
      if (!isMessage(message, RESPONSE)) return;
      const pendingRequest = pendingRequests.get(message.requestId);
      if (message.failed) pendingRequest?.reject(new Error('the primary process could not answer'));
      else pendingRequest?.resolve(message.content);
    });
  }
  const requestId = nextRequestId++;
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const timer = setTimeout(() => reject(new Error('the primary process did not answer')), timeoutMs);
  pendingRequests.set(requestId, { resolve, reject });
  process.send?.({ type: REQUEST + subject, requestId, content } satisfies Message);
  return promise.finally(() => {
    clearTimeout(timer);
    pendingRequests.delete(requestId);
  }) as Promise<Result>;
}

/** Runs in the primary: responds to the requests of all workers on a subject. */
export function respondToWorkers<Content>(subject: string, handler: (content: Content) => unknown): void {
  cluster.on('message', (worker, message: unknown) => {
    if (!isMessage(message, REQUEST + subject)) return;
    const { requestId } = message;
    const respond = (result: object): void => {
      // The worker may have died meanwhile.
      if (worker.isConnected()) worker.send({ type: RESPONSE, requestId, ...result } satisfies Message);
    };
    Promise.try(() => handler(message.content as Content)).then(
      (content) => respond({ content }),
      () => respond({ failed: true }),
    );
  });
}
