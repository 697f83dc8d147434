// `wda health`: is a server up, for health checks of images that have no other client. Asks without a credential.
import { clientSettings, serverPort } from '../config.ts';
import type { GlobalOptions } from './connection.ts';
import { failed } from './failure.ts';
import { printResult } from './io.ts';

export interface HealthOptions extends GlobalOptions {
  readonly ready?: boolean;
}

// A check that takes longer than this is given up by whoever runs it.
const TIMEOUT_MS = 5000;

/** Succeeds when the server of `--url`, WDA_URL or PORT of this machine answers; with `ready` when its database does, too. */
export async function checkHealth(options: HealthOptions): Promise<void> {
  const { url, ready, io } = options;
  const base = url ?? clientSettings(io.env).url ?? `http://127.0.0.1:${serverPort(io.env)}`;
  const address = `${base.replace(/\/+$/, '')}/${ready === true ? 'readyz' : 'healthz'}`;
  const status = await fetch(address, { signal: AbortSignal.timeout(TIMEOUT_MS) }).then(
    async (answer) => {
      await answer.body?.cancel();
      return answer.status;
    },
    (error: Error) => {
      throw failed(`${address} does not answer: ${(error.cause as Error | undefined)?.message ?? error.message}`);
    },
  );
  if (status !== 200) throw failed(`${address} answers ${status}`);
  await printResult(options, { status }, () => `${address} answers ${status}`);
}
