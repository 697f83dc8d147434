// `wda server`: what runs, as its operator sees it.
import { ADMIN_PREFIX } from './admin-client.ts';
import { connect, type GlobalOptions } from './connection.ts';
import { printResult } from './io.ts';
import { formatCount, renderPairs, renderTable } from './table.ts';

interface Server {
  readonly version: string;
  readonly node: string;
  readonly startedAt: string;
  readonly database: {
    readonly version: string;
    readonly embedded: boolean;
    readonly address: string;
    readonly name: string;
    readonly bytes: number | string;
  };
  readonly processes: readonly { readonly place: string; readonly startedAt: string }[];
  readonly settings: readonly { readonly name: string; readonly value: string }[];
}

export async function showServer(options: GlobalOptions): Promise<void> {
  const { data } = await connect(options).send('GET', `${ADMIN_PREFIX}/server`);
  await printResult(options, data, () => describe(data as Server));
}

function describe({ version, node, startedAt, database, processes, settings }: Server): string {
  return [
    renderPairs([
      ['Version', version],
      ['Node.js', node],
      ['Started', startedAt],
      ['PostgreSQL', `${database.version}${database.embedded ? ' (embedded)' : ''}`],
      ['Database', `${database.name} at ${database.address}`],
      ['Size', `${formatCount(Number(database.bytes))} bytes`],
    ]),
    '',
    renderTable(
      ['PROCESS', 'STARTED'],
      processes.map(({ place, startedAt }) => [place, startedAt]),
    ),
    '',
    renderTable(
      ['SETTING', 'VALUE'],
      settings.map(({ name, value }) => [name, value]),
    ),
  ].join('\n');
}
