// `wda backup` and `wda restore`: save an instance or a workspace to a file and restore it. A file is read to its end before
// it gets its name and before it is sent, which detects a truncated or damaged one.
import type { Command } from 'commander';
import type { Restored } from '../../../admin-types/admin-api.d.ts';
import { checkFile, type Header } from '../../backup/format.ts';
import { ApiError } from '../../errors.ts';
import { ADMIN_PREFIX } from '../admin-client.ts';
import {
  action,
  connect,
  examples,
  type GlobalOptions,
  parseWorkspace,
  workspaceName,
  workspacePath,
} from '../command.ts';
import { runtimeFailure, usageFailure } from '../failure.ts';
import { type Io, openSource, printResult, saveStream, sendStream } from '../io.ts';
import { formatBytes, formatDuration, showsProgress, startTransferBar } from '../progress.ts';
import { formatCount, renderTable } from '../table.ts';

// Mode of the server's own backups, because a backup has hashes of keys.
const OWNERS_ONLY = 0o600;
const BINARY = 'application/octet-stream';

export function register(program: Command): void {
  const backupCommand = program
    .command('backup')
    .description(
      'save the whole instance, or with -w one workspace, to a file (needs the operator key, or an owner key of it)',
    )
    .argument('<file>', '- for stdout')
    .action(action(backup));
  const restoreCommand = program
    .command('restore')
    .description(
      'restore the workspaces of a backup, all of them or none; existing ones are left alone, except for that of --replace (needs the operator key)',
    )
    .argument('<file>')
    .option('--as <org/workspace>', 'restore the one workspace of the file under this name')
    .option(
      '--replace <org/workspace>',
      'restore it in the place of this one, whose keys, clients and identity provider it gets; that one is kept under another name',
    )
    .action(action(restore));
  examples(backupCommand, ['wda backup everything.wda', 'wda backup shop.wda -w acme/shop']);
  examples(restoreCommand, [
    'wda restore everything.wda',
    'wda restore shop.wda --as acme/shop-of-monday',
    'wda restore shop.wda --replace acme/shop',
  ]);
}

/** Saves the whole instance, or the workspace of -w; ignores WDA_WORKSPACE, so that nothing is left out by accident. */
async function backup(file: string, options: GlobalOptions): Promise<void> {
  const address = options.workspace === undefined ? undefined : parseWorkspace(options.workspace);
  const toStdout = file === '-';
  if (toStdout && options.json) throw usageFailure('--json needs a FILE: the backup itself goes to stdout');
  const client = connect(options);
  const subject = address === undefined ? 'the instance' : workspaceName(address);
  const startedAt = performance.now();
  const bar = startTransferBar(options.io, showsProgress(options) && !toStdout, subject, 'bytes', null);
  const onChunk = (_chunk: Uint8Array, sent: number): void => bar.update(sent);
  const path = `${address === undefined ? ADMIN_PREFIX : workspacePath(address)}/backup`;
  const bytes = await saveStream(options.io, file, { what: 'backup', mode: OWNERS_ONLY, onChunk }, () =>
    client.download(path, [], BINARY),
  ).finally(bar.stop);
  if (toStdout) return;
  const header = await inspect(options.io, file);
  await printResult(
    options,
    { file, ...header, bytes },
    () => `Backup of ${subject} to ${file}: ${formatBytes(bytes)} in ${formatDuration(performance.now() - startedAt)}`,
  );
}

interface RestoreOptions extends GlobalOptions {
  readonly as?: string;
  readonly replace?: string;
}

async function restore(file: string, options: RestoreOptions): Promise<void> {
  const [as, replace] = [options.as, options.replace].map((text) =>
    text === undefined ? undefined : workspaceName(parseWorkspace(text)),
  );
  if (as !== undefined && replace !== undefined) throw usageFailure('Pass either --as or --replace');
  const client = connect(options);
  const startedAt = performance.now();
  await inspect(options.io, file);
  const source = await openSource(options.io, file);
  const bar = startTransferBar(options.io, showsProgress(options), 'restore', 'bytes', source.size);
  const progress = {
    onProgress: (bytes: number, isAll: boolean) => bar.update(bytes, isAll ? 'building indexes' : undefined),
    ifAll: 'The whole file had been sent: look what is there before trying again.',
    ifPart: 'Nothing was restored.',
  };
  try {
    const { data } = await sendStream(source.chunks, progress, (chunks) =>
      client.upload<Restored>(
        `${ADMIN_PREFIX}/restore`,
        [
          ['as', as],
          ['replace', replace],
        ],
        BINARY,
        chunks,
      ),
    );
    bar.stop();
    await printResult(options, data, () => describeRestore(data, performance.now() - startedAt));
  } finally {
    bar.stop();
    await source.close();
  }
}

function describeRestore({ workspaces, leftOut, replaced }: Restored, milliseconds: number): string {
  const lines = workspaces.map(
    ({ organization, slug, records }) => `Restored ${organization}/${slug}: ${formatCount(records)} records`,
  );
  if (leftOut.apiKeys + leftOut.oauthClients > 0) {
    lines.push(
      `Left out, as another workspace has them: ${formatCount(leftOut.apiKeys)} keys, ${formatCount(leftOut.oauthClients)} OAuth clients`,
    );
  }
  if (replaced !== undefined) {
    const [{ organization }] = workspaces as [Restored['workspaces'][number]];
    const count = (records: number | null): string => (records === null ? '-' : formatCount(records));
    const rows = replaced.entities.map(({ entity, before, after }) => [entity, count(before), count(after)]);
    lines.push(
      `The former one is ${organization}/${replaced.slug}`,
      '',
      renderTable(['ENTITY', 'BEFORE', 'AFTER'], rows, ['BEFORE', 'AFTER']),
      '',
    );
  }
  return [...lines, `In ${formatDuration(milliseconds)}`].join('\n');
}

/** Reads a file to its end; throws a failure that says what is wrong with it. */
async function inspect(io: Io, file: string): Promise<Header> {
  if (file === '-') throw usageFailure('A restore needs a FILE: it is read to its end before it is sent');
  const source = await openSource(io, file);
  try {
    return await checkFile(source.chunks);
  } catch (error) {
    if (error instanceof ApiError) throw runtimeFailure(`${file}: ${error.message}`, undefined, error);
    throw error;
  } finally {
    await source.close();
  }
}
