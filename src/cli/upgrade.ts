// `wda upgrade --finish`: what an upgrade of the embedded PostgreSQL has left is removed. Works on the files of DATA_DIR,
// whether a server runs on it or not.
import { serverDataDir } from '../config.ts';
import { finishUpgrade } from '../embedded/embedded.ts';
import type { GlobalOptions } from './connection.ts';
import { CommandFailure, failed } from './failure.ts';
import { printResult } from './output.ts';

export async function finish({ json }: GlobalOptions): Promise<void> {
  const dataDir = serverDataDir();
  if (dataDir === undefined) throw failed('The database of DATABASE_URL is not upgraded by the server');
  const removed = await finishUpgrade({ dataDir }).catch((error: Error) => {
    // What failed, and what to do, on lines of their own.
    const [what = '', ...others] = error.message.split('\n');
    throw new CommandFailure({ kind: 'failed', message: what }, others);
  });
  await printResult(json, { removed }, () => removed.map((path) => `Removed ${path}`).join('\n'));
}
