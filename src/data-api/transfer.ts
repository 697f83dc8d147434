// Permits shared by imports and exports, one for each of the few connections for files.

import type { Config } from '../config.ts';
import { makeConcurrencyLimiter } from '../limits/concurrency.ts';
import type { Databases } from '../store/databases.ts';
import type { WorkspaceCache } from '../store/workspace-cache.ts';
import type { IdempotencyKeys } from '../workspace-schema/idempotency-keys.ts';
import type { EntityContext } from './context.ts';
import type { WriteDeps } from './reads.ts';

export interface TransferDeps extends WriteDeps {
  readonly databases: Databases;
  readonly keys: IdempotencyKeys;
  readonly cache: Pick<WorkspaceCache, 'invalidate'>;
  readonly takePermit: TakePermit;
}

/** Takes a permit and resolves with the function that releases it; 503 when too many wait, or none was free in time. */
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
