// Statistics of a workspace: records and bytes by entity.

import { queryOptions } from '@tanstack/react-query';
import { request } from './request.ts';
import type { EntityStatistics } from './types.ts';
import { adminPath, type WorkspaceRef } from './workspace.ts';

export const statisticsQuery = (workspace: WorkspaceRef) =>
  queryOptions({
    queryKey: ['statistics', workspace.org, workspace.ws],
    queryFn: async ({ signal }): Promise<ReadonlyMap<string, EntityStatistics>> => {
      const { data } = await request<readonly EntityStatistics[]>({
        path: adminPath(workspace, '/statistics'),
        signal,
      });
      return new Map(data.map((one) => [one.entity, one]));
    },
    refetchInterval: 30_000,
  });
