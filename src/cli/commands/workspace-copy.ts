// `wda workspace copy`: a workspace with the schema and the records of another one.
import type { Command } from 'commander';
import type { Workspace } from '../../../admin-types/admin-api.d.ts';
import { action, connect, type GlobalOptions, parseWorkspace, workspaceName, workspacePath } from '../command.ts';
import { printResult } from '../io.ts';

interface CopyOptions extends GlobalOptions {
  readonly name?: string;
  readonly withoutRecords?: boolean;
}

export function registerCopy(group: Command): void {
  group
    .command('copy')
    .description('make a workspace as a copy of another one, with its records, but without its keys and users')
    .argument('<org/workspace>', 'the workspace that is copied')
    .argument('<org/copy>', 'address of the copy')
    .option('--name <name>', 'name for people (default: the slug)')
    .option('--without-records', 'copy the schema with its settings, rules and grants alone')
    .action(action(copy));
}

async function copy(from: string, to: string, options: CopyOptions): Promise<void> {
  const [source, target] = [parseWorkspace(from), parseWorkspace(to)];
  const { name, withoutRecords = false } = options;
  const { organization, workspace: slug } = target;
  const body = { slug, organization, withoutRecords, ...(name === undefined ? {} : { name }) };
  const { data } = await connect(options).send<Workspace>('POST', `${workspacePath(source)}/copy`, { body });
  const what = withoutRecords ? `${workspaceName(source)} without its records` : workspaceName(source);
  await printResult(options, data, () => `Copied ${what} to ${workspaceName(target)}`);
}
