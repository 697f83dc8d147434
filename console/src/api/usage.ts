// Use of a workspace: records, bytes and requests against their limits, and by day.

import { queryOptions } from '@tanstack/react-query';
import { request } from './request.ts';
import type { Usage } from './types.ts';
import { adminPath, type WorkspaceRef } from './workspace.ts';

export const usageQuery = (workspace: WorkspaceRef) =>
  queryOptions({
    queryKey: ['usage', workspace.org, workspace.ws],
    queryFn: async ({ signal }) => (await request<Usage>({ path: adminPath(workspace, '/usage'), signal })).data,
    refetchInterval: 30_000,
  });

export interface UsageOnDay {
  /** Date in UTC, such as 2026-01-31. */
  readonly date: string;
  readonly requests: number;
  /** Null before the first measurement. */
  readonly records: number | null;
  readonly bytes: number | null;
}

const DAY_MS = 86_400_000;

/**
 * Returns the last `count` days up to the last one of `days`, which leave out those without use: these have no requests, and
 * the records and bytes of the day before. Pure.
 */
export function listLastDays(days: readonly UsageOnDay[], count: number): readonly UsageOnDay[] {
  const last = days.at(-1);
  if (last === undefined) return [];
  const byDate = new Map(days.map((day) => [day.date, day]));
  const toDate = (age: number): string => new Date(Date.parse(last.date) - age * DAY_MS).toISOString().slice(0, 10);
  const first = toDate(count - 1);
  const earlier = days.findLast(({ date, records }) => date < first && records !== null);
  let [records, bytes] = [earlier?.records ?? null, earlier?.bytes ?? null];
  return Array.from({ length: count }, (_, index) => {
    const date = toDate(count - 1 - index);
    const day = byDate.get(date);
    records = day?.records ?? records;
    bytes = day?.bytes ?? bytes;
    return { date, requests: day?.requests ?? 0, records, bytes };
  });
}
