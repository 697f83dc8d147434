// Questions of worker processes to the primary, over the channel that node:cluster gives them: what the processes of a
// server must know together. Each question has a subject; one file asks and answers it.
import cluster from 'node:cluster';

export const isWorker = (): boolean => cluster.isWorker;

interface Message {
  readonly type?: string;
  readonly question: number;
  readonly content?: unknown;
  readonly failed?: true;
}

const waiting = new Map<number, { resolve: (content: unknown) => void; reject: (error: Error) => void }>();
let nextQuestion = 0;
let isListening = false;

const isMessage = (message: unknown, type: string): message is Message =>
  typeof message === 'object' && message !== null && (message as Message).type === type;

const ASK = 'wda:ask ';
const ANSWER = 'wda:answer';

/**
 * In a worker: the primary's answer to `content`, a JSON value. Rejects when it fails, or does not answer for
 * `timeoutMs`.
 */
export function askPrimary<Answer>(subject: string, content: unknown, timeoutMs: number): Promise<Answer> {
  if (!isListening) {
    isListening = true;
    process.on('message', (message) => {
      if (!isMessage(message, ANSWER)) return;
      const asker = waiting.get(message.question);
      if (message.failed) asker?.reject(new Error('the primary process could not answer'));
      else asker?.resolve(message.content);
    });
  }
  const question = nextQuestion++;
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const timer = setTimeout(() => reject(new Error('the primary process did not answer')), timeoutMs);
  waiting.set(question, { resolve, reject });
  process.send?.({ type: ASK + subject, question, content });
  return promise.finally(() => {
    clearTimeout(timer);
    waiting.delete(question);
  }) as Promise<Answer>;
}

/** In the primary: answers the questions of all workers on a subject. */
export function answerWorkers<Content>(subject: string, answer: (content: Content) => unknown): void {
  cluster.on('message', (worker, message: unknown) => {
    if (!isMessage(message, ASK + subject)) return;
    const { question } = message;
    const say = (reply: object): void => {
      // The worker may have died meanwhile.
      if (worker.isConnected()) worker.send({ type: ANSWER, question, ...reply });
    };
    Promise.try(() => answer(message.content as Content)).then(
      (content) => say({ content }),
      () => say({ failed: true }),
    );
  });
}
