// Requests for aggregates of a list, with its filters.
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { stringifySearch } from '../address.ts';
import { requestExact } from '../api/request.ts';
import type { TimeZone } from '../format/datetime.ts';
import { type ListQuery, toFilterSearch } from '../records/list-query.ts';
import { type EntityRef, entityPath } from '../records/requests.ts';
import type { RecordValue } from '../records/value.ts';

export interface AggregateRequest {
  readonly select: readonly string[];
  readonly group?: readonly string[];
  readonly sort?: readonly string[];
  readonly size?: number;
  readonly zone: TimeZone;
}

export interface AggregateAnswer {
  readonly groups: readonly RecordValue[];
  /** Number of groups, of which the first are in the answer. */
  readonly total: number;
}

/** Returns the zone of the browser where the API knows it by this name; else parts of days begin in UTC. */
function toApiZone(zone: TimeZone): string | undefined {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  return zone === 'local' && timeZone?.includes('/') ? timeZone : undefined;
}

/** Key of all aggregates and records that a layout loads of an entity. */
export const layoutKey = ({ org, ws, entity }: EntityRef) => ['layout', org, ws, entity] as const;

export function aggregateQuery(
  entityRef: EntityRef,
  query: ListQuery,
  { select, group = [], sort = [], size, zone }: AggregateRequest,
) {
  const search = stringifySearch({
    ...toFilterSearch(query),
    select: select.join(','),
    group: group.length === 0 ? undefined : group.join(','),
    sort: sort.length === 0 ? undefined : sort,
    size: size === undefined ? undefined : String(size),
    tz: group.some((text) => text.includes(':')) ? toApiZone(zone) : undefined,
  });
  return queryOptions({
    queryKey: [...layoutKey(entityRef), 'aggregate', search],
    queryFn: async ({ signal }): Promise<AggregateAnswer> => {
      const path = entityPath(entityRef, `/_aggregate${search}`);
      const { data, meta } = await requestExact<readonly RecordValue[]>({ path, signal });
      return { groups: data, total: Number(meta.totalElements ?? data.length) };
    },
    placeholderData: keepPreviousData,
  });
}
