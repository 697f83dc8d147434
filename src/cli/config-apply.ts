// Performs the steps that make a server match a configuration file, and writes the secrets of new keys and clients.

import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Migration, Rollout } from '../../admin-types/admin-api.d.ts';
import type { AdminClient, ApiResponse } from './admin-client.ts';
import { type GlobalOptions, printWarnings, type WorkspaceAddress } from './command.ts';
import { describeMigration, followMigration, hasEnded } from './commands/migration.ts';
import { awaitRollout } from './commands/rollout.ts';
import { LISTS } from './config-parts.ts';
import type { Step } from './config-step.ts';
import { migrationFailure } from './config-summary.ts';
import { runtimeFailure } from './failure.ts';
import { type Io, writeOut } from './io.ts';
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
interface SecretFile {
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

/** Formats the members of a new key or client that are shown once, for people. */
export const describeSecret = (secret: Secret | undefined): string =>
  Object.entries(secret?.secrets ?? {})
    .map(([name, value]) => `\n    ${name}: ${printable(value)}   (shown this once)`)
    .join('');

/** Performs one step (a migration to its end); returns the secret that it created. */
export async function perform(
  client: AdminClient,
  step: Step,
  options: GlobalOptions & { readonly allowDestructive?: boolean },
): Promise<Secret | undefined> {
  let secret: Secret | undefined;
  for (const { method, path, query, body } of step.requests) {
    const response = await client
      // Versions that a workspace skips may drop something as well.
      .send(method, path, {
        ...(query === undefined ? {} : { query }),
        body:
          step.rollout === undefined
            ? body
            : { ...(body as object), allowDestructive: options.allowDestructive === true },
      })
      .catch((error) =>
        rethrowWithLines(
          error,
          step.file ?? step.schema?.file,
          step.schema !== undefined && method === 'POST' ? ['schema'] : [],
        ),
      );
    printWarnings(options.io, response, step.place);
    if (step.schema !== undefined && method === 'PUT')
      await awaitMigration(client, step, response.data as Migration, options);
    if (step.migrates !== undefined && response.status === 202 && response.location !== null)
      await awaitEnd(client, step, step.migrates, response.location.split('/').at(-1) as string, options);
    if (step.rollout !== undefined) await awaitRollout(step.rollout, response.data as Rollout, options);
    if (method === 'POST') secret = getSecret(step, response);
  }
  return secret;
}

async function awaitMigration(
  client: AdminClient,
  step: Step,
  migration: Migration,
  options: GlobalOptions,
): Promise<void> {
  const { address } = step.schema as NonNullable<Step['schema']>;
  if (!hasEnded(migration)) return awaitEnd(client, step, address, String(migration.id), options);
  return requireSuccess(step, migration, options);
}

async function awaitEnd(
  client: AdminClient,
  step: Step,
  address: WorkspaceAddress,
  id: string,
  options: GlobalOptions,
): Promise<void> {
  const migration = await followMigration(client, address, id, { options, deadline: null });
  return requireSuccess(step, migration, options);
}

async function requireSuccess({ place }: Step, result: Migration, options: GlobalOptions): Promise<void> {
  if (result.state === 'succeeded') return;
  if (!options.json) await writeOut(options.io, `! ${printable(place)}: schema\n${describeMigration(result)}\n`);
  throw migrationFailure(result);
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
