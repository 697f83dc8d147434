// Commands for a server as a whole: `wda serve`, `health`, `console`, `whoami` and `server`.
import type { Command } from 'commander';
import type { ConsoleLink, Server, Session } from '../../../admin-types/admin-api.d.ts';
import { clientSettings, serverPort } from '../../config.ts';
import { ADMIN_PREFIX } from '../admin-client.ts';
import { action, connect, examples, type GlobalOptions, workspaceName } from '../command.ts';
import { runtimeFailure } from '../failure.ts';
import { printResult } from '../io.ts';
import { formatCount, renderPairs, renderTable } from '../table.ts';
import { entitiesText } from './credentials.ts';

export function register(program: Command): void {
  program
    .command('serve')
    .description('start the server; its settings are environment variables')
    .action(async () => (await import('../serve.ts')).serve());
  program
    .command('health')
    .description('check that the server is up: exit code 0 or 1, for health checks of containers')
    .option('--ready', 'check its database, too')
    .action(action(checkHealth));
  program
    .command('console')
    .description('create a link that signs the operator in to the console, once and within ten minutes')
    .action(action(createConsoleLink));
  const session = program
    .command('whoami')
    .description('show who the credential belongs to, and what it may do where')
    .action(action(showSession));
  program
    .command('server')
    .description('show versions, database, processes and settings (needs the operator key)')
    .action(action(showServer));
  examples(session, ['wda whoami', 'WDA_KEY=wda_… wda whoami --json | jq -r .workspaces[0].slug']);
}

// Orchestrators give up on slower checks.
const HEALTH_TIMEOUT_MS = 5000;

/** Checks a server without a credential; with `ready` its database must answer, too. */
async function checkHealth(options: GlobalOptions & { readonly ready?: boolean }): Promise<void> {
  const { url, ready, io } = options;
  const base = url ?? clientSettings(io.env).url ?? `http://127.0.0.1:${serverPort(io.env)}`;
  const address = `${base.replace(/\/+$/, '')}/${ready === true ? 'readyz' : 'healthz'}`;
  const status = await fetch(address, { signal: AbortSignal.timeout(HEALTH_TIMEOUT_MS) }).then(
    async (response) => {
      await response.body?.cancel();
      return response.status;
    },
    (error: Error) => {
      throw runtimeFailure(
        `${address} does not answer: ${(error.cause as Error | undefined)?.message ?? error.message}`,
      );
    },
  );
  if (status !== 200) throw runtimeFailure(`${address} answers ${status}`);
  await printResult(options, { status }, () => `${address} answers ${status}`);
}

async function createConsoleLink(options: GlobalOptions): Promise<void> {
  const { data } = await connect(options).send<ConsoleLink>('POST', `${ADMIN_PREFIX}/console-links`);
  await printResult(options, data, () => `${data.url}\n\nIt signs you in once, until ${data.expiresAt}.`);
}

async function showSession(options: GlobalOptions): Promise<void> {
  const { data } = await connect(options).send<Session>('GET', `${ADMIN_PREFIX}/session`);
  const { kind, name, permissions, entities, workspaces, expiresAt } = data;
  const isOperator = kind === 'operator';
  const names = workspaces.map(({ organization, slug }) => workspaceName({ organization, workspace: slug }));
  await printResult(options, data, () =>
    renderPairs([
      ['Name', name],
      ['Permissions', isOperator ? 'everything' : permissions],
      ['Workspace', isOperator ? 'all' : names.join(', ')],
      ['Entities', entitiesText(entities)],
      ['Expires', expiresAt ?? 'never'],
    ]),
  );
}

async function showServer(options: GlobalOptions): Promise<void> {
  const { data } = await connect(options).send<Server>('GET', `${ADMIN_PREFIX}/server`);
  const { version, node, startedAt, database, processes, settings } = data;
  await printResult(options, data, () =>
    [
      renderPairs([
        ['Version', version],
        ['Node.js', node],
        ['Started', startedAt],
        ['PostgreSQL', `${database.version}${database.embedded ? ' (embedded)' : ''}`],
        ['Database', `${database.name} at ${database.address}`],
        ['Size', `${formatCount(database.bytes)} bytes`],
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
    ].join('\n'),
  );
}
