// `wda agents`: what agents may do in a workspace.
import { chosenWorkspace, connect, type GlobalOptions, workspacePath } from './connection.ts';
import { entitiesMember, entitiesText } from './credentials.ts';
import { usageFailure } from './failure.ts';
import { printResult } from './io.ts';
import { renderPairs } from './table.ts';

interface AgentOptions extends GlobalOptions {
  readonly enable?: boolean;
  readonly disable?: boolean;
  readonly writes?: string;
  readonly entities?: string;
}

interface Settings {
  readonly enabled: boolean;
  readonly writes: string;
  readonly entities: readonly string[] | null;
}

const describe = ({ enabled, writes, entities }: Settings): string =>
  renderPairs([
    ['Served', enabled ? 'yes' : 'no'],
    ['Writes', writes],
    ['Entities', entitiesText(entities)],
  ]);

export async function showAgents(options: GlobalOptions): Promise<void> {
  const path = `${workspacePath(chosenWorkspace(options))}/mcp`;
  const { data } = await connect(options).send('GET', path);
  await printResult(options, data, () => describe(data as Settings));
}

export async function setAgents(options: AgentOptions): Promise<void> {
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
  const path = `${workspacePath(chosenWorkspace(options))}/mcp`;
  const { data } = await connect(options).send('PUT', path, { body });
  await printResult(options, data, () => describe(data as Settings));
}
