// Rows of a statement -> the spec's envelopes. The records' JSON text passes through as PostgreSQL wrote it.
import type { Text } from '../model/long-text.ts';
import type { AggregatePlan } from '../plan/aggregate.ts';
import { getNextPageCheck, type ListPlan } from '../plan/plan.ts';
import type { PageRow } from '../plan/result.ts';
import { encodeCursor } from '../request/page.ts';

/** Text of an answer; the middle part is the text of records. */
export type Envelope = readonly [start: string, records: Text, end: string];

/** Returns `{"data": record}`. */
export const recordEnvelope = (record: Text): Envelope => ['{"data":', record, '}'];

/** Returns `{"data": [...]}` of many written records, with `meta` when there is any. */
export function bulkWriteEnvelope(records: string, meta: Readonly<Record<string, unknown>>): string {
  return `{"data":${records}${Object.keys(meta).length === 0 ? '' : `,"meta":${JSON.stringify(meta)}`}}`;
}

/** A page that fits into a response. */
export type FittingPage = Omit<PageRow, 'data'> & { readonly data: Text };

/**
 * Returns `{"data": [...], "meta": {...}}`; `estimate` replaces the total of an estimated count. `changes`: cursor of the
 * feed.
 */
export function listEnvelope(
  row: FittingPage,
  plan: ListPlan,
  estimate: number | undefined,
  changes?: string,
): Envelope {
  const total = estimate ?? (row.total === null ? null : Number(row.total));
  const page = plan.start.kind === 'page' ? plan.start.page : null;
  const pages = total === null ? null : Math.ceil(total / plan.size);
  const more = row.more ?? (page !== null && total !== null && (page + 1) * plan.size < total);
  const cursor =
    more && row.last !== null
      ? JSON.stringify(encodeCursor({ sort: plan.ordering.text, keys: JSON.parse(row.last) }))
      : 'null';
  const isCut = more && getNextPageCheck(plan) === 'extra';
  const extraMeta = plan.versions || plan.preview !== undefined ? formatMeta(row) : '';
  const meta = `,"meta":{"page":${page},"size":${plan.size},"totalElements":${total},"totalPages":${pages},"nextCursor":${cursor}${extraMeta}${changes === undefined ? '' : `,"changes":"${changes}"`}}}`;
  return ['{"data":', isCut ? withoutLast(row.data) : row.data, isCut ? `]${meta}` : meta];
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

/** Returns the text of an array up to the end of its last element but one. */
function withoutLast(records: Text): Text {
  if (typeof records === 'string') return records.slice(0, records.lastIndexOf(SEPARATOR));
  const { buffer, byteOffset, length } = records.bytes;
  const bytes = Buffer.from(buffer, byteOffset, length);
  return { ...records, bytes: bytes.subarray(0, bytes.lastIndexOf(SEPARATOR)) };
}
