// Ends connections whose other end has gone without a word (a host that lost power, a network that drops packets): TCP
// would wait for minutes. PostgreSQL answers every statement within its timeout, so a longer silence is not a slow answer.
import type pg from 'pg';

const CHECK_MS = 500;
// For the way there and back, and for a database that is late to stop a statement.
const SLACK_MS = 2000;

/**
 * Watches the bytes that come from the database while `isWaiting`; after a silence longer than a statement may take the
 * connection is destroyed, which fails what waits on it. Gives the function that ends the watch.
 */
export function watchSilence(client: pg.ClientBase, statementTimeoutMs: number, isWaiting: () => boolean): () => void {
  const { stream } = (
    client as unknown as { connection: { stream: { bytesRead: number; destroy(error: Error): void } } }
  ).connection;
  let read = stream.bytesRead;
  let since = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    if (!isWaiting() || stream.bytesRead !== read) {
      read = stream.bytesRead;
      since = now;
    } else if (now - since > statementTimeoutMs + SLACK_MS) {
      clearInterval(timer);
      stream.destroy(new Error('Connection terminated: the database has fallen silent'));
    }
  }, CHECK_MS).unref();
  return () => clearInterval(timer);
}
