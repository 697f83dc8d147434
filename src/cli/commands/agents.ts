// `wda agents`: shows and changes the permissions of agents in a workspace.
import type { Command } from 'commander';
import type { AgentSettings } from '../../../admin-types/admin-api.d.ts';
import { action, examples } from '../command.ts';
import { connect, type GlobalOptions, requireWorkspace, workspacePath } from '../connection.ts';
import { entitiesMember, entitiesText } from '../credentials.ts';
import { usageFailure } from '../failure.ts';
import { printResult } from '../io.ts';
import { renderPairs } from '../table.ts';

export function register(program: Command): void {
  const group = program.command('agents').description('what agents may do in a workspace (Model Context Protocol)');
  group.command('show').description('show the settings').action(action(show));
  group
    .command('set')
    .description('change the given settings; the others stay')
    .option('--enable', 'serve the workspace to agents')
    .option('--disable', 'do not serve it to agents')
    .option('--writes <writes>', 'off, confirm (a person says yes) or on')
    .option('--entities <names>', 'the only entities that agents reach, separated by commas, or all')
    .action(action(set));
  examples(group, ['wda agents show -w acme/shop', 'wda agents set -w acme/shop --writes confirm --entities orders']);
}

async function show(options: GlobalOptions): Promise<void> {
  await print(options, (await connect(options).send<AgentSettings>('GET', settingsPath(options))).data);
}

async function set(
  options: GlobalOptions & {
    readonly enable?: boolean;
    readonly disable?: boolean;
    readonly writes?: string;
    readonly entities?: string;
  },
): Promise<void> {
  const { enable = false, disable = false, writes, entities } = options;
  if (enable && disable) throw usageFailure('--enable and --disable exclude each other');
  const body = {
    ...(enable || disable ? { enabled: enable } : {}),
    ...(writes === undefined ? {} : { writes }),
    ...(entities === 'all' ? { entities: null } : entitiesMember(entities)),
  };
  if (Object.keys(body).length === 0) {
    throw usageFailure('Nothing to change', ['Pass --enable, --disable, --writes or --entities.']);
  }
  await print(options, (await connect(options).send<AgentSettings>('PUT', settingsPath(options), { body })).data);
}

const settingsPath = (options: GlobalOptions): string => `${workspacePath(requireWorkspace(options))}/mcp`;

function print(options: GlobalOptions, settings: AgentSettings): Promise<void> {
  const { enabled, writes, entities } = settings;
  return printResult(options, settings, () =>
    renderPairs([
      ['Served', enabled ? 'yes' : 'no'],
      ['Writes', writes],
      ['Entities', entitiesText(entities)],
    ]),
  );
}
