// `wda activity`: prints the audit log, newest first.
import type { Command } from 'commander';
import type { Activity } from '../../../admin-types/admin-api.d.ts';
import { ADMIN_PREFIX } from '../admin-client.ts';
import {
  action,
  connect,
  examples,
  type GlobalOptions,
  printList,
  requireWorkspace,
  workspacePath,
} from '../command.ts';
import { usageFailure } from '../failure.ts';

export function register(program: Command): void {
  const command = program
    .command('activity')
    .description('show who changed what, newest first')
    .option('--all', 'changes of all workspaces and organizations (needs the operator key)')
    .option('--actor <who>', 'id or name of the key, client or user; operator')
    .option('--action <action>', 'a noun, or a noun and a verb: apiKeys, apiKeys.create')
    .option('--entity <entity>', 'only changes of this entity')
    .option('--since <when>', 'only changes from this date and time on, with Z or an offset')
    .option('--until <when>', 'only changes before this date and time')
    .option('--first <number>', 'number of changes, up to 1000', '20')
    .action(action(showActivity));
  examples(command, [
    'wda activity -w acme/shop --action schema.update',
    'wda activity --all --since 2026-01-31T00:00:00Z --json',
  ]);
}

interface ActivityOptions extends GlobalOptions {
  /** Whether to list all workspaces and organizations, for the operator. */
  readonly all?: boolean;
  readonly actor?: string;
  readonly action?: string;
  readonly entity?: string;
  readonly since?: string;
  readonly until?: string;
  readonly first: string;
}

// Limit of a page of the server.
const MAX_FIRST = 1000;

async function showActivity(options: ActivityOptions): Promise<void> {
  const { all = false, actor, action: verb, entity, since, until, first } = options;
  if (!/^\d+$/.test(first) || Number(first) < 1 || Number(first) > MAX_FIRST) {
    throw usageFailure(`--first must be an integer from 1 to ${MAX_FIRST}, not ${first}`);
  }
  const path = all ? ADMIN_PREFIX : workspacePath(requireWorkspace(options));
  const { data } = await connect(options).send<readonly Activity[]>('GET', `${path}/activity`, {
    query: [
      ['size', first],
      ['actor', actor],
      ['action', verb],
      ['entity', entity],
      ['since', since],
      ['until', until],
    ],
  });
  const head = ['AT', ...(all ? ['WHERE'] : []), 'WHO', 'ACTION', 'SUBJECT'];
  await printList(options, data, 'Nothing was changed', head, (one) => [
    one.at,
    ...(all ? [formatWorkspace(one)] : []),
    actorName(one),
    one.action,
    one.subject,
  ]);
}

const formatWorkspace = ({ organization, workspace }: Activity): string =>
  [organization, workspace].filter((slug) => slug !== null).join('/');

const actorName = ({ actor: { kind, name } }: Activity): string => (kind === name ? name : `${kind} ${name}`);
