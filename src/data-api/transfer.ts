// What imports and exports share: the permit to hold one of the few connections for files.

import type { Config } from '../config.ts';
import { makeConcurrencyLimiter } from '../limits/concurrency.ts';
import type { Databases } from '../store/databases.ts';
import type { WorkspaceCache } from '../store/workspace-cache.ts';
import type { IdempotencyKeys } from '../workspace-schema/idempotency-keys.ts';
import type { EntityContext } from './context.ts';

export interface TransferDeps {
  readonly config: Config;
  readonly databases: Databases;
  readonly keys: IdempotencyKeys;
  readonly cache: Pick<WorkspaceCache, 'invalidate'>;
  readonly takePermit: TakePermit;
}

/** Resolves with the function that gives the permit back; 503 when too many wait, or none came in time. */
export type TakePermit = (context: EntityContext) => Promise<() => void>;

export function makeTakePermit({ transferConnections, maxQueue }: Config): TakePermit {
  const limiter = makeConcurrencyLimiter({
    count: transferConnections,
    resources: 'imports and exports',
    maxWaiting: maxQueue,
  });
  return ({ signal, workspace, principal, deadline }) =>
    limiter.acquire({
      workspace: workspace.id,
      user: principal.kind === 'external' ? principal.credentialId : undefined,
      signal: signal,
      deadline: deadline.at,
    });
}
