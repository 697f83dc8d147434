// `wda openapi`: prints the OpenAPI document of a workspace for this credential, or that of the admin API.
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text as readStream } from 'node:stream/consumers';
import type { Command } from 'commander';
import { ADMIN_PREFIX } from '../admin-client.ts';
import { action, examples } from '../command.ts';
import { connect, entityPath, type GlobalOptions, requireWorkspace } from '../connection.ts';
import { runtimeFailure, usageFailure } from '../failure.ts';
import { printResult, writeOut } from '../io.ts';

export function register(program: Command): void {
  const command = program
    .command('openapi')
    .description('print the OpenAPI document of a workspace, or of the admin API')
    .option('--selection <selection>', 'free (default), or fixed: for generators of clients')
    .option('--entities <names>', 'only these entities, separated by commas')
    .option('--admin', 'the document of the admin API')
    .option('-o, --output <file>', 'write it to a file')
    .action(action(openapi));
  examples(command, [
    'wda openapi -w acme/shop --selection fixed -o shop.json',
    'wda openapi -w acme/shop --entities orders,customers',
    'wda openapi --admin -o admin.json',
  ]);
}

interface OpenapiOptions extends GlobalOptions {
  readonly selection?: string;
  readonly entities?: string;
  readonly admin?: boolean;
  readonly output?: string;
}

/** Prints the document unchanged, or writes it to a file. */
async function openapi(options: OpenapiOptions): Promise<void> {
  const { selection, entities, admin, output } = options;
  if (admin === true && (selection !== undefined || entities !== undefined))
    throw usageFailure('--admin goes without --selection and --entities: that document is the same for everybody');
  const path = admin === true ? `${ADMIN_PREFIX}/openapi.json` : entityPath(requireWorkspace(options), '_openapi.json');
  const query = [
    ['selection', selection],
    ['entities', entities],
  ] as const;
  const document = await readStream(await connect(options).download(path, query, 'application/json'));
  if (output === undefined) return writeOut(options.io, `${document}\n`);
  try {
    await writeFile(resolve(options.io.cwd, output), document);
  } catch (error) {
    throw runtimeFailure(`Cannot write ${output}: ${(error as Error).message}`, undefined, error);
  }
  await printResult(options, { file: output, bytes: Buffer.byteLength(document) }, () => `Written to ${output}`);
}
