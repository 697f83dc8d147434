// Performs the steps of a configuration one after the other, and saves each new secret before the next step.
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Migration } from '../../admin-types/admin-api.d.ts';
import type { AdminClient, ApiResponse } from './admin-client.ts';
import { followMigration, requireSuccess } from './commands/migration.ts';
import { LISTS } from './config-parts.ts';
import type { Step } from './config-steps.ts';
import type { GlobalOptions } from './connection.ts';
import { runtimeFailure } from './failure.ts';
import type { Io } from './io.ts';
import { hasEnded } from './migration-view.ts';
import { rethrowWithLines } from './schema-file.ts';
import { printable } from './table.ts';

/** Name of a new key or client, and its members that are shown once. */
export interface Secret {
  readonly workspace: string;
  readonly list: string;
  readonly name: string;
  readonly secrets: Readonly<Record<string, string>>;
}

/** Writer of secrets; each is on the disk before the next step. */
export interface SecretFile {
  readonly write: (secret: Secret) => void;
  readonly close: () => void;
}

/** Creates a file that only its owner may read, one JSON document a line; fails if it exists. */
export function openSecretFile(io: Io, path: string): SecretFile {
  let file: number;
  try {
    file = openSync(resolve(io.cwd, path), 'wx', 0o600);
  } catch (error) {
    throw runtimeFailure(
      (error as NodeJS.ErrnoException).code === 'EEXIST'
        ? `${path} exists already: new secrets need a new file`
        : `Cannot write ${path}: ${(error as Error).message}`,
      undefined,
      error,
    );
  }
  return {
    write(secret) {
      writeSync(file, `${JSON.stringify(secret)}\n`);
      fsyncSync(file);
    },
    close: () => closeSync(file),
  };
}

/** Performs one step (a migration to its end); returns the secret that it created. */
export async function perform(client: AdminClient, step: Step, options: GlobalOptions): Promise<Secret | undefined> {
  let secret: Secret | undefined;
  for (const { method, path, query, body } of step.requests) {
    const response = await client
      .send(method, path, { ...(query === undefined ? {} : { query }), body })
      .catch((error) => rethrowWithLines(error, step.schema?.file, method === 'POST' ? ['schema'] : []));
    for (const warning of (response.meta as { warnings?: readonly string[] } | null)?.warnings ?? [])
      options.io.stderr.write(`Warning: ${step.place}: ${printable(warning)}\n`);
    if (step.schema !== undefined && method === 'PUT')
      await awaitMigration(client, step.schema, response.data as Migration, options);
    if (method === 'POST') secret = getSecret(step, response);
  }
  return secret;
}

async function awaitMigration(
  client: AdminClient,
  { address }: NonNullable<Step['schema']>,
  migration: Migration,
  options: GlobalOptions,
): Promise<void> {
  const result = hasEnded(migration)
    ? migration
    : await followMigration(client, address, String(migration.id), { options, deadline: null });
  requireSuccess(result);
}

function getSecret({ place, secret }: Step, { data }: ApiResponse): Secret | undefined {
  if (secret === undefined) return undefined;
  const values = data as Readonly<Record<string, string>>;
  const names = LISTS[secret.list]!.secrets;
  return {
    workspace: place,
    ...secret,
    secrets: Object.fromEntries(names.map((name) => [name, String(values[name])])),
  };
}
