// How many records the entities of a workspace have, and how much room they take.
import { queryOptions } from '@tanstack/react-query';
import { request } from './request.ts';
import { adminPath, type WorkspaceRef } from './workspace.ts';

export interface Statistics {
  readonly entity: string;
  readonly records: number;
  /** False: what the database estimates. */
  readonly exact: boolean;
  readonly tableBytes: number;
  readonly indexBytes: number;
}

export const statisticsQuery = (place: WorkspaceRef) =>
  queryOptions({
    queryKey: ['statistics', place.org, place.ws],
    queryFn: async ({ signal }): Promise<ReadonlyMap<string, Statistics>> => {
      const { data } = await request<readonly Statistics[]>({ path: adminPath(place, '/statistics'), signal });
      return new Map(data.map((one) => [one.entity, one]));
    },
    refetchInterval: 30_000,
  });
