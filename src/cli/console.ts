// `wda console`: a link that signs the operator in to the console.
import { ADMIN_PREFIX } from './admin-client.ts';
import { connect, type GlobalOptions } from './connection.ts';
import { printResult } from './io.ts';

export async function makeConsoleLink(options: GlobalOptions): Promise<void> {
  const { data } = await connect(options).send('POST', `${ADMIN_PREFIX}/console-links`);
  const { url, expiresAt } = data as { url: string; expiresAt: string };
  await printResult(options, data, () => `${url}\n\nIt signs you in once, until ${expiresAt}.`);
}
