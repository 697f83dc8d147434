// `wda migration`: schema changes of a workspace, running and past. Also follows a running one to its end, for
// `wda schema apply`.
import type { AdminClient } from './admin-client.ts';
import {
  chosenWorkspace,
  connect,
  type GlobalOptions,
  type WorkspaceAddress,
  workspaceName,
  workspacePath,
} from './connection.ts';
import { CommandFailure, failed } from './failure.ts';
import { follow } from './follow.ts';
import { printResult } from './io.ts';
import { describeMigration, hasEnded, type Migration } from './migration-view.ts';
import { makeStepWatch } from './step-watch.ts';
import { renderTable } from './table.ts';

export async function listMigrations(options: GlobalOptions): Promise<void> {
  const address = chosenWorkspace(options);
  const found = (await connect(options).readAll(`${workspacePath(address)}/migrations`)) as readonly Migration[];
  await printResult(options, found, () =>
    found.length === 0
      ? `No migrations in ${workspaceName(address)}`
      : renderTable(
          ['ID', 'STATE', 'STRATEGY', 'STEPS', 'CREATED', 'FINISHED', 'ERROR'],
          found.map((migration) => [
            migration.id,
            migration.state,
            migration.strategy,
            migration.steps?.length,
            migration.createdAt,
            migration.finishedAt,
            migration.error?.message,
          ]),
        ),
  );
}

/** Shows a migration; with `follow`, once it has ended. Ends with a failure only when a followed migration did. */
export async function showMigration(id: string, options: GlobalOptions & { readonly follow?: boolean }): Promise<void> {
  const address = chosenWorkspace(options);
  const client = connect(options);
  const migration = options.follow
    ? await followMigration(client, address, id, { options, deadline: null })
    : await readMigration(client, address, id);
  await printResult(options, migration, () => describeMigration(migration));
  if (options.follow) requireSuccess(migration);
}

/** Asks the server to cancel a migration; the server takes back what it has done so far. */
export async function cancelMigration(id: string, options: GlobalOptions): Promise<void> {
  const address = chosenWorkspace(options);
  const { data } = await connect(options).send('POST', `${migrationPath(address, id)}/cancel`);
  await printResult(
    options,
    data,
    () => `Cancelling migration ${id}: ${(data as Migration | null)?.state ?? 'requested'}`,
  );
}

/** The migration once it has ended, or when `deadline` (a performance.now() moment, null for none) is over. */
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
    stateOf: makeStepWatch(),
    whenLeft: leftRunning(address, id),
    options,
    deadline,
  });
}

/** Lines that say how to look at a migration that goes on without us. */
export function leftRunning(address: WorkspaceAddress, id: string | number): readonly string[] {
  return [
    `Migration ${id} goes on without this command.`,
    `Watch it:  wda migration show ${id} --follow -w ${workspaceName(address)}`,
    `Stop it:   wda migration cancel ${id} -w ${workspaceName(address)}`,
  ];
}

/** Throws when a migration ended in another state than succeeded; the details are already printed. */
export function requireSuccess({ id, state, error }: Migration): void {
  if (state === 'failed') {
    const failure = failed(`Migration ${id} has failed`, { migration: id, state });
    throw error?.code === 'DATA_CONFLICT'
      ? new CommandFailure(failure.failure, [
          'Nothing has been changed. Change or delete the records in the way, then apply the schema again.',
        ])
      : failure;
  }
  if (state === 'cancelled') throw failed(`Migration ${id} has been cancelled`, { migration: id, state });
}

async function readMigration(client: AdminClient, address: WorkspaceAddress, id: string): Promise<Migration> {
  return (await client.send('GET', migrationPath(address, id))).data as Migration;
}

const migrationPath = (address: WorkspaceAddress, id: string): string =>
  `${workspacePath(address)}/migrations/${encodeURIComponent(id)}`;
