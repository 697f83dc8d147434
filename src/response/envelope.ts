// Rows of a statement -> the spec's envelopes. The records' JSON text passes through as PostgreSQL wrote it.
import type { AggregatePlan } from '../plan/aggregate.ts';
import { getNextPageCheck, type ListPlan } from '../plan/plan.ts';
import type { PageRow } from '../plan/result.ts';
import { encodeCursor } from '../request/page.ts';

/** Returns `{"data": record}`. */
export function recordEnvelope(record: string): string {
  return `{"data":${record}}`;
}

/** Returns `{"data": [...]}` of many written records, with `meta` when there is any. */
export function bulkWriteEnvelope(records: string, meta: Readonly<Record<string, unknown>>): string {
  return `{"data":${records}${Object.keys(meta).length === 0 ? '' : `,"meta":${JSON.stringify(meta)}`}}`;
}

/** A page that fits into a response. */
export type FittingPage = PageRow & { readonly data: string };

/**
 * Returns `{"data": [...], "meta": {...}}`; `estimate` replaces the total of an estimated count. `changes`: cursor of the
 * feed.
 */
export function listEnvelope(row: FittingPage, plan: ListPlan, estimate: number | undefined, changes?: string): string {
  const total = estimate ?? (row.total === null ? null : Number(row.total));
  const page = plan.start.kind === 'page' ? plan.start.page : null;
  const pages = total === null ? null : Math.ceil(total / plan.size);
  const more = row.more ?? (page !== null && total !== null && (page + 1) * plan.size < total);
  const cursor =
    more && row.last !== null
      ? JSON.stringify(encodeCursor({ sort: plan.ordering.text, keys: JSON.parse(row.last) }))
      : 'null';
  const data = more && getNextPageCheck(plan) === 'extra' ? withoutLast(row.data) : row.data;
  const extraMeta = plan.versions || plan.preview !== undefined ? formatMeta(row) : '';
  return `{"data":${data},"meta":{"page":${page},"size":${plan.size},"totalElements":${total},"totalPages":${pages},"nextCursor":${cursor}${extraMeta}${changes === undefined ? '' : `,"changes":"${changes}"`}}}`;
}

/** Returns `,"versions":[...],"previews":[...]`, as far as requested. */
function formatMeta({ versions, cuts }: FittingPage): string {
  const versionsMember = versions === null ? '' : `,"versions":${versions}`;
  if (cuts === null) return versionsMember;
  const byRecord = JSON.parse(cuts) as readonly (readonly (readonly [field: string, length: number])[] | null)[];
  const previews = byRecord.flatMap((record, index) =>
    (record ?? []).map(([field, length]) => ({ index, field, length })),
  );
  return `${versionsMember},"previews":${JSON.stringify(previews)}`;
}

/** Returns `{"data": [...], "meta": {...}}` of groups; the total is their number. */
export function aggregateEnvelope(data: string, groups: number, { page, size }: AggregatePlan): string {
  return `{"data":${data},"meta":{"page":${page},"size":${size},"totalElements":${groups},"totalPages":${Math.ceil(groups / size)}}}`;
}

// Separator of json_agg, with a line feed that JSON text of jsonb, of strings and of flat records never holds unescaped
// (PostgreSQL 9.2 to 18).
const SEPARATOR = ', \n ';

function withoutLast(records: string): string {
  return `${records.slice(0, records.lastIndexOf(SEPARATOR))}]`;
}
