// The turn of an import or export: whose it is, and how long somebody waits for it.
import type { Config } from '../../config.ts';
import { makeTurns } from '../../pace/transfer-turns.ts';
import type { EntityContext } from '../context.ts';

/** Resolves with the function that ends the turn; 503 when too many wait, or none came in time. */
export type TakeTurn = (context: EntityContext) => Promise<() => void>;

export function makeTakeTurn({ transferConnections, maxQueue }: Config): TakeTurn {
  const turns = makeTurns({ count: transferConnections, of: 'imports and exports', maxWaiting: maxQueue });
  return ({ signal, workspace, principal, deadline }) =>
    turns.take({
      workspace: workspace.id,
      user: principal.kind === 'external' ? principal.credentialId : undefined,
      caller: signal,
      deadline: deadline.at,
    });
}
