// `wda migration`: shows, follows and cancels schema migrations of a workspace. Also follows one for `wda schema apply`.
import type { Command } from 'commander';
import type { Migration } from '../../../admin-types/admin-api.d.ts';
import type { AdminClient } from '../admin-client.ts';
import { action, examples } from '../command.ts';
import {
  connect,
  type GlobalOptions,
  requireWorkspace,
  type WorkspaceAddress,
  workspaceName,
  workspacePath,
} from '../connection.ts';
import { CommandFailure, runtimeFailure } from '../failure.ts';
import { follow } from '../follow.ts';
import { printResult } from '../io.ts';
import { describeMigration, hasEnded, makeStepTracker } from '../migration-view.ts';
import { renderTable } from '../table.ts';

export function register(program: Command): void {
  const group = program.command('migration').description('schema changes of a workspace, running and past');
  group.command('list').description('list the migrations').action(action(list));
  group
    .command('show')
    .description('show one with its steps')
    .argument('<id>')
    .option('--follow', 'watch it to its end first; exit code 1 when it fails')
    .action(action(show));
  group.command('cancel').description('cancel one that has not ended').argument('<id>').action(action(cancel));
  examples(group, [
    'wda migration list -w acme/shop',
    'wda migration show 7 --follow -w acme/shop',
    'wda migration cancel 7 -w acme/shop',
  ]);
}

async function list(options: GlobalOptions): Promise<void> {
  const address = requireWorkspace(options);
  const migrations = await connect(options).readAll<Migration>(`${workspacePath(address)}/migrations`);
  await printResult(options, migrations, () =>
    migrations.length === 0
      ? `No migrations in ${workspaceName(address)}`
      : renderTable(
          ['ID', 'STATE', 'STRATEGY', 'STEPS', 'CREATED', 'FINISHED', 'ERROR'],
          migrations.map((migration) => [
            migration.id,
            migration.state,
            migration.strategy,
            migration.steps.length,
            migration.createdAt,
            migration.finishedAt,
            migration.error?.message,
          ]),
        ),
  );
}

/** Shows a migration; with `follow`, after its end. Fails only when a followed migration has failed. */
async function show(id: string, options: GlobalOptions & { readonly follow?: boolean }): Promise<void> {
  const address = requireWorkspace(options);
  const client = connect(options);
  const migration = options.follow
    ? await followMigration(client, address, id, { options, deadline: null })
    : await readMigration(client, address, id);
  await printResult(options, migration, () => describeMigration(migration));
  if (options.follow) requireSuccess(migration);
}

/** Cancels a migration; the server rolls back its steps. */
async function cancel(id: string, options: GlobalOptions): Promise<void> {
  const address = requireWorkspace(options);
  const { data } = await connect(options).send<Migration>('POST', `${migrationPath(address, id)}/cancel`);
  await printResult(options, data, () => `Cancelling migration ${id}: ${data.state}`);
}

/** Returns the migration after its end, or at `deadline` (by performance.now(), or null for none). */
export function followMigration(
  client: AdminClient,
  address: WorkspaceAddress,
  id: string,
  { options, deadline }: { readonly options: GlobalOptions; readonly deadline: number | null },
): Promise<Migration> {
  return follow({
    read: () => readMigration(client, address, id),
    hasEnded,
    isRunning: ({ state }) => state === 'running',
    getState: makeStepTracker(),
    interruptLines: formatFollowUp(address, id),
    options,
    deadline,
  });
}

/** Returns lines that say how to follow a migration that continues on the server. */
export function formatFollowUp(address: WorkspaceAddress, id: string | number): readonly string[] {
  return [
    `Migration ${id} goes on without this command.`,
    `Watch it:  wda migration show ${id} --follow -w ${workspaceName(address)}`,
    `Stop it:   wda migration cancel ${id} -w ${workspaceName(address)}`,
  ];
}

/** Throws unless the migration succeeded; its details are already printed. */
export function requireSuccess({ id, state, error }: Migration): void {
  if (state === 'failed') {
    const failure = runtimeFailure(`Migration ${id} has failed`, { migration: id, state });
    throw error?.code === 'DATA_CONFLICT'
      ? new CommandFailure(failure.failure, [
          'Nothing has been changed. Change or delete the records in the way, then apply the schema again.',
        ])
      : failure;
  }
  if (state === 'cancelled') throw runtimeFailure(`Migration ${id} has been cancelled`, { migration: id, state });
}

async function readMigration(client: AdminClient, address: WorkspaceAddress, id: string): Promise<Migration> {
  return (await client.send<Migration>('GET', migrationPath(address, id))).data;
}

const migrationPath = (address: WorkspaceAddress, id: string): string =>
  `${workspacePath(address)}/migrations/${encodeURIComponent(id)}`;
